"""Wheels as zip archives: the members, where their bytes are, and what is unclean about the archive itself.

zipfile reads the directory. Its members are then read by `source`, so that big ones stream. Everything an installer and an
index could see differently (duplicates, two directories, local headers that disagree) is a packaging problem.
"""

from __future__ import annotations

import os
import stat
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from stackbuild.inspect.facts import Problem, Trouble
from stackbuild.inspect.limits import ARCHIVE, ARCHIVE_FREE, ARCHIVE_RATIO, MEMBERS, TABLE
from stackbuild.inspect.readers.pull import Broken, TooMuch
from stackbuild.inspect.readers.source import Deflated, Entry, FileRange, Source

_END = b"PK\x05\x06"
_ZIPFILE_RAISES = (
    zipfile.BadZipFile, NotImplementedError, EOFError, struct.error, ValueError, OverflowError, UnicodeDecodeError,
    MemoryError, OSError, zlib.error, IndexError,
)  # fmt: skip


def entries(fd: int, name: str) -> tuple[list[Entry], list[Problem]]:
    """The members of the archive open at `fd`, and its packaging problems. Raises Broken where there is no archive."""
    whole = FileRange(fd, name, 0, os.fstat(fd).st_size)
    end_problems = _end_records(whole)
    infos = _directory(fd, name)
    problems = [*end_problems, *_names(infos), *_overlaps(infos, whole.size)]
    made = []
    for info in infos:
        source, trouble = _open(info, whole)
        problems += [Problem(info.filename[:200], Trouble.MALFORMED, text) for text in trouble]
        made.append(Entry(info.filename, info.file_size, info.compress_size, info.CRC, source))
    return made, problems


def _directory(fd: int, name: str) -> list[zipfile.ZipInfo]:
    try:
        with os.fdopen(os.dup(fd), "rb") as file, zipfile.ZipFile(file) as archive:
            infos = archive.infolist()
    except _ZIPFILE_RAISES as error:
        raise Broken(f"not a readable zip archive: {type(error).__name__} {str(error)[:120]}") from None
    if len(infos) > MEMBERS:
        raise TooMuch(f"{len(infos)} members; at most {MEMBERS} are read")
    total = sum(info.file_size for info in infos)
    ceiling = min(ARCHIVE, max(ARCHIVE_FREE, ARCHIVE_RATIO * os.fstat(fd).st_size))
    if total > ceiling:
        raise TooMuch(f"{total} bytes uncompressed; at most {ceiling} are believed of this archive")
    return infos


def _end_records(whole: FileRange) -> list[Problem]:
    """Installers take the last end record; a second one, or data after it, lets tools disagree about the content."""
    start = max(0, whole.size - 22 - 65_535)
    tail = whole.read(start, whole.size - start)
    at = tail.rfind(_END)
    if at < 0 or at + 22 > len(tail):
        raise Broken("not a zip archive: it has no end record (is the file cut short?)")
    count, size, offset, comment = struct.unpack_from("<HIIH", tail, at + 10)
    if size > TABLE:
        raise TooMuch(f"an archive directory of {size} bytes; at most {TABLE} are read")
    found = []
    if start + at + 22 + comment != whole.size:
        found.append("bytes follow the end of the archive")
    if _other_ends(tail, at):
        found.append("the archive has more than one end record")
    if offset != 0xFFFFFFFF and offset + size != start + at and count != 0xFFFF:
        found.append("bytes stand before the archive or inside its directory")
    return [Problem(whole.path, Trouble.MALFORMED, text) for text in found]


def _other_ends(tail: bytes, last: int) -> bool:
    """Whether an earlier end record reaches the end of the file as well (one inside a stored archive does not)."""
    at = tail.find(_END, 0, last)
    while at >= 0:
        if at + 22 + int.from_bytes(tail[at + 20 : at + 22], "little") == len(tail):
            return True
        at = tail.find(_END, at + 1, last)
    return False


def _names(infos: list[zipfile.ZipInfo]) -> Iterator[Problem]:
    for path, times in Counter(info.filename for info in infos).items():
        for text in _unclean(path, times):
            yield Problem(path[:200], Trouble.MALFORMED, text)
    for info in infos:
        if info.orig_filename != info.filename:
            yield Problem(info.filename[:200], Trouble.MALFORMED, "the name holds a NUL or a backslash")
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            yield Problem(info.filename[:200], Trouble.MALFORMED, "a link or device, which wheels do not carry")


def _unclean(path: str, times: int) -> Iterator[str]:
    if times > 1:
        yield f"{times} members have this name"
    if path.startswith("/") or (len(path) > 1 and path[1] == ":"):
        yield "the name is an absolute path"
    if ".." in path.replace("\\", "/").split("/"):
        yield "the name leads out of the archive (..)"
    if any(ord(c) < 32 for c in path):
        yield "the name holds control characters"


def _overlaps(infos: list[zipfile.ZipInfo], size: int) -> Iterator[Problem]:
    """Members that share bytes: a small archive then unpacks to any size."""
    ordered = sorted(infos, key=lambda info: info.header_offset)
    for one, two in pairwise(ordered):
        if one.header_offset + 30 + one.compress_size > two.header_offset:
            yield Problem(two.filename[:200], Trouble.MALFORMED, f"shares its bytes with {one.filename[:80]}")
    for info in ordered:
        if info.header_offset + 30 + info.compress_size > size:
            yield Problem(info.filename[:200], Trouble.MALFORMED, "ends beyond the archive")


def _open(info: zipfile.ZipInfo, whole: FileRange) -> tuple[Source | None, list[str]]:
    """The member's bytes, and how its local header disagrees with the directory."""
    local = whole.read(info.header_offset, 30)
    if len(local) < 30 or local[:4] != b"PK\x03\x04":
        return None, ["the directory points to no member"]
    flags, method, _, _, crc, packed, size, name_size, extra = struct.unpack_from("<HHHHIIIHH", local, 6)
    name = whole.read(info.header_offset + 30, name_size)
    trouble = []
    if name != info.orig_filename.encode("utf-8" if flags & 0x800 else "cp437", "replace"):
        trouble.append("the local header has another name than the directory")
    if method != info.compress_type:
        trouble.append("the local header has another compression method than the directory")
    if (
        not flags & 8
        and 0xFFFFFFFF not in (packed, size)
        and (crc, packed, size) != (info.CRC, info.compress_size, info.file_size)
    ):
        trouble.append("the local header has another size or CRC than the directory")
    if flags & 1:
        return None, [*trouble, "the member is encrypted"]
    start = info.header_offset + 30 + name_size + extra
    span = FileRange(whole._fd, info.filename, start, max(0, min(info.compress_size, whole.size - start)))
    if info.compress_type == zipfile.ZIP_STORED:
        return (span, trouble) if info.compress_size == info.file_size else (None, [*trouble, "stored with two sizes"])
    if info.compress_type == zipfile.ZIP_DEFLATED:
        return Deflated(span, info.file_size), trouble
    return None, [*trouble, f"compression method {info.compress_type}, which installers do not all read"]
