"""Directories of ZIP files: what can be read in two ways, and what needs ZIP64."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest

from support.binaries import zipped
from support.inspected_files import WHEEL, added, looked_at_wheel, written

INIT = "onnxruntime_ep_forge/__init__.py"


END = WHEEL.rfind(b"PK\x05\x06")


COUNT, SIZE, START = struct.unpack_from("<HII", WHEEL, END + 10)


def local(name: bytes, data: bytes) -> bytes:
    head = struct.pack(
        "<4sHHHHHIIIHH", b"PK\x03\x04", 20, 0, 0, 0, 0x21, zlib.crc32(data), len(data), len(data), len(name), 0
    )
    return head + name + data


def ended(count: int, size: int, start: int) -> bytes:
    return struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, count, count, size, start, 0)


def shifted(by: int) -> bytes:
    """The directory, of members that all lie that much further on."""
    rows, at = bytearray(WHEEL[START:END]), 0
    while at < len(rows):
        name, extra, comment = struct.unpack_from("<HHH", rows, at + 28)
        struct.pack_into("<I", rows, at + 42, struct.unpack_from("<I", rows, at + 42)[0] + by)
        at += 46 + name + extra + comment
    return bytes(rows)


def hidden() -> bytes:
    """A member that only those see who read from the front (CVE-2025-54368)."""
    more = local(b"zz/evil.py", b"import os")
    return WHEEL[:START] + more + WHEEL[START:END] + ended(COUNT, SIZE, START + len(more))


def hidden_first() -> bytes:
    more = local(INIT.encode(), b"EVIL = 1")
    return more + WHEEL[:START] + shifted(len(more)) + ended(COUNT, SIZE, START + len(more))


def counted(count: int) -> bytes:
    return WHEEL[:END] + ended(count, SIZE, START)


def two_directories() -> bytes:
    """The end record names one directory, the Zip64 record another: pip installs what unzip does not show."""
    rows = shifted(0).replace(INIT.encode(), b"onnxruntime_ep_forge/__evil__.py")
    where = END
    record = struct.pack("<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, COUNT, COUNT, len(rows), where)
    locator = struct.pack("<4sIQI", b"PK\x06\x07", 0, where + len(rows), 1)
    return WHEEL[:END] + rows + record + locator + ended(0xFFFF, SIZE, START)


def named_otherwise() -> bytes:
    name, other = b"zz/a.py", b"zz/b.py"
    info = zipfile.ZipInfo(name.decode())
    info.extra = struct.pack("<HHBI", 0x7075, 5 + len(other), 1, zlib.crc32(name)) + other
    return added(lambda archive: archive.writestr(info, "x"))


def beside(path: str) -> Callable[[], bytes]:
    return lambda: added(lambda archive: archive.writestr(path, "EVIL = 1"))


UNCLEAN: dict[str, tuple[Callable[[], bytes], str]] = {
    "a member in no directory": (hidden, "belong to no member"),
    "a member before the first": (hidden_first, "belong to no member"),
    "a count too low": (lambda: counted(1), f"counts 1 members, the directory has {COUNT}"),
    "a count that promises Zip64": (lambda: counted(0xFFFF), "counts 65535 members"),
    "bytes before, with that count": (lambda: b"MZ" * 50 + counted(0xFFFF), "stand before the archive"),
    "two directories": (two_directories, "Zip64 record disagree"),
    "another name in an extra field": (named_otherwise, "another name"),
    "the same file by a dot": (beside(f"./{INIT}"), f"installed over {INIT}"),
    "the same file by an empty part": (beside(INIT.replace("/", "//")), f"installed over {INIT}"),
    "the same file by a dot inside": (beside(INIT.replace("/", "/./")), "a dot for one"),
    "the same file by .data": (beside(f"x-1.data/purelib/{INIT}"), f"installed over {INIT}"),
    "an unknown part of .data": (beside("x-1.data/evil/x.py"), "not part of a .data folder"),
    "a file that is a folder": (beside("onnxruntime_ep_forge"), "is a file, and a folder"),
    "several .dist-info": (beside("zzz-1.0.dist-info/METADATA"), "several .dist-info"),
    "another wheel's .dist-info": (
        lambda: zipped({"other-9.dist-info/METADATA": b"Name: other\nVersion: 9\n", "a.py": b""}),
        "not named for this wheel",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNCLEAN)
def test_what_can_be_read_in_two_ways_is_said(name: str, tmp_path: Path):
    make, said = UNCLEAN[name]
    assert any(said in problem.what for problem in looked_at_wheel(tmp_path, make()).packaging)


def test_an_archive_that_needs_zip64_is_clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 2)
    data = written(BytesIO())
    assert b"PK\x06\x06" in data
    assert looked_at_wheel(tmp_path, data).packaging == ()
