"""Unpacks tar and zip archives that nobody vouches for: everything is looked at before anything is written.

`tarfile`'s own filter is not enough: it lets a link lead later members outside on some Pythons (facts: CVE-2025-4517).
"""

from __future__ import annotations

import contextlib
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import IO, cast

from stackbuild.core.errors import StepFailed
from stackbuild.core.tree_walk import BOUNDS
from stackbuild.core.zip_member import open_member, read_member
from stackbuild.sources.tar_stream import CHUNK, DAMAGE, OF_DAMAGE, ForwardReader, TarStream, is_header, open_tar
from stackbuild.store import atomic

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
PathParts = tuple[str, ...]


@dataclass(frozen=True)
class _ArchiveMember:
    """One entry: its path, what it is (f file, d folder, l link), bytes, link target, whether executable."""

    path: str
    kind: str
    size: int
    target: str = ""
    executable: bool = False

    @cached_property
    def parts(self) -> PathParts:
        return tuple(part for part in self.path.split("/") if part not in ("", "."))


def unpack(archive: Path, out: Path, archive_name: str = "") -> None:
    """Unpack into the empty folder `out`; one single top folder is left away. Messages call it `archive_name`. Raises StepFailed, OSError; nothing is
    left then."""
    archive_name = archive_name or archive.name
    try:
        if (tar := open_tar(archive)) is not None:
            with contextlib.closing(tar):
                _untar(tar, _most_bytes(archive), out, archive_name)
        elif zipfile.is_zipfile(archive):
            _unzip(archive, out, archive_name)
        else:
            raise StepFailed("neither a tar nor a zip archive", where=archive_name, next="only these are unpacked")
    except BaseException as error:
        for leftover in out.iterdir():
            atomic.remove(leftover)
        if isinstance(error, DAMAGE) or (isinstance(error, OSError) and error.errno in OF_DAMAGE):
            raise StepFailed(f"the archive is damaged: {error}", where=archive_name) from None
        raise


def _untar(tar: TarStream, limit: int, out: Path, archive_name: str) -> None:
    infos: list[tarfile.TarInfo] = []
    total = 0
    for count, info in enumerate(tar, 1):
        total += max(info.size, 0)
        if count > MOST_MEMBERS or total > limit:
            _refuse_beyond(count, total, limit, archive_name)
        infos.append(info)
    infos = [info for info in infos if not is_header(info)]
    members = [_of_tar(info, archive_name) for info in infos]
    cast(ForwardReader, tar.fileobj).is_listing = False
    writing = _ArchiveWriter(out, _vet(members, archive_name))
    for info, member in zip(infos, members, strict=True):
        writing.write(member, lambda info=info: tar.extractfile(info))  # type: ignore[misc]


def _most_bytes(archive: Path) -> int:
    return min(MOST_BYTES, MOST_RATIO * max(archive.stat().st_size, 1 << 20))


def _refuse_beyond(members: int, size: int, limit: int, archive: str) -> None:
    """Before the next member is read, which may be the bomb."""
    if members > MOST_MEMBERS:
        raise StepFailed(f"more than {MOST_MEMBERS} members", where=archive)
    if size > limit:
        raise StepFailed(
            f"it unpacks to {size} bytes or more", where=archive, next="that is a bomb, or raise the limit"
        )


def _of_tar(info: tarfile.TarInfo, archive: str) -> _ArchiveMember:
    if info.size < 0:
        raise StepFailed(f"{info.name!r} has {info.size} bytes", where=archive)
    if info.isdir():
        return _ArchiveMember(info.name, "d", 0)
    if info.issym():
        return _ArchiveMember(info.name, "l", 0, info.linkname)
    if info.isfile() and not info.issparse():
        return _ArchiveMember(info.name, "f", info.size, executable=bool(info.mode & 0o100))
    raise StepFailed(f"{info.name!r} is neither file, folder nor symbolic link", where=archive)


def _unzip(archive: Path, out: Path, archive_name: str) -> None:
    with zipfile.ZipFile(archive) as file:
        infos = file.infolist()
        _refuse_beyond(len(infos), sum(info.file_size for info in infos), _most_bytes(archive), archive_name)
        members = [_of_zip(i, file, archive_name) for i in infos]
        writing = _ArchiveWriter(out, _vet(members, archive_name))
        for info, member in zip(infos, members, strict=True):
            writing.write(member, lambda info=info: open_member(file, info))  # type: ignore[misc]


def _of_zip(info: zipfile.ZipInfo, file: zipfile.ZipFile, archive: str) -> _ArchiveMember:
    mode = info.external_attr >> 16
    if info.is_dir():
        return _ArchiveMember(info.filename, "d", 0)
    if stat.S_ISLNK(mode):
        if info.file_size > MOST_NAME:
            raise StepFailed(f"{info.filename!r} is a link of {info.file_size} bytes", where=archive)
        return _ArchiveMember(info.filename, "l", 0, read_member(file, info, MOST_NAME).decode("utf-8", "strict"))
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG) or info.flag_bits & 1:
        raise StepFailed(f"{info.filename!r} is neither file, folder nor symbolic link, or encrypted", where=archive)
    return _ArchiveMember(info.filename, "f", info.file_size, executable=bool(mode & 0o100))


def _vet(members: list[_ArchiveMember], archive: str) -> str:
    """Refuse the whole archive for one bad member; the single top folder to leave away, or ""."""
    if not members:
        raise StepFailed("it holds nothing", where=archive)
    kinds: dict[PathParts, str] = {}
    for member in members:
        _refuse_name(member, archive)
        path = member.parts
        if kinds.get(path, member.kind) != member.kind or (path in kinds and member.kind != "d"):
            raise StepFailed(f"{member.path!r} is there twice", where=archive)
        kinds[path] = member.kind
    above: set[PathParts] = set()
    for path in kinds:
        while path and (path := path[:-1]) not in above:
            above.add(path)
            if kinds.get(path, "d") != "d":
                raise StepFailed(f"something would be written through {'/'.join(path)!r}", where=archive)
    tops = {path[0] for path in kinds if path}
    one = len(tops) == 1 and all(len(path) != 1 or kind == "d" for path, kind in kinds.items())
    strip = tops.pop() if one else ""
    links = {member.parts[bool(strip) :]: _target(member, archive) for member in members if member.kind == "l"}
    _stay_inside(links, archive)
    return strip


def _refuse_name(member: _ArchiveMember, archive: str) -> None:
    name, parts = member.path, member.parts
    bad = name.startswith("/") or ".." in parts or "\\" in name or any(ord(c) < 32 for c in name)
    long = len(name.encode()) > MOST_NAME or len(parts) > BOUNDS.depth
    if bad or long or (not parts and member.kind != "d") or any(len(part.encode()) > MOST_PART for part in parts):
        raise StepFailed(f"the member name {name[:120]!r} is refused", where=archive)
    if any(part.lower() == ".git" for part in parts):
        raise StepFailed(f"{name!r} is part of a git repository's own folder", where=archive)


def _target(link: _ArchiveMember, archive: str) -> tuple[str, ...]:
    target = link.target
    if not target or target.startswith("/") or "\0" in target or len(target) > MOST_NAME:
        raise StepFailed(f"the link {link.path!r} leads to {target[:120]!r}", where=archive)
    return PurePosixPath(target).parts


def _stay_inside(links: dict[tuple[str, ...], tuple[str, ...]], archive: str) -> None:
    """Refuse a link that leads out of the folder it is unpacked into. They are followed as the kernel will, through other
    links of the archive and with its limit: a `..` behind a link is the parent of where that one leads."""
    steps = 0
    for link in links:
        place, ahead, followed_links = list(link[:-1]), list(reversed(links[link])), 0
        while ahead and followed_links < KERNEL_FOLLOWS:
            steps += 1 + len(place)
            part = ahead.pop()
            if (part == ".." and not place) or steps > MOST_STEPS:
                raise StepFailed(f"the link {'/'.join(link)!r} leads out of the archive", where=archive)
            if part == "..":
                place.pop()
            elif (further := links.get((*place, part))) is not None:
                ahead += reversed(further)
                followed_links += 1
            else:
                place.append(part)


@dataclass
class _ArchiveWriter:
    """Writes vetted members into the empty folder `out`, `strip` left away."""

    out: Path
    strip: str
    folders: set[str] = field(default_factory=set)

    def write(self, member: _ArchiveMember, content: _Open) -> None:
        parts = member.parts[bool(self.strip) :]
        if member.kind == "d":
            self._folder("/".join(parts))
            return
        self._folder("/".join(parts[:-1]))
        place = f"{self.out}/{'/'.join(parts)}"
        if member.kind == "l":
            os.symlink(member.target, place)  # noqa: PTH211
            return
        source = content()
        if source is None:
            raise StepFailed(f"{member.path!r} has no content")
        with source:
            size = _copy(source, place, 0o755 if member.executable else 0o644)
        if size != member.size:
            raise StepFailed(f"{member.path!r} is not as long as the archive says")

    def _folder(self, path: str) -> None:
        if path and path not in self.folders:
            Path(self.out, path).mkdir(parents=True, exist_ok=True)
            self.folders.add(path)


def _copy(source: IO[bytes], place: str, mode: int) -> int:
    """Write a new file; its bytes. Raises OSError."""
    size = 0
    fd = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    with os.fdopen(fd, "wb") as file:
        os.fchmod(fd, mode)
        while chunk := source.read(CHUNK):
            size += file.write(chunk)
    return size
