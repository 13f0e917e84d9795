"""Kernel descriptors: what each kind of damage is called, and that whole code objects are read in any chunks."""

from __future__ import annotations

import struct

import pytest

from stackbuild.inspection.facts import CodeObject
from stackbuild.inspection.readers.budget import ReadBudget
from stackbuild.inspection.readers.byte_parser import Feed, MalformedError, read_all
from stackbuild.inspection.readers.codeobject import code_object as read_code_object
from support.binaries import code_object, kernel

KERNELS = [kernel("a", **{".group_segment_fixed_size": 512}), kernel("b", **{".private_segment_fixed_size": 16})]
WHOLE = code_object("gfx90a", KERNELS)
TEXT = struct.unpack_from("<QQ", WHOLE, 64 + 2 * 56 + 8)[0]
DESCRIPTORS = TEXT - 2 * 64


def read(data: bytes) -> CodeObject:
    return read_all(read_code_object(0, len(data), "gfx90a", ReadBudget()), lambda at, size: data[at : at + size])


def but(at: int, value: int) -> bytes:
    made = bytearray(WHOLE)
    struct.pack_into("<I", made, at, value)
    return bytes(made)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (WHOLE[:TEXT], "was cut short: a segment to load ends at"),
        (WHOLE[:-1], "was cut short: its dynamic section ends at"),
        (WHOLE[:TEXT] + bytes(256) + WHOLE[TEXT + 256 :], "has zeros in place of machine code"),
        (but(DESCRIPTORS, 700), "kernel a.kd: its metadata says 512 bytes of LDS and 0 of scratch, its descriptor 700 and 0"),
        (but(DESCRIPTORS + 64 + 4, 8), "kernel b.kd: its metadata says 0 bytes of LDS and 16 of scratch"),
        (but(DESCRIPTORS + 16, 1 << 30), "the code of kernel a.kd is outside of code object gfx90a"),
        (WHOLE.replace(b"b.kd\0", b"c.kd\0"), "has no descriptor for its kernel b.kd"),
        (but(len(WHOLE) - 3 * 16, 99), "has kernels, but no dynamic symbols that lead to them"),
    ],
)
def test_damage_is_named(data: bytes, why: str) -> None:
    with pytest.raises(MalformedError) as raised:
        read(data)
    assert why in str(raised.value)


def test_metadata_may_have_numbers_as_keys_as_tensile_has_in_its_custom_config() -> None:
    config = {"AssertSizeMultiple": {3: 32}, "DepthU": 16}
    [found] = read(code_object("gfx90a", [kernel("a", **{"custom.config": config})])).kernels
    assert found.name == "a"


@pytest.mark.parametrize("lds", [0, 1, 500])
def test_a_descriptor_may_leave_lds_out_or_have_it_in_the_same_block(lds: int) -> None:
    assert [kernel.lds for kernel in read(but(DESCRIPTORS, lds)).kernels] == [512, 0]


@pytest.mark.parametrize("symbol", [[1], {"a": 1}, 7, True])
def test_a_symbol_that_is_no_text_has_no_descriptor(symbol: object) -> None:
    with pytest.raises(MalformedError, match="has no descriptor for its kernel"):
        read(code_object("gfx90a", [kernel("a", **{".symbol": symbol})]))


def test_a_code_object_without_a_hash_table_is_read() -> None:
    assert [k.name for k in read(but(len(WHOLE) - 2 * 16, 0x6FFF0000)).kernels] == ["a", "b"]


@pytest.mark.parametrize("step", [1, 63, 4096])
def test_streams_are_read_forwards_alone(step: int) -> None:
    feed = Feed(read_code_object(0, len(WHOLE), "gfx90a", ReadBudget()))
    for at in range(0, len(WHOLE), step):
        if not feed.is_complete:
            feed.push(at, WHOLE[at : at + step])
    feed.finish(len(WHOLE))
    assert feed.result == read(WHOLE)
