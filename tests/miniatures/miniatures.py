"""Makes a mirror of the miniature upstreams: git repositories, archives and one container image, as `--mirror` reads them."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from pathlib import Path

UPSTREAMS = Path(__file__).parent / "upstreams"
GITHUB = "github.com"
MIRRORED = {"rocmlir": "ROCm/rocMLIR", "migraphx": "ROCm/AMDMIGraphX", "onnxruntime": "microsoft/onnxruntime"}
DEPS = {
    "abseil_cpp": ("abseil", "abseil/abseil-cpp/archive/refs/tags/20240722.0.zip"),
    "safeint": ("safeint", "dcleblanc/SafeInt/archive/refs/tags/3.0.28.zip"),
}
LIBRARIES = {
    "amdhip64": "6", "hipblas": "2", "rocblas": "4", "MIOpen": "1", "hipfft": "0", "rocm_smi64": "1", "roctracer64": "4",
}  # fmt: skip
QUIET = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_TERMINAL_PROMPT": "0"}
PERSON = {f"GIT_{who}_{what}": v for who in ("AUTHOR", "COMMITTER") for what, v in (("NAME", "t"), ("EMAIL", "t@t"))}
DATES = {f"GIT_{who}_DATE": "2023-11-14T22:13:20Z" for who in ("AUTHOR", "COMMITTER")}


def make_mirror(folder: Path) -> dict[str, str]:
    """Write everything but the image into `folder`; the commit of each git repository by its source's name."""
    archives(folder)
    commits = {}
    for name, project in MIRRORED.items():
        tree = folder / ".work" / name
        shutil.copytree(UPSTREAMS / name, tree)
        if name == "onnxruntime":
            (tree / "cmake" / "deps.txt").write_text(deps_txt(folder))
        commits[name] = repository(tree, folder / GITHUB / f"{project}.git")
    shutil.rmtree(folder / ".work")
    return commits


def archives(folder: Path) -> None:
    """The archives of `deps.txt` as zip, and protobuf's as tar.gz, each with one top folder, the same bytes each time."""
    for upstream, path in DEPS.values():
        target = folder / GITHUB / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(target, "w") as archive:
            for file in sorted(p for p in (UPSTREAMS / upstream).rglob("*") if p.is_file()):
                inside = f"{upstream}-1/{file.relative_to(UPSTREAMS / upstream)}"
                archive.writestr(zipfile.ZipInfo(inside, (2023, 11, 14, 0, 0, 0)), file.read_bytes())
    target = folder / GITHUB / "google/protobuf/archive/v3.19.0.tar.gz"
    target.parent.mkdir(parents=True, exist_ok=True)
    with (
        target.open("wb") as raw,
        gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        archive.add(UPSTREAMS / "protobuf", "protobuf-3.19.0", filter=_plain)


def _plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.mtime, info.uid, info.gid, info.uname, info.gname = 0, 0, 0, "", ""
    return info


def deps_txt(folder: Path) -> str:
    rows = ["#Name;Url;SHA1", "dawn;https://github.com/google/dawn/archive/12a3.zip;" + "0" * 40]
    for name, (_, path) in DEPS.items():
        sha1 = hashlib.sha1((folder / GITHUB / path).read_bytes()).hexdigest()
        rows.append(f"{name};https://{GITHUB}/{path};{sha1}")
    return "\n".join(rows) + "\n"


def repository(tree: Path, bare: Path, tags: tuple[str, ...] = ("v1.22.0", "rocm-6.4.4")) -> str:
    """A bare repository with the tree as its one commit; the commit."""
    environment = {"PATH": os.environ["PATH"], **QUIET, **PERSON, **DATES}

    def git(*words: str, at: Path = tree) -> str:
        done = subprocess.run(["git", *words], cwd=at, env=environment, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    git("init", "-q", "-b", "main", ".")
    git("add", "-A")
    git("commit", "-q", "-m", "miniature")
    for tag in tags:
        git("tag", tag)
    bare.parent.mkdir(parents=True, exist_ok=True)
    git("clone", "-q", "--bare", str(tree), str(bare))
    return git("rev-parse", "HEAD")


def make_image(root: Path, folder: Path, image: str) -> str:
    """An OCI layout of a root file system with a small /opt/rocm, at `images/NAME/TAG` of the mirror; its digest.

    Two layers: the root, and one that adds ROCm and takes a file of the first away.
    """
    name, _, tag = image.partition(":")
    place = folder / "images" / name / tag
    blobs = place / "blobs" / "sha256"
    blobs.mkdir(parents=True)
    layers = [_blob(blobs, _tar_of(root)), _blob(blobs, _rocm_layer())]
    config = _blob(blobs, json.dumps({"architecture": "amd64", "os": "linux"}).encode())
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": {"digest": config},
        "layers": [{"digest": layer} for layer in layers],
    }
    digest = _blob(blobs, json.dumps(manifest).encode())
    (place / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    (place / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [{"digest": digest}]}))
    return digest


def _blob(blobs: Path, content: bytes) -> str:
    digest = hashlib.sha256(content).hexdigest()
    (blobs / digest).write_bytes(content)
    return f"sha256:{digest}"


def _tar_of(root: Path) -> bytes:
    words = ["tar", "--create", "--sort=name", "--numeric-owner", "--exclude=./dev/*", f"--directory={root}", "."]
    return subprocess.run(words, check=True, capture_output=True).stdout


def _rocm_layer() -> bytes:
    """What AMD's image has beside its distribution: clang in its place, libraries to link, hipify-perl."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as layer:
        for tool in ("clang", "clang++"):
            _link(layer, f"opt/rocm/llvm/bin/{tool}", f"/usr/bin/{tool}")
        _link(layer, "usr/local/bin/python3.12", "/usr/bin/python3")
        _file(layer, "opt/rocm/bin/hipify-perl", b"#!/bin/sh\ncat\n", 0o755)
        _file(layer, "opt/rocm/.info/version", b"6.4.4\n", 0o644)
        for name, soname in LIBRARIES.items():
            _file(layer, f"opt/rocm/lib/lib{name}.so.{soname}", _library(f"lib{name}.so.{soname}"), 0o755)
            _link(layer, f"opt/rocm/lib/lib{name}.so", f"lib{name}.so.{soname}")
        _file(layer, "etc/.wh.taken-away", b"", 0o644)
    return buffer.getvalue()


def _link(layer: tarfile.TarFile, name: str, target: str) -> None:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = tarfile.SYMTYPE, target
    layer.addfile(info)


def _file(layer: tarfile.TarFile, name: str, content: bytes, mode: int) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(content), mode
    layer.addfile(info, io.BytesIO(content))


def _library(soname: str) -> bytes:
    """An empty shared library of that soname."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / soname
        words = ["cc", "-shared", "-nostdlib", "-x", "c", "/dev/null", f"-Wl,-soname,{soname}", "-o", str(out)]
        subprocess.run(words, check=True, capture_output=True)
        return out.read_bytes()
