"""Another user of this machine, and a copy of stackbuild that this user can read.

The checkout, its virtual environment and the interpreter may lie in a folder that only their owner can enter, as root's
home is. So another user gets a copy of the package, of its data and of the distributions that it requires.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

from support.paths import ROOT

UID = 65534
"""The user `nobody`, who owns nothing."""
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
SAME_VERSION = f"import sys; sys.exit('%d.%d' % sys.version_info[:2] != '{VERSION}')"


@dataclass(frozen=True)
class OtherUser:
    """A user who runs stackbuild from a folder of copies. Only root can start processes as this user."""

    copies: Path
    uid: int = UID

    @property
    def prefix(self) -> tuple[str, ...]:
        """What to write before a command. The shell starts the command after root's capabilities are gone."""
        become = ("setpriv", f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups")
        return (*become, "sh", "-c", 'exec "$0" "$@"')

    @cached_property
    def python(self) -> str | None:
        """An interpreter of the tests' own version that this user can start; None where there is none."""
        own = str(Path(sys.executable).resolve())
        for candidate in (own, f"/usr/bin/python{VERSION}", f"/usr/local/bin/python{VERSION}"):
            words = [*self.prefix, candidate, "-I", "-c", SAME_VERSION]
            if subprocess.run(words, cwd="/", capture_output=True, check=False).returncode == 0:
                return candidate
        return None

    @property
    def environment(self) -> dict[str, str]:
        return {"PYTHONPATH": str(self.copies)}


def copy_for_others(copies: Path) -> None:
    """Copies stackbuild with its data and requirements; every user can read the copies, whatever umask made the originals."""
    hatch = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    for name in (*hatch["packages"], *hatch["force-include"]):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copies / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            (copies / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copies / name)
    for required in _required("stackbuild"):
        for file in required.files or ():
            if ".." not in file.parts and "__pycache__" not in file.parts:
                target = copies / file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(str(file.locate()), target)
    for path in (copies, *copies.rglob("*")):
        path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)


def _required(name: str) -> Iterator[Distribution]:
    """The installed distributions that a distribution requires without extras, each once."""
    seen: dict[str, Distribution] = {}
    todo = [name]
    while todo:
        for line in distribution(todo.pop()).requires or ():
            wanted = Requirement(line)
            applies = wanted.marker is None or wanted.marker.evaluate({"extra": ""})
            if applies and wanted.name.lower() not in seen:
                seen[wanted.name.lower()] = distribution(wanted.name)
                todo.append(wanted.name)
    yield from seen.values()
