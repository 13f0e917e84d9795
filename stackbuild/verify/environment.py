"""Clean environments: an interpreter that fits the wheel, a virtual environment, and pip without an index."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from stackbuild.errors import MachineLacks
from stackbuild.inspect.facts import Library
from stackbuild.verify.cell import Cell, Ended

_SECONDS = 600.0


def interpreter(version: str) -> Path | None:
    """An interpreter of that version ("3.11", '' for any): this one where it fits, else one on PATH that runs."""
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    if version in ("", here):
        return Path(sys.executable)
    found = shutil.which(f"python{version}")
    if found is None:
        return None
    words = [found, "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])"]
    said = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    return Path(found) if said.returncode == 0 and said.stdout.strip() == version else None


def too_old(libraries: Iterable[Library]) -> str:
    """Why this machine's glibc cannot load the libraries, or ''."""
    needed = [_version(v) for lib in libraries for _, asked in lib.versions for v in asked if v.startswith("GLIBC_2.")]
    here = _version(os.confstr("CS_GNU_LIBC_VERSION") or "glibc 2.0")
    if max(needed, default=(0,)) <= here:
        return ""
    return f"the libraries need glibc {_spelt(max(needed))}, this machine has {_spelt(here)}"


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text))


def _spelt(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def make(folder: Path, python: Path, readable: tuple[Path, ...]) -> tuple[Cell, Ended]:
    """A new virtual environment in `folder`, with nothing in it, not even pip, and the cell around it; how making it ended."""
    maker = Cell(folder, python, readable)
    ended = maker.run([str(python), "-m", "venv", "--without-pip", "--symlinks", str(folder / "env")], _SECONDS)
    return Cell(folder, folder / "env" / "bin" / "python", readable), ended


def install(cell: Cell, wheelhouse: Path | None, requirements: tuple[str, ...]) -> Ended:
    """stackbuild's own pip installs into the cell's environment, without an index; dependencies come from the wheelhouse alone.

    Raises MachineLacks where stackbuild has no pip.
    """
    if find_spec("pip") is None:
        raise MachineLacks("the Python that runs stackbuild has no pip", next=f"{sys.executable} -m ensurepip")
    words = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(cell.python),
        "install",
        "--no-index",
        "--no-compile",
        "--quiet",
    ]
    words += ["--find-links", str(wheelhouse)] if wheelhouse else []
    return cell.run([*words, *requirements], _SECONDS)
