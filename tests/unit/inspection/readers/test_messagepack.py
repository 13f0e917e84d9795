"""Metadata in MessagePack, within bounds."""

from __future__ import annotations

import struct
from pathlib import Path

import msgpack
import pytest

from stackbuild.inspection import limits
from stackbuild.inspection.readers import messagepack
from stackbuild.inspection.readers.byte_parser import LimitError


def test_arrays_of_nothing_are_counted_before_they_are_made(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(messagepack, "FEW", 1_000)
    monkeypatch.setattr(messagepack, "VALUES", 5_000)
    nothing = msgpack.packb({"x": [[]] * 10_000})
    with pytest.raises(LimitError, match="values"):
        messagepack.unpack(nothing, "it", 100_000)
    numbers = msgpack.packb({"x": [1] * 10_000})
    assert messagepack.unpack(numbers, "it", 100_000) == {b"x": [1] * 10_000}


def test_a_note_of_millions_of_arrays_is_refused(tmp_path: Path):
    """One megabyte and a half under the real bounds: the count is looked at from one megabyte on."""
    inner = b"\xdc" + struct.pack(">H", 65_535) + b"\x90" * 65_535
    note = b"\x81\xa1x\xdc" + struct.pack(">H", 64) + inner * 64
    assert limits.FEW < len(note) < limits.NOTE
    with pytest.raises(LimitError):
        messagepack.unpack(note, "it", limits.KERNELS)
