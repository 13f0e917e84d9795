"""What a member of a zip archive takes to read is bounded by what its header names, not by what is packed in it."""

from __future__ import annotations

import struct
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import pytest

from stackbuild.core.zip_member import open_member, read_member

CLAIMED = b"\0" * 100


def bomb(path: Path, size: int = 32 << 20) -> zipfile.ZipFile:
    """An archive whose one member inflates to many zeros, and says that it has a hundred."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", bytes(size))
    data = bytearray(path.read_bytes())
    for mark, crc in ((b"PK\3\4", 14), (b"PK\1\2", 16)):
        at = data.rindex(mark)
        struct.pack_into("<I", data, at + crc, zlib.crc32(CLAIMED))
        struct.pack_into("<I", data, at + crc + 8, len(CLAIMED))
    path.write_bytes(data)
    return zipfile.ZipFile(path)


def test_a_member_takes_no_more_memory_than_it_names(tmp_path: Path) -> None:
    with bomb(tmp_path / "bomb.zip") as archive:
        tracemalloc.start()
        try:
            assert read_member(archive, archive.getinfo("a"), 1000) == CLAIMED
            assert tracemalloc.get_traced_memory()[1] < 1 << 20
        finally:
            tracemalloc.stop()


def test_more_than_the_limit_is_refused(tmp_path: Path) -> None:
    with bomb(tmp_path / "bomb.zip", 200) as archive, pytest.raises(zipfile.BadZipFile, match="100 bytes, more than 99"):
        read_member(archive, archive.getinfo("a"), 99)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_methods_without_a_bound_are_refused(tmp_path: Path, method: int) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", method) as archive:
        archive.writestr("a", b"x")
    with zipfile.ZipFile(tmp_path / "a.zip") as archive, pytest.raises(zipfile.BadZipFile, match="only deflate is read"):
        open_member(archive, archive.getinfo("a"))
