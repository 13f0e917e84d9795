"""The dpkg database of a root file system: which package has a file, what packages need, which files they have.

Nothing is run and no link is followed out of the root: paths are resolved inside it, component by component.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from stackbuild.core.errors import StepFailed
from stackbuild.core.plain_file import read_regular
from stackbuild.core.root_path import path_inside

MOST = 64 << 20
"""Bytes of a file of the database that are read; a whole distribution's status has some 30 MB."""
_FIELD = re.compile(r"^([A-Za-z-]+): ?(.*)$")


@dataclass(frozen=True)
class Package:
    """One installed package: its stanza of dpkg's status, and the fields of it that are used."""

    name: str
    stanza: str
    depends: tuple[tuple[str, ...], ...]
    """Each dependency as its alternatives, by name; versions and architectures are left out, since it is installed."""
    provides: tuple[str, ...]


@dataclass(frozen=True)
class DpkgRoot:
    """A root file system of Debian's or Ubuntu's."""

    root: Path

    @cached_property
    def packages(self) -> dict[str, Package]:
        """The installed packages, by name. Raises StepFailed where the root has no dpkg database."""
        status = self._text("var/lib/dpkg/status")
        if status is None:
            raise StepFailed("the root file system has no dpkg database", where=str(self.root))
        packages = (_package(stanza) for stanza in status.split("\n\n") if stanza.strip())
        return {package.name: package for package in packages if package}

    @cached_property
    def owners(self) -> dict[str, str]:
        """Path inside the root, without its first slash and with the links of its folders resolved, to the package."""
        return {
            self.place(path): name
            for name in self.packages
            for path in self.package_paths(name)
            if not self._is_folder(path)
        }

    def package_paths(self, name: str) -> tuple[str, ...]:
        """The paths that a package's list has, each without its first slash. Files that dpkg left out are among them."""
        for file in (f"{name}.list", f"{name}:amd64.list"):
            if (text := self._text(f"var/lib/dpkg/info/{file}")) is not None:
                return tuple(line.lstrip("/") for line in text.splitlines() if line.strip("/."))
        return ()

    def _text(self, path: str) -> str | None:
        """The text of a file below the root, links followed inside it; None where there is no file."""
        place = path_inside(self.root, path)
        data = read_regular(place, MOST) if place else None
        return None if data is None else data.decode("utf-8", "replace")

    def place(self, path: str) -> str:
        """The path with the links of its folders followed inside the root; its own last part is left as it is."""
        folder, _, name = path.strip("/").rpartition("/")
        return posixpath.normpath(f"{self._folder(folder)}/{name}").lstrip("/")

    def _folder(self, path: str) -> str:
        """A folder's own path. Links in a circle lead to the root."""
        if path in self._resolved_paths or not path:
            return self._resolved_paths.get(path, "")
        self._resolved_paths[path] = ""
        above, _, name = path.rpartition("/")
        place = posixpath.normpath(f"/{self._folder(above)}/{name}").lstrip("/")
        here = self.root / place
        if here.is_symlink():
            target = os.readlink(here)
            joined_path = target if target.startswith("/") else f"/{posixpath.dirname(place)}/{target}"
            place = self._folder(posixpath.normpath(joined_path).lstrip("/"))
        self._resolved_paths[path] = place
        return place

    @cached_property
    def _resolved_paths(self) -> dict[str, str]:
        return {}

    def closure(self, names: Iterable[str]) -> frozenset[str]:
        """The packages of these names and all that they depend on, of what is installed.

        Raises StepFailed for a name that is not installed.
        """
        providers = {virtual: p.name for p in self.packages.values() for virtual in p.provides}
        closure: set[str] = set()
        todo = list(names)
        if absent := [name for name in todo if name not in self.packages]:
            raise StepFailed(f"the base has no package {', '.join(absent)}", where=str(self.root))
        while todo:
            name = todo.pop()
            if name in closure:
                continue
            closure.add(name)
            for alternatives in self.packages[name].depends:
                real = (a if a in self.packages else providers.get(a) for a in alternatives)
                todo += [first for first in real if first][:1]
        return frozenset(closure)

    def library(self, soname: str) -> str:
        """The path of the library with that soname where the dynamic loader looks for one, "" where there is none."""
        for folder in self._library_folders:
            if (self.root / self.place(f"{folder}/{soname}")).is_file():
                return self.place(f"{folder}/{soname}")
        return ""

    @cached_property
    def _library_folders(self) -> tuple[str, ...]:
        configuration = path_inside(self.root, "etc/ld.so.conf.d")
        files = sorted(path.name for path in configuration.glob("*.conf")) if configuration else []
        folders = [
            line.strip().lstrip("/")
            for file in files
            for line in (self._text(f"etc/ld.so.conf.d/{file}") or "").splitlines()
            if line.startswith("/")
        ]
        usual = ("usr/lib/x86_64-linux-gnu", "usr/lib64", "usr/lib", "lib/x86_64-linux-gnu", "lib64", "opt/rocm/lib")
        return tuple(dict.fromkeys((*usual, *folders)))

    def _is_folder(self, path: str) -> bool:
        place = self.root / self.place(path)
        return place.is_dir() and not place.is_symlink()


def _package(stanza: str) -> Package | None:
    """A stanza of dpkg's status; None for a package that is not installed."""
    fields: dict[str, str] = {}
    for line in stanza.splitlines():
        if match := _FIELD.match(line):
            fields[match[1]] = match[2]
    if "Package" not in fields or not fields.get("Status", "").endswith(" installed"):
        return None
    needed_packages = ",".join(filter(None, (fields.get("Pre-Depends", ""), fields.get("Depends", ""))))
    return Package(
        fields["Package"], stanza.strip("\n"), _relations(needed_packages), _names(fields.get("Provides", ""))
    )


def _relations(text: str) -> tuple[tuple[str, ...], ...]:
    return tuple(names for group in text.split(",") if (names := _names(group.replace("|", ","))))


def _names(text: str) -> tuple[str, ...]:
    return tuple(re.split(r"[ (:\[]", part.strip())[0] for part in text.split(",") if part.strip())
