"""Where this machine's dynamic loader looks for a library, in glibc's order (ld.so(8)). Reads files, runs nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stackbuild.core.interpreter import this_glibc
from stackbuild.core.versions import numbers
from stackbuild.inspection.facts import Library

DEFAULT = ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib")
LOADER_FILE = Path("/etc/ld.so.conf")


@dataclass(frozen=True)
class LoaderPaths:
    """The folders of LD_LIBRARY_PATH, those of ld.so.conf with the default ones, and the C library's version."""

    environment: tuple[Path, ...]
    system: tuple[Path, ...]
    glibc: str

    def missing(self, library: Library, origin: Path) -> tuple[str, ...]:
        """The libraries that it needs and that would not be found. RPATH counts where there is no RUNPATH."""
        own = library.runpath or library.rpath
        entries = [
            part.replace("${ORIGIN}", "$ORIGIN").replace("$ORIGIN", str(origin))
            for path in own
            for part in path.split(":")
            if part
        ]
        folders = (*map(Path, entries), *self.environment, *self.system)
        return tuple(name for name in library.needed if not any((folder / name).exists() for folder in folders))

    def newer_glibc(self, library: Library) -> str:
        """The newest glibc that it asks for, where that is newer than this machine's; else ""."""
        versions = [
            v.removeprefix("GLIBC_")
            for _, names in library.versions
            for v in names
            if re.fullmatch(r"GLIBC_2[0-9.]*", v)
        ]
        newest = max(versions, key=numbers, default="")
        return newest if newest and self.glibc and numbers(newest) > numbers(self.glibc) else ""


def loader_paths(variables: Mapping[str, str]) -> LoaderPaths:
    """Those of this machine, with the given environment."""
    environment = tuple(Path(p) for p in variables.get("LD_LIBRARY_PATH", "").split(":") if p)
    return LoaderPaths(environment, (*_configured_folders(LOADER_FILE, 0), *map(Path, DEFAULT)), this_glibc())


def _configured_folders(file: Path, depth: int) -> tuple[Path, ...]:
    """The folders of a configuration file and of those that it includes."""
    folders: list[Path] = []
    try:
        lines = file.read_text("utf-8", "replace").splitlines() if depth < 5 else []
    except OSError:
        lines = []
    for line in (line.partition("#")[0].strip() for line in lines):
        if line.startswith("include "):
            pattern = line.split(None, 1)[1]
            base = Path("/") if pattern.startswith("/") else file.parent
            for each in sorted(base.glob(pattern.lstrip("/"))):
                folders += _configured_folders(each, depth + 1)
        elif line:
            folders.append(Path(line))
    return tuple(folders)
