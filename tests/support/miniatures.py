"""Makes a mirror of the miniature upstreams: git repositories, archives and one container image, as `--mirror` reads them."""

from __future__ import annotations

import atexit
import gzip
import hashlib
import io
import json
import lzma
import os
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from support.paths import TESTS

UPSTREAMS = TESTS / "miniatures" / "upstreams"
GITHUB = "github.com"
MIRRORED = {
    "rocmlir": "ROCm/rocMLIR",
    "migraphx": "ROCm/AMDMIGraphX",
    "onnxruntime": "microsoft/onnxruntime",
    "migraphx-ep": "onnxruntime/onnxruntime-ep-amdgpu",
    "hipdnn-ep": "MaheshRavishankar/hipDNNEP",
    "lc0": "LeelaChessZero/lc0",
}
PINNED = "pinned"
"""A tag that every repository has, for the commits of the real ones, which a miniature cannot have."""

DEPS = {
    "abseil_cpp": ("abseil", "abseil/abseil-cpp/archive/refs/tags/20240722.0.zip"),
    "safeint": ("safeint", "dcleblanc/SafeInt/archive/refs/tags/3.0.28.zip"),
}
"""Rows of `deps.txt`: the upstream and its address."""

REQUIRED = {
    "protobuf": ("google/protobuf/archive/v3.19.0.tar.gz", "google/protobuf/archive/v30.0.tar.gz"),
    "msgpack": ("msgpack/msgpack-c/archive/cpp-3.3.0.tar.gz",),
    "abseil": ("abseil/abseil-cpp/archive/20250512.0.tar.gz", "abseil/abseil-cpp/archive/refs/tags/20250512.1.tar.gz"),
}
"""Archives of `requirements.txt`, and the abseil that protobuf 34 would clone."""

FETCHED = {
    "fmt": "fmtlib/fmt/releases/download/12.1.0/fmt-12.1.0.zip",
    "gsl": "microsoft/GSL/archive/refs/tags/v4.2.1.zip",
    "json": "nlohmann/json/releases/download/v3.12.0/json.tar.xz",
    "zlib": "madler/zlib/releases/download/v1.3.1/zlib-1.3.1.tar.xz",
    "onnx": "onnx/onnx/archive/refs/tags/v1.21.0.zip",
    "flatbuffers": "google/flatbuffers/archive/refs/tags/v25.12.19.zip",
    "range-v3": "ericniebler/range-v3/archive/refs/tags/0.12.0.zip",
}
"""What the MIGraphX plugin EP fetches beside protobuf: each an empty project here."""

RELEASE_PACKAGE = """get_filename_component(prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT EXISTS "${prefix}/lib64/libonnxruntime.so")
  message(FATAL_ERROR "The imported target references a file that does not exist")
endif()
add_library(onnxruntime::onnxruntime SHARED IMPORTED)
set_target_properties(onnxruntime::onnxruntime PROPERTIES IMPORTED_LOCATION "${prefix}/lib64/libonnxruntime.so"
  INTERFACE_INCLUDE_DIRECTORIES "${prefix}/include/onnxruntime")
"""
"""The CMake package of a release archive, whose folders are `lib` and `include` (onnxruntime#24003)."""

RENAMES = "file(RENAME ${CMAKE_CURRENT_SOURCE_DIR}/zconf.h ${CMAKE_CURRENT_SOURCE_DIR}/zconf.h.included)\n"
"""What the real zlib 1.3.1 does to its own source tree."""


@dataclass(frozen=True)
class MiniatureStack:
    """One ROCm version: its image, its libraries' sonames, the tags of its sources and MIGraphX's list of requirements."""

    rocm: str
    onnxruntime: str
    libraries: dict[str, str]
    requirements: str = "requirements-7.2.txt"
    flavour: str = "complete"
    headers: str = "trixie"
    """Debian's suite whose ONNX Runtime the C API is taken from: 1.21 in trixie, 1.27 in experimental."""

    @property
    def image(self) -> str:
        return f"rocm/dev-ubuntu-24.04:{self.rocm}-{self.flavour}"

    @property
    def tags(self) -> tuple[str, ...]:
        return (f"v{self.onnxruntime}", f"rocm-{self.rocm}", PINNED)


SEVEN = {"amdhip64": "7", "hipblaslt": "1"}
STACKS = {
    "rocm-6.4": MiniatureStack(
        "6.4.4",
        "1.22.1",
        {"amdhip64": "6", "hipblas": "2", "MIOpen": "1", "hipfft": "0", "rocm_smi64": "7", "roctracer64": "4"},
        "requirements.txt",
    ),
    "rocm-7.2": MiniatureStack("7.2.4", "1.22.1", SEVEN),
    "rocm-10.1": MiniatureStack("10.1.0", "1.29.0", SEVEN, "requirements-10.1.txt", "full", "experimental"),
}
QUIET = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_TERMINAL_PROMPT": "0"}
PERSON = {f"GIT_{who}_{what}": v for who in ("AUTHOR", "COMMITTER") for what, v in (("NAME", "t"), ("EMAIL", "t@t"))}
DATES = {f"GIT_{who}_DATE": "2023-11-14T22:13:20Z" for who in ("AUTHOR", "COMMITTER")}


def make_mirror(folder: Path, stack: MiniatureStack, root: Path) -> dict[str, str]:
    """Write everything but the image into `folder`; the commit of each git repository by its source's name.

    The miniature of ONNX Runtime gets the headers that Debian has nearest to its version, for the kernels are built with them.
    """
    archives(folder)
    release(folder, stack, root)
    commits = {}
    for name, project in MIRRORED.items():
        tree = folder / ".work" / name
        shutil.copytree(UPSTREAMS / name, tree)
        if name == "onnxruntime":
            (tree / "cmake" / "deps.txt").write_text(deps_txt(folder))
            (tree / "VERSION_NUMBER").write_text(f"{stack.onnxruntime}\n")
            session = tree / "include" / "onnxruntime" / "core" / "session"
            shutil.copytree(root / "opt" / "onnxruntime-headers" / stack.headers, session, dirs_exist_ok=True)
        if name == "migraphx":
            wanted = (tree / stack.requirements).read_text()
            (tree / "requirements.txt").write_text(wanted)
        commits[name] = repository(tree, folder / GITHUB / f"{project}.git", stack.tags)
    shutil.rmtree(folder / ".work")
    return commits


def release(folder: Path, stack: MiniatureStack, root: Path) -> None:
    """ONNX Runtime's release archive for C, with the real C API's headers; its CMake package names folders that it has not."""
    version = stack.onnxruntime
    headers = root / "opt" / "onnxruntime-headers" / stack.headers
    library = _library("libonnxruntime.so.1", ["OrtGetApiBase"])
    files = {f"include/{header.name}": header.read_bytes() for header in sorted(headers.glob("*.h"))}
    files |= {f"lib/{name}": library for name in ("libonnxruntime.so", "libonnxruntime.so.1", f"libonnxruntime.so.{version}")}
    files["VERSION_NUMBER"] = f"{version}\n".encode()
    files["lib/cmake/onnxruntime/onnxruntimeConfig.cmake"] = RELEASE_PACKAGE.encode()
    path = f"microsoft/onnxruntime/releases/download/v{version}/onnxruntime-linux-x64-{version}.tgz"
    archive(folder / GITHUB / path, files)


def archives(folder: Path) -> None:
    """Every archive, each with one top folder, the same bytes each time."""
    for upstream, path in DEPS.values():
        archive(folder / GITHUB / path, files_of(upstream))
    for upstream, paths in REQUIRED.items():
        for path in paths:
            archive(folder / GITHUB / path, files_of(upstream))
    for name, path in FETCHED.items():
        library = "add_library(flatbuffers INTERFACE)" if name == "flatbuffers" else ""
        text = f"cmake_minimum_required(VERSION 3.16)\nproject({name} C CXX)\n{library}\n"
        files = {"zconf.h": b""} if name == "zlib" else {}
        text += RENAMES if name == "zlib" else ""
        archive(folder / GITHUB / path, {"CMakeLists.txt": text.encode(), **files})
    archive(folder / GITHUB / "protocolbuffers/protobuf/archive/refs/tags/v34.1.zip", files_of("protobuf"))


def files_of(upstream: str) -> dict[str, bytes]:
    """The files of a miniature by path."""
    root = UPSTREAMS / upstream
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def archive(target: Path, files: dict[str, bytes]) -> None:
    """A zip, tar.gz or tar.xz by its name."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.suffix == ".zip":
        with zipfile.ZipFile(target, "w") as packed:
            for name, content in files.items():
                packed.writestr(zipfile.ZipInfo(f"top/{name}", (2023, 11, 14, 0, 0, 0)), content)
        return
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(f"top/{name}")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    pack = (lambda raw: gzip.compress(raw, mtime=0)) if target.suffix in (".gz", ".tgz") else lzma.compress
    target.write_bytes(pack(buffer.getvalue()))


def deps_txt(folder: Path) -> str:
    rows = ["#Name;Url;SHA1", "dawn;https://github.com/google/dawn/archive/12a3.zip;" + "0" * 40]
    for name, (_, path) in DEPS.items():
        sha1 = hashlib.sha1((folder / GITHUB / path).read_bytes()).hexdigest()
        rows.append(f"{name};https://{GITHUB}/{path};{sha1}")
    return "\n".join(rows) + "\n"


def repository(tree: Path, bare: Path, tags: tuple[str, ...]) -> str:
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


def make_image(root: Path, folder: Path, image: str, stack: MiniatureStack = STACKS["rocm-6.4"]) -> str:
    """An OCI layout of a root file system with a small /opt/rocm, at `images/NAME/TAG` of the mirror; its digest.

    Two layers: the root, and one that adds ROCm and takes a file of the first away.
    """
    name, _, tag = image.partition(":")
    place = folder / "images" / name / tag
    blobs = place / "blobs" / "sha256"
    blobs.mkdir(parents=True)
    kinds = "application/vnd.oci.image"
    bottom = _packed(root)
    with suppress(OSError):  # another file system
        os.link(bottom, blobs / bottom.name)
    if not (blobs / bottom.name).exists():
        shutil.copyfile(bottom, blobs / bottom.name)
    kind = f"{kinds}.layer.v1.tar"
    layers: list[dict[str, str | int]] = [
        {"mediaType": kind, "digest": f"sha256:{bottom.name}", "size": bottom.stat().st_size},
        _blob(blobs, _rocm_layer(stack, root), kind),
    ]
    diffs = {"type": "layers", "diff_ids": [layer["digest"] for layer in layers]}
    config = {"architecture": "amd64", "os": "linux", "config": {}, "rootfs": diffs}
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{kinds}.manifest.v1+json",
        "config": _blob(blobs, json.dumps(config).encode(), f"{kinds}.config.v1+json"),
        "layers": layers,
    }
    head = _blob(blobs, json.dumps(manifest).encode(), f"{kinds}.manifest.v1+json")
    (place / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    (place / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [head]}))
    return str(head["digest"])


def _blob(blobs: Path, content: bytes, kind: str) -> dict[str, str | int]:
    """Write a blob; its descriptor."""
    name = hashlib.sha256(content).hexdigest()
    (blobs / name).write_bytes(content)
    return {"mediaType": kind, "digest": f"sha256:{name}", "size": len(content)}


@cache
def _packed(root: Path) -> Path:
    """The root as a tar, made once and linked into every mirror; it is called by its digest."""
    folder = Path(tempfile.mkdtemp(prefix="stackbuild-miniature-layer-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    words = [
        "tar",
        "--create",
        "--sort=name",
        "--numeric-owner",
        "--exclude=./dev/*",
        "--exclude=./opt/onnxruntime-headers",
    ]
    made = folder / "layer.tar"
    subprocess.run([*words, f"--directory={root}", f"--file={made}", "."], check=True)
    with made.open("rb") as content:
        return made.rename(folder / hashlib.file_digest(content, "sha256").hexdigest())


PACKAGES = {
    "amd_comgr": "amd_comgr",
    "hsa-runtime64": "hsa-runtime64::hsa-runtime64",
    "hipblaslt": "roc::hipblaslt",
    "hipdnn_frontend": "hipdnn_frontend",
    "hipdnn_backend": "hipdnn_backend",
}
"""CMake packages of ROCm that the root has not from Debian (rocm-tree.sh), and the target that each has."""


def _rocm_layer(stack: MiniatureStack, root: Path) -> bytes:
    """What AMD's image of that version has beside the root's /opt/rocm: libraries to link, CMake packages, hipify-perl."""
    buffer = io.BytesIO()
    symbols = root / "opt" / "rocm" / ".info" / "libamdhip64.symbols"
    hip = symbols.read_text().split() if symbols.exists() else []
    with tarfile.open(fileobj=buffer, mode="w") as layer:
        _link(layer, "usr/local/bin/python3.12", "/usr/bin/python3")
        _file(layer, "opt/rocm/bin/hipify-perl", b'#!/bin/sh\ncat "$@"\n', 0o755)
        _file(layer, "opt/rocm/.info/version", f"{stack.rocm}-129\n".encode(), 0o644)
        for name, soname in stack.libraries.items():
            content = _library(f"lib{name}.so.{soname}", hip if name == "amdhip64" else [])
            _file(layer, f"opt/rocm/lib/lib{name}.so.{soname}", content, 0o755)
            _link(layer, f"opt/rocm/lib/lib{name}.so", f"lib{name}.so.{soname}")
        for name, target in PACKAGES.items():
            library = "hipblaslt" if name == "hipblaslt" else ""
            if library and library not in stack.libraries:
                continue
            links = f"target_link_libraries({target} INTERFACE /opt/rocm/lib/lib{library}.so)\n" if library else ""
            text = f"add_library({target} INTERFACE IMPORTED)\n{links}"
            _file(layer, f"opt/rocm/lib/cmake/{name}/{name}-config.cmake", text.encode(), 0o644)
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


def _library(soname: str, functions: list[str]) -> bytes:
    """A shared library of that soname with these functions, none of which does anything: it is linked with and never run."""
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "empty.s", Path(folder) / soname
        rows = [f".globl {name}\n.type {name}, @function\n{name}:" for name in functions]
        source.write_text("\n".join([*rows, '.section .note.GNU-stack,"",@progbits', ""]))
        words = ["cc", "-shared", "-nostdlib", str(source), f"-Wl,-soname,{soname}", "-o", str(out)]
        subprocess.run(words, check=True, capture_output=True)
        return out.read_bytes()
