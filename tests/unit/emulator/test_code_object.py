"""What the emulator reads of a code object: pointers, and the kernels of all its notes, as rocBLAS's have them."""

from __future__ import annotations

import struct

import pytest

from stackbuild.emulator.code_object import CodeObjectError, load
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
    symbols = b"".join(struct.pack("<IBBHQQ", *row) for row in ((0,) * 6, (1, 0x11, 0, 5, HERE, 8), (3, 0x10, 0, 0, 0, 0)))
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
