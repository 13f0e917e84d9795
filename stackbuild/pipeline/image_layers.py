"""The layers of an image: files of the base's packages and of the wheels, without those of other GPU targets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from stackbuild.core.root_path import path_inside
from stackbuild.pipeline.image_contents import ImageContents
from stackbuild.sources.dpkg import DpkgRoot
from stackbuild.sources.oci_writer import LayerFiles
from stackbuild.tables.targets import TARGETS

SYSTEM = ("base-files", "base-passwd", "bash", "coreutils", "dash", "libc-bin", "libgcc-s1", "libstdc++6")
"""Packages of every image: the C and C++ run time, and a shell to look around with."""
CERTIFICATES = "ca-certificates"
SETTINGS = ("group", "ld.so.conf", "nsswitch.conf", "passwd")
"""Files of /etc that no package's list has: maintainer scripts write them."""
LEFT_OUT = ("usr/share/doc/", "usr/share/man/", "usr/share/locale/", "usr/share/lintian/", "usr/share/info/")
LICENCE = "copyright"
FOLDERS = {"dev": 0o755, "proc": 0o755, "root": 0o700, "run": 0o755, "sys": 0o755, "tmp": 0o1777, "var/tmp": 0o1777}
"""Folders that every image has, empty, to mode."""

_TARGET = re.compile(r"gfx[0-9][0-9a-f]*")


@dataclass(frozen=True)
class TargetFilter:
    """Which files another GPU target than `wanted` needs; `left_out` collects them with their sizes."""

    target: str
    left_out: dict[str, int]

    def keeps(self, path: str, file: Path) -> bool:
        """Whether the image takes that file: it names no target, or the one wanted, or one that nobody knows."""
        named_targets = {target for token in _TARGET.findall(path) if (target := _processor(token, self.target))}
        if not named_targets or self.target in named_targets:
            return True
        self.left_out[path] = 0 if file.is_symlink() else file.stat().st_size
        return False


def _processor(token: str, image_target: str) -> str:
    """The known target that a file name's token begins with: MIOpen puts the number of compute units behind it, as
    `gfx90a68`. "" where it is not one."""
    fits = [target for target in (image_target, *TARGETS) if token.startswith(target)]
    return max(fits, key=len) if fits else ""


def layers_of(
    base: DpkgRoot, contents: ImageContents, site: Mapping[str, Path], outside: frozenset[str], targets: TargetFilter
) -> tuple[LayerFiles, ...]:
    """The four layers; a package is in the first that needs it, and what the wheels need last."""
    there = [name for name in (*SYSTEM, CERTIFICATES) if name in base.packages]
    system = base.closure(there)
    python = base.closure(["python3"]) - system
    libraries = base.closure(outside) - system - python
    packages = (*sorted(system), *sorted(python), *sorted(libraries))
    dist = f"usr/local/lib/python{contents.python}/dist-packages"
    status = "".join(f"{base.packages[name].stanza}\n\n" for name in sorted(packages)).encode()
    runtime, own = ({f"{dist}/{name}": path for name, path in _below(site[kind])} for kind in ("runtime", "own"))
    extra: dict[str, Path | bytes] = dict(_settings_files(base))
    extra |= {p.name: p for p in base.root.iterdir() if p.is_symlink()}
    return (
        LayerFiles("system", {**_files(base, system, targets), **extra}, FOLDERS),
        LayerFiles(f"python {contents.python}", {**_files(base, python, targets), **runtime}, {}),
        LayerFiles("libraries", {**_files(base, libraries, targets), "var/lib/dpkg/status": status}, {}),
        LayerFiles("wheels", own, {}),
    )


def _settings_files(base: DpkgRoot) -> Iterable[tuple[str, Path]]:
    etc, *folders = (path_inside(base.root, name) for name in ("etc", "etc/alternatives", "etc/ssl/certs"))
    settings = [etc / name for name in SETTINGS] if etc else []
    for path in (*settings, *(path for folder in folders if folder for path in sorted(folder.glob("*")))):
        if path.is_symlink() or path.is_file():
            yield str(path.relative_to(base.root)), path


def _files(base: DpkgRoot, names: Iterable[str], targets: TargetFilter) -> dict[str, Path | bytes]:
    """The files and links of these packages, by where they really lie. dpkg's lists name some that it left out."""
    files: dict[str, Path | bytes] = {}
    for name in sorted(names):
        for listed_path in base.package_paths(name):
            path = base.place(listed_path)
            file = base.root / path
            if not (file.is_symlink() or file.is_file()):
                continue
            if path.startswith(LEFT_OUT) and not path.endswith(f"/{LICENCE}"):
                continue
            if targets.keeps(path, file):
                files[path] = file
    return files


def _below(folder: Path) -> Iterable[tuple[str, Path]]:
    return ((str(p.relative_to(folder)), p) for p in sorted(folder.rglob("*")) if p.is_symlink() or p.is_file())
