"""Unpacks tar and zip archives that nobody vouches for: everything is looked at before anything is written.

`tarfile`'s own filter is not enough: it lets a link lead later members outside on some Pythons (facts: CVE-2025-4517).
"""

from __future__ import annotations

import shutil
import stat
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from stackbuild.core.errors import StepFailed

MOST_MEMBERS = 400_000
MOST_BYTES = 16 << 30
MOST_RATIO = 400
MOST_NAME = 1024
MOST_PART = 255
MOST_STEPS = 20_000_000
"""Path components looked at, with those before each, to follow every link of an archive: a maze ends after seconds."""
KERNEL_FOLLOWS = 40
"""Links in one path, after which Linux gives up (MAXSYMLINKS)."""

_Open = Callable[[], IO[bytes] | None]


@dataclass(frozen=True)
class _Member:
    """One entry: its path, what it is (f file, d folder, l link), bytes, link target, whether executable."""

    path: str
    kind: str
    size: int
    target: str = ""
    executable: bool = False


def unpack(archive: Path, out: Path) -> None:
    """Unpack into the empty folder `out`; one single top folder is left away. Raises StepFailed, nothing written."""
    try:
        if zipfile.is_zipfile(archive) and not tarfile.is_tarfile(
            archive
        ):  # a tar with a zip at its end looks like one
            _unzip(archive, out)
        else:
            _untar(archive, out)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, ValueError, NotImplementedError) as error:
        raise StepFailed(f"the archive is damaged: {error}", where=archive.name) from None


def _untar(archive: Path, out: Path) -> None:
    with tarfile.open(archive) as tar:
        infos = []
        for info in tar:
            infos.append(info)
            if len(infos) > MOST_MEMBERS:
                raise StepFailed(f"more than {MOST_MEMBERS} members", where=archive.name)
        members = [m for m in (_of_tar(i, archive.name) for i in infos) if m is not None]
        strip = _vet(members, archive)
        for info, member in zip((i for i in infos if not _is_header(i)), members, strict=True):
            _write(out, member, strip, lambda info=info: tar.extractfile(info))  # type: ignore[misc]


def _is_header(info: tarfile.TarInfo) -> bool:
    return info.type in (tarfile.XGLTYPE, tarfile.XHDTYPE)


def _of_tar(info: tarfile.TarInfo, archive: str) -> _Member | None:
    if _is_header(info):
        return None
    if info.isdir():
        return _Member(info.name, "d", 0)
    if info.issym():
        return _Member(info.name, "l", 0, info.linkname)
    if info.isfile() and not info.issparse():
        return _Member(info.name, "f", info.size, executable=bool(info.mode & 0o100))
    raise StepFailed(f"{info.name!r} is neither file, folder nor symbolic link", where=archive)


def _unzip(archive: Path, out: Path) -> None:
    with zipfile.ZipFile(archive) as file:
        infos = file.infolist()
        if len(infos) > MOST_MEMBERS:
            raise StepFailed(f"more than {MOST_MEMBERS} members", where=archive.name)
        members = [_of_zip(i, file, archive.name) for i in infos]
        strip = _vet(members, archive)
        for info, member in zip(infos, members, strict=True):
            _write(out, member, strip, lambda info=info: file.open(info))  # type: ignore[misc]


def _of_zip(info: zipfile.ZipInfo, file: zipfile.ZipFile, archive: str) -> _Member:
    mode = info.external_attr >> 16
    if info.is_dir():
        return _Member(info.filename, "d", 0)
    if stat.S_ISLNK(mode):
        if info.file_size > MOST_NAME:
            raise StepFailed(f"{info.filename!r} is a link of {info.file_size} bytes", where=archive)
        return _Member(info.filename, "l", 0, file.read(info).decode("utf-8", "strict"))
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG) or info.flag_bits & 1:
        raise StepFailed(f"{info.filename!r} is neither file, folder nor symbolic link, or encrypted", where=archive)
    return _Member(info.filename, "f", info.file_size, executable=bool(mode & 0o100))


def _vet(members: list[_Member], archive: Path) -> str:
    """Refuse the whole archive for one bad member; the single top folder to leave away, or ""."""
    seen: dict[PurePosixPath, str] = {}
    total = sum(m.size for m in members)
    if total > MOST_BYTES or total > MOST_RATIO * max(archive.stat().st_size, 1 << 20):
        raise StepFailed(f"it unpacks to {total} bytes", where=archive.name, next="that is a bomb, or raise the limit")
    for member in members:
        path = _inside(member.path, archive.name)
        if seen.get(path, member.kind) != member.kind or (path in seen and member.kind != "d"):
            raise StepFailed(f"{member.path!r} is there twice", where=archive.name)
        seen[path] = member.kind
    for path in seen:
        for parent in path.parents:
            if seen.get(parent, "d") != "d":
                raise StepFailed(f"{str(path)!r} would be written through {str(parent)!r}", where=archive.name)
    tops = {p.parts[0] for p in seen if p.parts}
    one = len(tops) == 1 and all(len(p.parts) != 1 or kind == "d" for p, kind in seen.items())
    strip = tops.pop() if one else ""
    links = {PurePosixPath(m.path).parts[bool(strip) :]: _target(m, archive.name) for m in members if m.kind == "l"}
    _stay_inside(links, archive.name)
    return strip


def _inside(name: str, archive: str) -> PurePosixPath:
    path = PurePosixPath(name)
    bad = path.is_absolute() or ".." in path.parts or "\\" in name or any(ord(c) < 32 for c in name)
    if bad or len(name.encode()) > MOST_NAME or any(len(p.encode()) > MOST_PART for p in path.parts):
        raise StepFailed(f"the member name {name[:120]!r} is refused", where=archive)
    if ".git" in (p.lower() for p in path.parts):
        raise StepFailed(f"{name!r} is part of a git repository's own folder", where=archive)
    return path


def _target(link: _Member, archive: str) -> tuple[str, ...]:
    target = link.target
    if not target or target.startswith("/") or "\0" in target or len(target) > MOST_NAME:
        raise StepFailed(f"the link {link.path!r} leads to {target[:120]!r}", where=archive)
    return PurePosixPath(target).parts


def _stay_inside(links: dict[tuple[str, ...], tuple[str, ...]], archive: str) -> None:
    """Refuse a link that leads out of the folder it is unpacked into. They are followed as the kernel will, through other
    links of the archive and with its limit: a `..` behind a link is the parent of where that one leads."""
    steps = 0
    for link in links:
        place, ahead, followed = list(link[:-1]), list(reversed(links[link])), 0
        while ahead and followed < KERNEL_FOLLOWS:
            steps += 1 + len(place)
            part = ahead.pop()
            if (part == ".." and not place) or steps > MOST_STEPS:
                raise StepFailed(f"the link {'/'.join(link)!r} leads out of the archive", where=archive)
            if part == "..":
                place.pop()
            elif (further := links.get((*place, part))) is not None:
                ahead += reversed(further)
                followed += 1
            else:
                place.append(part)


def _write(out: Path, member: _Member, strip: str, content: _Open) -> None:
    parts = PurePosixPath(member.path).parts
    place = out.joinpath(*(parts[1:] if strip else parts))
    if member.kind == "d":
        place.mkdir(parents=True, exist_ok=True)
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    if member.kind == "l":
        place.symlink_to(member.target)
        return
    source = content()
    if source is None:
        raise StepFailed(f"{member.path!r} has no content")
    with source, place.open("xb") as file:
        shutil.copyfileobj(source, file, 1 << 20)
    if place.stat().st_size != member.size:
        raise StepFailed(f"{member.path!r} is not as long as the archive says")
    place.chmod(0o755 if member.executable else 0o644)
