"""Clean environments: an interpreter that fits the wheel, a virtual environment, and pip without an index.

There is one command that makes an environment and one that installs into it. Verification runs both in a sandbox
(`make_venv`, `install`); benchmarks need the machine itself (`wheelhouse_python`).
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from importlib.metadata import metadata
from pathlib import Path

from stackbuild.core.errors import MachineLacks
from stackbuild.core.offline_pip import install_words, pip_folder
from stackbuild.core.packaging import Claim
from stackbuild.inspection.facts import Library
from stackbuild.store import atomic
from stackbuild.store.store import Store
from stackbuild.verification.probe_sandbox import ProbeResult, ProbeSandbox, interpreter_files, interpreter_folders

_SECONDS = 600.0
_COMPLETE = "whole"
"""The file that marks a complete environment."""


@dataclass(frozen=True)
class PythonHost:
    """Where wheels are verified: an interpreter, the root file system it runs in (None: this machine's), and its glibc."""

    python: Path
    version: str
    glibc: str
    root: Path | None = None

    @property
    def description(self) -> str:
        return f"the root file system {self.root}" if self.root else "this machine"

    def refusal(self, libraries: Iterable[Library], claim: Claim) -> str:
        """Why it cannot take the wheel: its Python, its glibc, or the processor; '' where it can."""
        needed_requirements = [
            _version(v)
            for lib in libraries
            for _, versions in lib.versions
            for v in versions
            if v.startswith("GLIBC_2.")
        ]
        if max(needed_requirements, default=(0,)) > _version(self.glibc):
            return f"the libraries need glibc {_version_text(max(needed_requirements))}, {self.description} has {_version_text(_version(self.glibc))}"
        return claim.refuses(self.version, _version(self.glibc), platform.machine(), self.description)


def this_machine(claim: Claim, python: Path | None) -> PythonHost:
    """This machine with the chosen interpreter, else this one where it fits, else one that fits and is on PATH."""
    running = _version_text(sys.version_info[:2])
    glibc = os.confstr("CS_GNU_LIBC_VERSION") or "glibc 2.0"
    if python is not None:
        return PythonHost(python, _version_of(python) or running, glibc)
    others = () if claim.fits(running) else filter(claim.fits, claim.pythons)
    for version in others:
        path = shutil.which(f"python{version}")
        if path and _version_of(Path(path)) == version:
            return PythonHost(Path(path), version, glibc)
    return PythonHost(Path(sys.executable), running, glibc)


def _version_of(python: Path) -> str:
    """The version of an interpreter that can make environments, "3.12"; '' for anything else."""
    words = [str(python), "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])"]
    try:
        answer = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""


def other_root(root: Path, claim: Claim, folder: Path, check: Callable[[], None]) -> tuple[PythonHost | None, str]:
    """Another root file system with an interpreter of its own that fits; or None and what it lacks.

    `folder` is an empty one to ask in.
    """
    why = f"there is no Python {' or '.join(claim.pythons) or '3'} in {root}"
    for name in (*(f"python{version}" for version in claim.pythons), "python3"):
        if not (root / "usr" / "bin" / name).is_symlink() and not (root / "usr" / "bin" / name).is_file():
            continue
        python = Path("/usr/bin") / name
        result = ProbeSandbox(folder, python, root=root, check=check).probe("interpreter", {}, _SECONDS)
        if result.problem:
            why = f"{root}{python} does not run: {result.problem}"
        elif claim.fits(interpreter := str(result.answer.get("python"))):
            return PythonHost(python, interpreter, str(result.answer.get("glibc")), root), ""
    return None, why


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text))


def _version_text(version: Iterable[int]) -> str:
    return ".".join(map(str, version))


def make_venv(
    folder: Path, host: PythonHost, readable: tuple[Path, ...], check: Callable[[], None]
) -> tuple[ProbeSandbox, ProbeResult]:
    """A new virtual environment in `folder`, made in a sandbox: the sandbox around it, and how making it ended.

    Raises MachineLacks where stackbuild's pip cannot install into such a Python, which is not the wheel's fault.
    """
    pip = metadata("pip")
    if not Claim((), pip["Requires-Python"] or "").fits(host.version):
        raise MachineLacks(
            f"stackbuild's pip {pip['Version']} is for Python {pip['Requires-Python']}; {host.python} has {host.version}",
            next="name a newer Python by --python, or a root that has one by --root",
        )
    installations = None if host.root else (*interpreter_folders(host.python), folder / "env")
    maker = ProbeSandbox(folder, host.python, readable, root=host.root, check=check)
    result = maker.furnish(_venv_command(host.python, env := folder / "env"), _SECONDS)
    sandbox = replace(
        maker, python=env / "bin" / "python", installations=installations, interpreter=interpreter_files(env)
    )
    return sandbox, result


def install(sandbox: ProbeSandbox, wheelhouse: Path | None, requirements: tuple[str, ...]) -> ProbeResult:
    """Install into the sandbox's environment; dependencies come from the wheelhouse alone.

    Raises MachineLacks where stackbuild has no pip.
    """
    pip = pip_folder()
    links = ["--find-links", str(wheelhouse)] if wheelhouse else []
    command = _install_command(sandbox.python, pip, [*links, *requirements])
    return replace(sandbox, readable=(*sandbox.readable, pip)).furnish(command, _SECONDS)


def wheelhouse_python(wheelhouse: Path, name: str, store: Store) -> Path:
    """The interpreter of an environment with every wheel of the wheelhouse, made once for each `name` (its digest).

    Raises MachineLacks where venv or pip refuse.
    """
    home = store.root / "envs" / name[:24]
    with store.lock(f"env.{name[:24]}", lambda pid: None, lambda: None):
        if not (home / _COMPLETE).exists():
            atomic.remove(home)
            make_wheelhouse_venv(wheelhouse, home)
            (home / _COMPLETE).write_text(name)
    return home / "bin" / "python"


def make_wheelhouse_venv(wheelhouse: Path, home: Path) -> Path:
    """Make an environment with every wheel of the wheelhouse; its interpreter.

    It is made without a sandbox, for benchmarks: they use this machine's GPU and ROCm. Raises MachineLacks where venv or
    pip refuse.
    """
    python = home / "bin" / "python"
    _run(_venv_command(Path(sys.executable), home), "no virtual environment", next="apt-get install python3-venv")
    wheels = sorted(str(path) for path in wheelhouse.glob("*.whl"))
    _run(
        _install_command(python, pip_folder(), ["--no-deps", *wheels]),
        f"pip does not install the wheelhouse for Python {_version_text(sys.version_info[:2])}",
        where=str(wheelhouse),
        next="run `stackbuild lock` with a Python the recipe lists",
    )
    return python


def _run(command: list[str], failure: str, *, next: str, where: str = "") -> None:
    """Run a command. Raises MachineLacks with what it wrote last where it fails."""
    try:
        process = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise MachineLacks(f"{failure}: {error}", where=where, next=next) from None
    if process.returncode != 0:
        raise MachineLacks(f"{failure}: {(process.stderr or process.stdout).strip()[-300:]}", where=where, next=next)


def _venv_command(python: Path, env: Path) -> list[str]:
    """Makes a virtual environment with nothing in it, not even pip."""
    return [str(python), "-m", "venv", "--without-pip", "--symlinks", str(env)]


def _install_command(python: Path, pip: Path, arguments: list[str]) -> list[str]:
    """Has an environment's interpreter run stackbuild's own pip: without an index, and without building anything."""
    return [str(python), str(pip / "__pip-runner__.py"), *install_words(arguments)]
