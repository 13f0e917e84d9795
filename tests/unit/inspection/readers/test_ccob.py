"""Compressed bundles of code objects."""

from __future__ import annotations

import struct

import pytest

from stackbuild.inspection.readers.byte_parser import MalformedError
from stackbuild.inspection.readers.ccob import header
from support.binaries import ccob, section
from support.inspected_files import ONE, walk


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("method", [0, 1])
def test_every_compressed_form(version: int, method: int):
    packed = ccob(ONE, version, method)
    found, stopped = walk(section([packed, packed, packed]))
    assert not stopped and len(found) == 3
    for made in found:
        assert (made.format, made.compression, made.hash_ok) == (version, ("zlib", "zstd")[method], True)
        assert made.size == len(packed) and made.inflated == len(ONE)
        assert [(o.target, len(o.kernels)) for o in made.objects] == [("gfx90a", 3), ("gfx1100", 1)]


def test_unknown_ccob_versions_are_named():
    with pytest.raises(MalformedError, match="version 9"):
        header(b"CCOB" + struct.pack("<HH", 9, 1) + bytes(40))
    with pytest.raises(MalformedError, match="method 5"):
        header(b"CCOB" + struct.pack("<HH", 3, 5) + bytes(40))
