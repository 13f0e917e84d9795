"""Clean environments: an interpreter that fits the wheel, a virtual environment, and pip without an index."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from stackbuild.core.errors import MachineLacks
from stackbuild.core.packaging import Claim
from stackbuild.inspection.facts import Library
from stackbuild.verification.probe_sandbox import ProbeResult, ProbeSandbox

_SECONDS = 600.0


@dataclass(frozen=True)
class PythonHost:
    """Where a ladder is climbed: an interpreter, the root file system it runs in (None: this machine's), and its glibc."""

    python: Path
    version: str
    glibc: str
    root: Path | None = None

    @property
    def description(self) -> str:
        return f"the root file system {self.root}" if self.root else "this machine"

    def refusal(self, libraries: Iterable[Library], claim: Claim) -> str:
        """Why it cannot take the wheel: its Python, its glibc, or the processor; '' where it can."""
        needed = [
            _version(v) for lib in libraries for _, asked in lib.versions for v in asked if v.startswith("GLIBC_2.")
        ]
        if max(needed, default=(0,)) > _version(self.glibc):
            return (
                f"the libraries need glibc {_spelt(max(needed))}, {self.description} has {_spelt(_version(self.glibc))}"
            )
        return claim.refuses(self.version, _version(self.glibc), platform.machine(), self.description)


def this_machine(claim: Claim, python: Path | None) -> PythonHost:
    """This machine with the chosen interpreter, else this one where it fits, else one that fits and is on PATH."""
    running = _spelt(sys.version_info[:2])
    glibc = os.confstr("CS_GNU_LIBC_VERSION") or "glibc 2.0"
    if python is not None:
        return PythonHost(python, _said(python) or running, glibc)
    others = () if claim.fits(running) else filter(claim.fits, claim.pythons)
    for version in others:
        found = shutil.which(f"python{version}")
        if found and _said(Path(found)) == version:
            return PythonHost(Path(found), version, glibc)
    return PythonHost(Path(sys.executable), running, glibc)


def _said(python: Path) -> str:
    """The version of an interpreter that can make environments, "3.12"; '' where it is none."""
    words = [str(python), "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])"]
    try:
        said = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return said.stdout.strip() if said.returncode == 0 else ""


def other_root(root: Path, claim: Claim, folder: Path, check: Callable[[], None]) -> tuple[PythonHost | None, str]:
    """Another root file system with an interpreter of its own that fits; or None and what it lacks.

    `folder` is an empty one to ask in.
    """
    why = f"there is no Python {' or '.join(claim.pythons) or '3'} in {root}"
    for name in (*(f"python{version}" for version in claim.pythons), "python3"):
        if not (root / "usr" / "bin" / name).is_symlink() and not (root / "usr" / "bin" / name).is_file():
            continue
        python = Path("/usr/bin") / name
        result = ProbeSandbox(folder, python, root=root, check=check).probe("place", {}, _SECONDS)
        if result.problem:
            why = f"{root}{python} does not run: {result.problem}"
        elif claim.fits(found := str(result.answer.get("python"))):
            return PythonHost(python, found, str(result.answer.get("glibc")), root), ""
    return None, why


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text))


def _spelt(version: Iterable[int]) -> str:
    return ".".join(map(str, version))


def make_venv(
    folder: Path, host: PythonHost, readable: tuple[Path, ...], check: Callable[[], None]
) -> tuple[ProbeSandbox, ProbeResult]:
    """A new virtual environment in `folder`, with nothing in it, not even pip, and the cell around it; how making it ended."""
    maker = ProbeSandbox(folder, host.python, readable, root=host.root, check=check)
    result = maker.furnish(
        [str(host.python), "-m", "venv", "--without-pip", "--symlinks", str(folder / "env")], _SECONDS
    )
    return replace(maker, python=folder / "env" / "bin" / "python"), result


def install(sandbox: ProbeSandbox, wheelhouse: Path | None, requirements: tuple[str, ...]) -> ProbeResult:
    """stackbuild's own pip, run by the environment's interpreter, installs into it without an index; dependencies come from
    the wheelhouse alone, and nothing is built.

    Raises MachineLacks where stackbuild has no pip.
    """
    found = find_spec("pip")
    if found is None or found.origin is None:
        raise MachineLacks("the Python that runs stackbuild has no pip", next=f"{sys.executable} -m ensurepip")
    pip = Path(found.origin).parent
    words = [str(sandbox.python), str(pip / "__pip-runner__.py"), "install", "--no-index", "--no-compile", "--quiet"]
    words += ["--only-binary", ":all:", *(["--find-links", str(wheelhouse)] if wheelhouse else [])]
    return replace(sandbox, readable=(*sandbox.readable, pip)).furnish([*words, *requirements], _SECONDS)
