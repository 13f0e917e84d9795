"""Byte ranges of files and of archive members."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import pytest

from stackbuild.inspection import inspect
from stackbuild.inspection.readers.byte_parser import MalformedError
from stackbuild.inspection.readers.source import DeflatedSource, ahead
from support.binaries import GOOD, zipped
from support.inspected_files import on_disk


def test_a_deflated_member_is_read_anywhere_after_one_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("stackbuild.inspection.readers.source.CHECKPOINT", 100_000)
    plain = b"".join(n.to_bytes(4, "little") for n in range(300_000))
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    source = DeflatedSource(on_disk(tmp_path / "x", packer.compress(plain) + packer.flush()), len(plain))
    assert b"".join(ahead(source.chunks())) == plain
    for at, size in (
        (0, 10),
        (999_990, 40),
        (500_000, 300_000),
        (len(plain) - 3, 10),
        (len(plain), 5),
        (0, len(plain)),
    ):
        assert source.read(at, size) == plain[at : at + size]
    source.keep(200_000, b"KEPT")
    assert source.read(200_000, 6) == b"KEPT" + plain[200_004:200_006]


def test_a_producer_that_fails_says_so_to_the_reader():
    def broken():
        yield b"a"
        raise MalformedError("no more")

    with pytest.raises(MalformedError, match="no more"):
        list(ahead(broken()))


def test_a_reader_that_stops_leaves_no_thread_behind():
    import threading

    before = threading.active_count()
    stream = ahead(iter([b"x"] * 1000))
    assert next(stream) == b"x"
    stream.close()
    assert threading.active_count() == before


def test_members_that_share_bytes(tmp_path: Path):
    """The overlapped-files bomb: two directory entries point at one member."""
    data = bytearray(zipped({"aa.bin": b"x" * 1000, "ab.bin": b"x" * 1000}))
    first = data.index(b"PK\x01\x02")
    second = data.index(b"PK\x01\x02", first + 4)
    data[second + 42 : second + 46] = data[first + 42 : first + 46]
    path = tmp_path / GOOD.filename
    path.write_bytes(bytes(data))
    assert any("shares its bytes" in p.what for p in inspect(path).packaging)


def test_a_member_is_not_inflated_again_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("stackbuild.inspection.readers.source.CHECKPOINT", 70_000)
    monkeypatch.setattr("stackbuild.inspection.readers.source.AGAIN", 10)
    plain = os.urandom(2_000_000)
    packer = zlib.compressobj(1, zlib.DEFLATED, -15)
    source = DeflatedSource(on_disk(tmp_path / "x", packer.compress(plain) + packer.flush()), len(plain))
    list(source.chunks())
    with pytest.raises(MalformedError, match="scattered"):
        for turn in range(100):
            source.read((turn * 700_001) % 2_000_000, 8)
