"""The end of a zip archive and its directory, read strictly: whatever installers could read differently is reported.

Layouts from PKWARE's APPNOTE 6.3: end record (22 bytes), before it the Zip64 locator (20) and record (56), before those the
directory (46 bytes and name, extra fields, comment for each member). A reader may trust the counts or walk the directory. It
may or may not read Zip64, and may search for the start or trust the offset. All of them must arrive at the same members.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import NamedTuple

from stackbuild.core.file_kinds import HEAD, ZIP, kind_of
from stackbuild.inspection.limits import MEMBERS, TABLE
from stackbuild.inspection.readers.byte_parser import LimitError, MalformedError
from stackbuild.inspection.readers.source import FileRange

_END, _END64, _LOCATOR, _ROW = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07", b"PK\x01\x02"
_UNICODE_PATH = 0x7075
_MASKS = (0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF)


class DirectoryRow(NamedTuple):
    """What the directory says of one member, undecoded: general-purpose flags, and the bytes of its name."""

    flags: int
    name: bytes


@dataclass
class Directory:
    """Where the directory starts, its rows, and what is unclean about the archive's end."""

    start: int = 0
    rows: list[DirectoryRow] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def directory(archive: FileRange) -> Directory:
    """Read the end of an archive. Raises MalformedError where there is none, LimitError where it is beyond the bounds."""
    table = Directory()
    at, comment, claims = _end(archive, table.wrong)
    count, size, offset = _wide(archive, at, claims, table.wrong)
    end = at if claims == (count, size, offset) and not _locator(archive, at) else at - 20 - 56
    if size > TABLE:
        raise LimitError(f"an archive directory of {size} bytes; at most {TABLE} are read")
    if at + 22 + comment != archive.size:
        table.wrong.append("bytes follow the end of the archive")
    if offset + size != end:
        table.wrong.append("bytes stand before the archive or between its directory and its end")
    table.start = end - size
    if table.start < 0:
        raise MalformedError("its directory would start before the file")
    table.rows = _rows(archive.read(table.start, size), table.wrong)
    if len(table.rows) != count:
        table.wrong.append(f"the end record counts {count} members, the directory has {len(table.rows)}")
    return table


def other_name(extra: bytes, name: bytes) -> bool:
    """Whether extra fields hold another name for the member (Info-ZIP's Unicode path), which some tools unpack it under."""
    at = 0
    while at + 4 <= len(extra):
        kind, size = struct.unpack_from("<HH", extra, at)
        if kind == _UNICODE_PATH and extra[at + 9 : at + 4 + size] != name:
            return True
        at += 4 + size
    return False


def _no_archive(head: bytes) -> str:
    """What a file without an end record is, and what to do."""
    if head.startswith(ZIP):
        return "a zip archive without an end record: it is cut short; download or build it again"
    kind, step = kind_of(head)
    return (
        f"not a zip archive but {kind}; {step}"
        if kind
        else "not a zip archive: it has no end record (is the file cut short?)"
    )


def _end(archive: FileRange, wrong: list[str]) -> tuple[int, int, tuple[int, int, int]]:
    """Offset of the last end record, bytes of its comment, and (members, directory bytes, directory offset) as it says."""
    start = max(0, archive.size - 22 - 65_535)
    tail = archive.read(start, archive.size - start)
    at = tail.rfind(_END)
    if at < 0 or at + 22 > len(tail):
        raise MalformedError(_no_archive(archive.read(0, min(archive.size, HEAD))))
    disk, first, here, count, size, offset, comment = struct.unpack_from("<HHHHIIH", tail, at + 4)
    if disk or first or here != count:
        wrong.append("the end record speaks of several disks")
    if _other_ends(tail, at):
        wrong.append("the archive has more than one end record")
    return start + at, comment, (count, size, offset)


def _other_ends(tail: bytes, last: int) -> bool:
    """Whether an earlier end record reaches the end of the file as well (one inside a stored archive does not)."""
    at = tail.find(_END, 0, last)
    while at >= 0:
        if at + 22 + int.from_bytes(tail[at + 20 : at + 22], "little") == len(tail):
            return True
        at = tail.find(_END, at + 1, last)
    return False


def _locator(archive: FileRange, end: int) -> bytes:
    locator = archive.read(end - 20, 20) if end >= 20 else b""
    return locator if locator[:4] == _LOCATOR else b""


def _wide(archive: FileRange, end: int, counts: tuple[int, int, int], wrong: list[str]) -> tuple[int, int, int]:
    """The end record's numbers as the Zip64 record has them, which must be the same where both say one."""
    locator = _locator(archive, end)
    if not locator:
        return counts
    at = int.from_bytes(locator[8:16], "little")
    record = archive.read(at, 56)
    if len(record) < 56 or record[:4] != _END64:
        raise MalformedError("the Zip64 locator points to no Zip64 end record")
    if at + 56 != end - 20 or int.from_bytes(record[4:12], "little") != 44:
        wrong.append("the Zip64 end record is not where tools look for it")
    here, count, size, offset = struct.unpack_from("<QQQQ", record, 24)
    wide = (count, size, offset)
    if here != count or any(s not in (w, m) for s, w, m in zip(counts, wide, _MASKS, strict=True)):
        wrong.append("the end record and its Zip64 record disagree")
    return wide


def _rows(data: bytes, wrong: list[str]) -> list[DirectoryRow]:
    rows: list[DirectoryRow] = []
    at = 0
    while at + 46 <= len(data) and data[at : at + 4] == _ROW:
        if len(rows) == MEMBERS:
            raise LimitError(f"more than {MEMBERS} members")
        (flags,) = struct.unpack_from("<H", data, at + 8)
        name, extra, comment = struct.unpack_from("<HHH", data, at + 28)
        rows.append(DirectoryRow(flags, data[at + 46 : at + 46 + name]))
        if other_name(data[at + 46 + name : at + 46 + name + extra], rows[-1].name):
            wrong.append(f"an extra field gives {rows[-1].name.decode('utf-8', 'replace')[:80]} another name")
        at += 46 + name + extra + comment
    if at != len(data):
        wrong.append(f"{len(data) - at} bytes of the directory are not members")
    return rows
