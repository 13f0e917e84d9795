"""Kernel descriptors of a code object: what the GPU's packet processor reads to start a kernel.

Each kernel of the metadata names a symbol, `NAME.kd`: 64 bytes with the sizes of its memory and the distance to its
code. A code object whose metadata is whole and whose descriptors or code are not there cannot run.
Layout from LLVM's AMDGPUUsage, "Kernel Descriptor"; the tables are those of the ELF gABI.
"""

from __future__ import annotations

import struct
from operator import itemgetter
from typing import NamedTuple

from stackbuild.inspection.limits import SYMBOLS
from stackbuild.inspection.readers.byte_parser import MalformedError

_HASH, _STRTAB, _SYMTAB, _STRSZ = 4, 5, 6, 10
_OBJECT = 1  # STT_OBJECT
_SIZE = 64
#: Bytes of each stretch of machine code that is looked at, and how many stretches of one segment.
SAMPLE = 256
_SAMPLES = 4

ImageRange = tuple[int, int]


class Image(NamedTuple):
    """A segment's bytes: `data` from `offset` of the code object, loaded at `address`."""

    offset: int
    address: int
    data: bytes

    def part(self, offset: int, length: int) -> bytes | None:
        """The bytes at an offset of the code object; None where they are not all in this segment."""
        start = offset - self.offset
        return self.data[start : start + length] if start >= 0 and start + length <= len(self.data) else None

    def at(self, address: int, length: int) -> bytes | None:
        """The same by address."""
        return self.part(address - self.address + self.offset, length)


NO_IMAGE = Image(0, 0, b"")


def samples(offset: int, length: int) -> list[int]:
    """Where to look at `length` bytes of machine code: stretches from its start on, evenly apart, in file order."""
    step = max(length // _SAMPLES, SAMPLE)
    return [offset + at for at in range(0, max(length - SAMPLE, 0) + 1, step)][:_SAMPLES]


def check(claimed_target: str, entries: object, image: Image, tags: bytes, code: list[ImageRange]) -> None:
    """Compare the kernels of the metadata with the descriptors. `code` are the (address, size) of executable segments.

    Raises MalformedError for a kernel without a descriptor, one whose descriptor has other sizes than the metadata, and
    one whose code is in no executable segment. Of LDS see `is_same_lds`.
    """
    descriptors = _descriptors(claimed_target, image, tags)
    data, load_address, last = image.data, image.address, len(image.data) - _SIZE
    low, high = next(((first, first + size) for first, size in code), (0, 0))
    for entry in entries if isinstance(entries, list) else ():  # called 80,000 times a wheel
        try:
            name, said_lds, said_scratch = _FIGURES(entry)
        except KeyError:  # an older compiler leaves out what is zero
            name = entry.get(b".symbol") or entry.get(b".name", b"") + b".kd"
            said_lds, said_scratch = (entry.get(key, 0) for key in _SIZES)
        address = descriptors.get(name) if type(name) is bytes else None
        if address is None:
            raise MalformedError(f"code object {claimed_target} has no descriptor for its kernel {_name_text(name)}")
        if not 0 <= address - load_address <= last:
            raise MalformedError(
                f"the descriptor of kernel {_name_text(name)} is outside of code object {claimed_target}"
            )
        lds, scratch, distance = _UNPACK(data, address - load_address)
        start = address + distance
        if not low <= start < high and not any(first <= start < first + size for first, size in code):
            raise MalformedError(f"the code of kernel {_name_text(name)} is outside of code object {claimed_target}")
        if scratch != said_scratch or not is_same_lds(lds, said_lds):
            raise MalformedError(
                f"kernel {_name_text(name)}: its metadata says {said_lds} bytes of LDS and {said_scratch} of scratch, its"
                f" descriptor {lds} and {scratch}"
            )


def is_same_lds(descriptor: int, metadata: int) -> bool:
    """Whether a descriptor and the metadata ask for the same LDS: the same number of blocks of 512 bytes, in which it is given.

    HIP dispatches with the metadata's number (clr, devkernel.cpp and rocvirtual.cpp), so a descriptor may leave it out (0).
    Kernels of hipBLASLt's `extop` do, and one for gfx90a has 32 bytes in the descriptor and 16 in the metadata.
    """
    return not descriptor or -(-descriptor // _LDS_BLOCK) == -(-metadata // _LDS_BLOCK)


_LDS_BLOCK = 512
_SIZES = (b".group_segment_fixed_size", b".private_segment_fixed_size")
_FIGURES = itemgetter(b".symbol", *_SIZES)
_UNPACK = struct.Struct("<II8xq").unpack_from


def _descriptors(claimed_target: str, image: Image, tags: bytes) -> dict[bytes, int]:
    """Name → address of every symbol that can be a descriptor. Raises MalformedError where there are no symbols."""
    table = dict(struct.iter_unpack("<QQ", tags[: len(tags) // 16 * 16]))
    symbols = image.at(table.get(_SYMTAB, 0), 24 * _symbol_count(image, table))
    text = image.at(table.get(_STRTAB, 0), table.get(_STRSZ, 0))
    if not symbols or not text:
        raise MalformedError(f"code object {claimed_target} has kernels, but no dynamic symbols that lead to them")
    return {
        text[name : text.find(b"\0", name)]: value
        for name, info, _, section, value, size in struct.iter_unpack("<IBBHQQ", symbols)
        if size == _SIZE and info & 15 == _OBJECT and section
    }


def _symbol_count(image: Image, table: dict[int, int]) -> int:
    """The number of dynamic symbols by the hash table; without one, as many as fit before their names. 0 where neither says."""
    hash_table = image.at(table[_HASH], 8) if _HASH in table else None
    count = struct.unpack("<II", hash_table)[1] if hash_table else (table.get(_STRTAB, 0) - table.get(_SYMTAB, 0)) // 24
    return int(count) if 0 < count <= SYMBOLS else 0


def _name_text(name: object) -> str:
    return name[:80].decode("utf-8", "replace") if isinstance(name, bytes) else repr(name)[:80]
