"""Saves source distributions by name with pip's own finder and session, and unpacks their CUDA and C++ files.

    python tests/support/cuda_corpora.py FOLDER NAME[==VERSION]…

None of their code is run, not even their metadata hooks.
"""

from __future__ import annotations

import hashlib
import sys
import tarfile
from pathlib import Path

from pip._internal.commands import create_command
from pip._vendor.packaging.specifiers import SpecifierSet

NAMES = (
    "vllm==0.33.0", "llama-cpp-python==0.3.36", "flash-attn==2.8.3.post2", "xformers==0.0.35", "deepspeed==0.19.8", "xgboost==3.2.0",
    "mmcv==2.2.0", "gsplat==1.5.3", "lightgbm==4.7.0", "auto-gptq==0.7.1", "exllamav2==0.0.4", "cupy==14.2.0", "warp-lang==0.8.0",
    "mamba-ssm==2.3.2.post1", "causal-conv1d==1.7.0", "torch-scatter==2.1.2", "torch-cluster==1.6.3", "torch-sparse==0.6.18",
    "torch-spline-conv==1.2.2", "numba-cuda==0.24.0",
)  # fmt: skip
SUFFIXES = (".cu", ".cuh", ".h", ".hpp", ".inl", ".cc", ".cpp", ".c")


def fetch(requirement: str, folder: Path) -> Path:
    """The folder with the unpacked sources of a requirement such as `name==1.2`, downloaded where it is not there."""
    name, _, version = requirement.partition("==")
    command = create_command("download")
    with command.main_context():
        options, _ = command.parse_args(["--no-deps", "--no-binary", ":all:", "--quiet", name])
        session = command.get_default_session(options)
        finder = command._build_package_finder(options, session)
        best = finder.find_best_candidate(name, SpecifierSet(f"=={version}") if version else None).best_candidate
        if best is None or not best.link.filename.endswith(".tar.gz"):
            raise SystemExit(f"{requirement} has no source distribution")
        target = folder / best.link.filename.removesuffix(".tar.gz")
        if not target.is_dir():
            body = session.get(best.link.url_without_fragment).content
            if best.link.hash and hashlib.new(best.link.hash_name or "sha256", body).hexdigest() != best.link.hash:
                raise SystemExit(f"{requirement}: the download does not match its hash")
            archive = folder / best.link.filename
            archive.write_bytes(body)
            _unpack(archive, target)
            archive.unlink()
    return target


def _unpack(archive: Path, target: Path) -> None:
    with tarfile.open(archive) as tar:
        for member in tar.getmembers():
            parts = Path(member.name).parts[1:]
            if member.isfile() and member.name.endswith(SUFFIXES) and parts and ".." not in parts:
                out = target.joinpath(*parts)
                out.parent.mkdir(parents=True, exist_ok=True)
                file = tar.extractfile(member)
                assert file is not None
                out.write_bytes(file.read())


if __name__ == "__main__":
    where = Path(sys.argv[1])
    where.mkdir(parents=True, exist_ok=True)
    for wanted in sys.argv[2:] or NAMES:
        print(fetch(wanted, where))
