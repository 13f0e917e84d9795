"""Wheels as zip archives: the members, where their bytes are, and what is unclean about the archive itself.

zipfile reads the directory. Its members are then read by `source`, so that big ones stream. Everything an installer and an
index could see differently is a packaging problem: duplicates and names that come to the same path, two directories, bytes
that no member owns, local headers that disagree.
"""

from __future__ import annotations

import os
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from stackbuild.core.install_paths import landings
from stackbuild.inspection.facts import Problem, ProblemKind
from stackbuild.inspection.limits import ARCHIVE, ARCHIVE_FREE, ARCHIVE_RATIO, PROBLEMS
from stackbuild.inspection.readers.budget import ReadBudget
from stackbuild.inspection.readers.byte_parser import LimitError, MalformedError
from stackbuild.inspection.readers.source import ByteSource, DeflatedSource, FileEntry, FileRange
from stackbuild.inspection.readers.zip_directory import Directory, DirectoryRow, directory, other_name

_ZIPFILE_RAISES = (
    zipfile.BadZipFile, NotImplementedError, EOFError, struct.error, ValueError, OverflowError, UnicodeDecodeError,
    MemoryError, OSError, zlib.error, IndexError,
)  # fmt: skip


def entries(fd: int, name: str, budget: ReadBudget) -> tuple[list[FileEntry], list[Problem]]:
    """The members of the archive open at `fd`, and its packaging problems. Raises MalformedError if it is not an archive.

    What shares its bytes with another member has no source: it is not read.
    """
    whole = FileRange(fd, name, 0, os.fstat(fd).st_size)
    ends = directory(whole)
    infos = _directory(fd)
    if len(infos) != len(ends.rows):
        raise MalformedError(f"its directory is read as {len(infos)} members and as {len(ends.rows)}")
    opened_members = [_open(info, row, whole, budget) for info, row in zip(infos, ends.rows, strict=True)]
    shared_extents, apart = _extents(
        [(info, end) for info, (_, end, _) in zip(infos, opened_members, strict=True)], ends
    )
    files = [
        FileEntry(
            info.filename, info.file_size, info.compress_size, info.CRC, None if index in shared_extents else source
        )
        for index, (info, (source, _, _)) in enumerate(zip(infos, opened_members, strict=True))
    ]
    entry_problems = (
        (info.filename, text) for info, (_, _, wrong) in zip(infos, opened_members, strict=True) for text in wrong
    )
    every = [
        ((name, text) for text in ends.wrong),
        _names(infos),
        landings([i.filename for i in infos]),
        apart,
        entry_problems,
    ]
    problems = (Problem(path[:200], ProblemKind.FORMAT, text) for each in every for path, text in each)
    return files, list(islice(problems, PROBLEMS))


def _directory(fd: int) -> list[zipfile.ZipInfo]:
    try:
        with os.fdopen(os.dup(fd), "rb") as file, zipfile.ZipFile(file) as archive:
            infos = archive.infolist()
    except _ZIPFILE_RAISES as error:
        raise MalformedError(f"not a readable zip archive: {type(error).__name__} {str(error)[:120]}") from None
    total = sum(info.file_size for info in infos)
    ceiling = min(ARCHIVE, max(ARCHIVE_FREE, ARCHIVE_RATIO * os.fstat(fd).st_size))
    if total > ceiling:
        raise LimitError(f"{total} bytes uncompressed; at most {ceiling} are believed of this archive")
    return infos


EntryProblem = tuple[str, str]


def _names(infos: list[zipfile.ZipInfo]) -> Iterator[EntryProblem]:
    for path, times in Counter(info.filename for info in infos).items():
        for text in _unclean(path, times):
            yield path, text
    for info in infos:
        if info.orig_filename != info.filename:
            yield info.filename, "the name holds a NUL or a backslash"
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            yield info.filename, "a link or device, which wheels do not carry"


def _unclean(path: str, times: int) -> Iterator[str]:
    if times > 1:
        yield f"{times} members have this name"
    if path.startswith("/") or (len(path) > 1 and path[1] == ":"):
        yield "the name is an absolute path"
    parts = path.replace("\\", "/").removesuffix("/").split("/")
    if ".." in parts:
        yield "the name leads out of the archive (..)"
    if "." in parts or "" in parts[1:]:
        yield "the name has an empty part or a dot for one, which installers leave out"
    if any(unicodedata.category(c) in ("Cc", "Cf") for c in path):
        yield "the name holds control characters, or characters without a shape that change how it reads (U+202E and others)"


def _extents(members: list[tuple[zipfile.ZipInfo, int]], ends: Directory) -> tuple[set[int], list[EntryProblem]]:
    """Which members share bytes (a small archive then unpacks to any size), and the bytes that no member owns.

    `members` are directory entries and where each ends in the file, its descriptor included.
    """
    shared_extents: set[int] = set()
    extents: list[EntryProblem] = []
    reached_end, last = 0, ""
    for index in sorted(range(len(members)), key=lambda index: (members[index][0].header_offset, index)):
        info, end = members[index]
        if info.header_offset < reached_end:
            shared_extents.add(index)
            extents.append((info.filename, f"shares its bytes with {last[:80]}; it is not read"))
        elif info.header_offset > reached_end:
            extents.append((info.filename, f"{info.header_offset - reached_end} bytes before it belong to no member"))
        if end > reached_end:
            reached_end, last = end, info.filename
    if reached_end > ends.start:
        extents.append((last, "ends beyond the members"))
    elif reached_end < ends.start:
        extents.append((last, f"{ends.start - reached_end} bytes after it belong to no member"))
    return shared_extents, extents


def _open(
    info: zipfile.ZipInfo, row: DirectoryRow, archive: FileRange, budget: ReadBudget
) -> tuple[ByteSource | None, int, list[str]]:
    """The member's bytes, where it ends in the file, and how its local header disagrees with the directory."""
    local = archive.read(info.header_offset, 30)
    if len(local) < 30 or local[:4] != b"PK\x03\x04":
        return None, info.header_offset, ["the directory points to no member"]
    flags, method, _, _, crc, packed_size, size, name_size, extra_size = struct.unpack_from("<HHHHIIIHH", local, 6)
    after = archive.read(info.header_offset + 30, name_size + extra_size)
    start = info.header_offset + 30 + name_size + extra_size
    trouble = list(_against(info, row, (flags, method), after[:name_size]))
    if other_name(after[name_size:], after[:name_size]):
        trouble.append("an extra field gives it another name")
    end = start + info.compress_size
    if flags & 8:
        end += _descriptor(info, archive.read(end, 24), trouble)
    elif 0xFFFFFFFF not in (packed_size, size) and (crc, packed_size, size) != (
        info.CRC,
        info.compress_size,
        info.file_size,
    ):
        trouble.append("the local header has another size or CRC than the directory")
    source, close_source = _source(
        info,
        flags,
        FileRange(archive._fd, info.filename, start, max(0, min(info.compress_size, archive.size - start))),
        budget,
    )
    return source, end, trouble + close_source


def _against(info: zipfile.ZipInfo, row: DirectoryRow, local: tuple[int, int], name: bytes) -> Iterator[str]:
    if name != row.name:
        yield "the local header has another name than the directory"
    elif (local[0] ^ row.flags) & 0x800 and not name.isascii():
        yield "the local header spells its name in another character set than the directory"
    if local[1] != info.compress_type:
        yield "the local header has another compression method than the directory"


def _descriptor(info: zipfile.ZipInfo, after: bytes, trouble: list[str]) -> int:
    """Bytes of the data descriptor behind a member: CRC and two sizes of 4 or 8 bytes, with a signature or without."""
    for form in ("<IIII", "<IIQQ", "<III", "<IQQ"):
        size = struct.calcsize(form)
        *signature, crc, packed_size, full = struct.unpack_from(form, after.ljust(24, b"\0"))
        if signature in ([], [0x08074B50]) and (crc, packed_size, full) == (
            info.CRC,
            info.compress_size,
            info.file_size,
        ):
            return size
    trouble.append("its data descriptor has another size or CRC than the directory")
    return 0


def _source(
    info: zipfile.ZipInfo, flags: int, span: FileRange, budget: ReadBudget
) -> tuple[ByteSource | None, list[str]]:
    if (flags | info.flag_bits) & 1:
        return None, ["the member is encrypted"]
    if info.compress_type == zipfile.ZIP_STORED:
        return (span, []) if info.compress_size == info.file_size else (None, ["stored with two sizes"])
    if info.compress_type == zipfile.ZIP_DEFLATED:
        return DeflatedSource(span, info.file_size, budget), []
    return None, [f"compression method {info.compress_type}, which installers do not all read"]
