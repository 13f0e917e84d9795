"""What the emulator reads of a code object: pointers, and the kernels of all its notes, as rocBLAS's have them."""

from __future__ import annotations

import random
import struct

import pytest

from stackbuild.emulator.code_object import CodeObjectError, LoadedObject, load
from support.binaries import msgpack

RELATIVE64, ABS64, REL32 = 13, 3, 4
DYNAMIC, SYMBOLS, NAMES, RELOCATIONS, NOTES = 0x100, 0x180, 0x1C0, 0x1D0, 0x200
HERE = 0x20
"""Where symbol 1 lies; symbol 2 is another object's."""


def elf(*relocations: tuple[int, int, int, int], kernels: tuple[list[str], ...] = ()) -> bytes:
    """A code object for gfx1100 with those pointers (address, symbol's number, kind, addend) and a note for each list."""
    rela = b"".join(struct.pack("<QQq", at, number << 32 | kind, addend) for at, number, kind, addend in relocations)
    notes = b""
    for names in kernels:
        text = msgpack.packb({"amdhsa.kernels": [{".name": name} for name in names]})
        notes += struct.pack("<III", 7, len(text), 32) + b"AMDGPU\0\0" + text + b"\0" * (-len(text) % 4)
    tags = ((6, SYMBOLS), (5, NAMES), (7, RELOCATIONS), (8, len(rela)), (0, 0))
    dynamic = b"".join(struct.pack("<QQ", *tag) for tag in tags)
    symbols = b"".join(
        struct.pack("<IBBHQQ", *row) for row in ((0,) * 6, (1, 0x11, 0, 5, HERE, 8), (3, 0x10, 0, 0, 0, 0))
    )
    body = b"".ljust(DYNAMIC, b"\0") + dynamic
    for at, part in ((SYMBOLS, symbols[:64]), (NAMES, b"\0a\0b\0"), (RELOCATIONS, rela), (NOTES, notes)):
        body = body.ljust(at, b"\0") + part
    body = body[:SYMBOLS] + symbols + body[SYMBOLS + len(symbols) :]
    ident = b"\x7fELF\x02\x01\x01\x40\x03".ljust(16, b"\0")
    head = struct.pack("<16sHHIQQQIHHHHHH", ident, 3, 224, 1, 0, 64, 0, 0x41, 64, 56, 3, 64, 0, 0)
    for kind, at, size in ((1, 0, len(body)), (2, DYNAMIC, len(dynamic)), (4, NOTES, len(notes))):
        place = at + 232  # 64 + 3 × 56 bytes of headers come first
        head += struct.pack("<IIQQQQQQ", kind, 4, place, at, at, size, size, 4)
    return head + body


def test_pointers_are_places_in_the_image() -> None:
    assert load(elf((0x40, 0, RELATIVE64, 0x48))).relocations == ((0x40, 0x48),)
    assert load(elf((0x40, 1, ABS64, 4))).relocations == ((0x40, HERE + 4),)


@pytest.mark.parametrize(
    ("relocation", "words"),
    [
        ((0x40, 1, REL32, 0), "relocation 4"),
        ((0x40, 2, ABS64, 0), "a symbol that it has not"),
        ((0x40, 99, ABS64, 0), "a symbol that it has not"),
    ],
)
def test_a_pointer_that_leads_elsewhere_is_one_error(relocation: tuple[int, int, int, int], words: str) -> None:
    with pytest.raises(CodeObjectError, match=words):
        load(elf(relocation))


def test_the_kernels_of_every_note_are_read() -> None:
    metadata = load(elf(kernels=(["a", "b"], [], ["c"]))).metadata
    assert [kernel[b".name"] for kernel in metadata[b"amdhsa.kernels"]] == [b"a", b"b", b"c"]  # type: ignore[attr-defined]


def test_damaged_files_are_read_or_one_error() -> None:
    """Files cut short, with wrong bytes and with wrong words of eight bytes."""
    draw, whole = random.Random(22), elf((0x40, 1, ABS64, 4), kernels=(["a", "b"],))
    loaded = 0
    for _ in range(2000):
        data = bytearray(whole)
        for _ in range(draw.randrange(1, 4)):
            at = draw.randrange(len(data) - 8)
            data[at : at + 8] = draw.choice(
                (b"\xff" * 8, bytes(8), draw.randbytes(8), data[at : at + 7] + draw.randbytes(1))
            )
        try:
            load(bytes(data[: draw.choice((len(data), draw.randrange(len(data))))]))
            loaded += 1
        except CodeObjectError as error:
            assert error.what
    assert 100 < loaded < 1900


def of_metadata(**changed: object) -> LoadedObject:
    """A loaded object of one kernel whose metadata are changed."""
    entry = {b".name": b"k", b".symbol": b"k.kd", b".wavefront_size": 32, b".args": []}
    entry |= {f".{name}".encode(): value for name, value in changed.items()}
    symbols = {"k.kd": (0, 64), "k": (64, 64)}
    return LoadedObject("gfx1100", 5, bytes(128), symbols, (), {b"amdhsa.kernels": [entry]})


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"name": b"\xff"}, "not a text"),
        ({"name": b"a\tb"}, "not a text"),
        ({"symbol": b"gone.kd"}, "no descriptor gone.kd"),
        ({"wavefront_size": 16}, "waves of 16 lanes"),
        ({"args": [{b".offset": 1 << 20, b".size": 8}]}, "1048584 bytes of arguments"),
        ({"args": [7]}, "not a map"),
    ],
)
def test_metadata_that_no_kernel_has_are_one_error(changed: dict[str, object], words: str) -> None:
    with pytest.raises(CodeObjectError, match=words):
        _ = of_metadata(**changed).kernels


def test_arguments_may_go_beyond_the_descriptors_segment() -> None:
    """Hand-written kernels, such as Tensile's, leave the size of the segment 0."""
    (kernel,) = of_metadata(args=[{b".value_kind": b"by_value", b".offset": 16, b".size": 4}]).kernels
    assert (kernel.descriptor.kernarg_bytes, kernel.kernarg_bytes) == (0, 20)
