"""Wheels whose device code is wrong on purpose: one defect each, in the code object for gfx1100.

A defect is a function of a code object's bytes. Instructions are found by kernel and name with the emulator's decoder; words
are written as AMD's RDNA3 ISA guide encodes them (chapter "Microcode formats").
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from stackbuild.emulator.code_object import KernelImage, load
from stackbuild.emulator.encodings import family, family_name
from support.instruction_trial import decode_all

MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
TARGET = "gfx1100"
LEAKY, GROUP = "leaky_relu_vectorsIfLi", "group_norm_heldIfLi1ELi1"
S_NOP = 0xBF800000
CodeChange = Callable[[bytes], bytes]


@dataclass(frozen=True)
class WrongCode:
    """One defect: what is wrong, the operator that shows it, and the change of the code object (or of the bundle)."""

    name: str
    operator: str
    change: CodeChange
    of_bundle: bool = False
    needs_sanitizer: bool = False
    target: str = TARGET
    says: str = ""
    """What a finding names, "" where any finding will do."""


def in_wheel(defect: WrongCode) -> CodeChange:
    """The change of the HIP library: every bundle that has the operator's kernels gets the defect."""
    kernel = LEAKY if defect.operator == "LeakyRelu" else GROUP

    def change(library: bytes) -> bytes:
        whole, found = bytearray(library), 0
        for at, bundle in _bundles(library):
            if kernel.encode() in bundle:
                whole[at : at + len(bundle)] = (
                    defect.change(bundle) if defect.of_bundle else _entry(bundle, defect.change, defect.target)
                )
                found += 1
        if not found:
            raise LookupError(f"no bundle has {kernel}")
        return bytes(whole)

    return change


def _bundles(library: bytes) -> Iterator[tuple[int, bytes]]:
    at = library.find(MAGIC)
    while at >= 0:
        yield at, library[at : at + max(offset + size for _, offset, size, _ in _rows(library[at:]))]
        at = library.find(MAGIC, at + 1)


def _rows(bundle: bytes) -> Iterator[tuple[int, int, int, str]]:
    """(place of the row, offset, size, ID) of each entry."""
    at = 32
    for _ in range(struct.unpack_from("<Q", bundle, 24)[0]):
        offset, size, length = struct.unpack_from("<QQQ", bundle, at)
        yield at, offset, size, bundle[at + 24 : at + 24 + length].decode()
        at += 24 + length


def _row(bundle: bytes, target: str) -> tuple[int, int, int]:
    return next((place, offset, size) for place, offset, size, name in _rows(bundle) if name.endswith(f"-{target}"))


def _entry(bundle: bytes, change: CodeChange, target: str) -> bytes:
    _, offset, size = _row(bundle, target)
    code = change(bundle[offset : offset + size])
    assert len(code) == size
    return bundle[:offset] + code + bundle[offset + size :]


def _kernel(code: bytes, part: str) -> KernelImage:
    return next(kernel for kernel in load(code).kernels if part in kernel.name)


def _file_offset(code: bytes, address: int) -> int:
    """Where an address of the loaded image lies in the file."""
    table, count = struct.unpack_from("<Q", code, 32)[0], struct.unpack_from("<H", code, 56)[0]
    for number in range(count):
        kind, _, offset, start, _, size = struct.unpack_from("<IIQQQQ", code, table + 56 * number)
        if kind == 1 and start <= address < start + size:
            return int(offset + address - start)
    raise LookupError(f"{address:#x} is not in the file")


def _words(code: bytes, part: str, name: str) -> list[int]:
    """File offsets of the instructions of that name, in every kernel whose name has `part`."""
    loaded, tables = load(code), family(family_name(TARGET))
    return [
        _file_offset(code, inst.offset)
        for kernel in loaded.kernels
        if part in kernel.name
        for inst in decode_all(loaded.image, tables, kernel.descriptor.entry, kernel.code_end)
        if inst.name == name
    ]


def edited(part: str, name: str, edit: Callable[[int], int], *, which: slice = slice(None), word: int = 0) -> CodeChange:
    """A change of one 32-bit word of the instructions of that name."""

    def change(code: bytes) -> bytes:
        places = _words(code, part, name)[which]
        assert places, f"{part} has no {name}"
        data = bytearray(code)
        for at in places:
            (old,) = struct.unpack_from("<I", data, at + 4 * word)
            struct.pack_into("<I", data, at + 4 * word, edit(old) & 0xFFFFFFFF)
        return bytes(data)

    return change


def descriptor(part: str, at: int, form: str, edit: Callable[[int], int]) -> CodeChange:
    """A change of one field of the kernels' descriptors (LLVM's AMDGPUUsage, "Kernel Descriptor")."""

    def change(code: bytes) -> bytes:
        data, loaded = bytearray(code), load(code)
        for kernel in loaded.kernels:
            if part in kernel.name:
                place = _file_offset(code, loaded.symbols[kernel.symbol][0]) + at
                (old,) = struct.unpack_from(form, data, place)
                struct.pack_into(form, data, place, edit(old))
        return bytes(data)

    return change


def _flags(mach: int) -> CodeChange:
    def change(code: bytes) -> bytes:
        (old,) = struct.unpack_from("<I", code, 48)
        return code[:48] + struct.pack("<I", old & ~0xFF | mach) + code[52:]

    return change


def _renamed(old: bytes, new: bytes) -> CodeChange:
    assert len(old) == len(new)
    return lambda data: data.replace(old, new)


def _swapped(other: str, *changes: CodeChange) -> CodeChange:
    """Another target's code under the name of ours, cut or filled to the same size, with more changes of it."""

    def change(bundle: bytes) -> bytes:
        place, _, _ = _row(bundle, TARGET)
        _, offset, size = _row(bundle, other)
        code = bundle[offset : offset + size]
        for each in changes:
            code = each(code)
        bundle = bundle[:offset] + code + bundle[offset + size :]
        return bundle[:place] + struct.pack("<QQ", offset, size) + bundle[place + 16 :]

    return change


def _cut(bundle: bytes) -> bytes:
    place, offset, size = _row(bundle, TARGET)
    return bundle[:place] + struct.pack("<QQ", offset, size // 3) + bundle[place + 16 :]


def _zeroed(code: bytes) -> bytes:
    """The machine code of every kernel is zeros."""
    data, loaded = bytearray(code), load(code)
    for kernel in loaded.kernels:
        start = _file_offset(code, kernel.descriptor.entry)
        data[start : start + kernel.code_end - kernel.descriptor.entry] = bytes(
            kernel.code_end - kernel.descriptor.entry
        )
    return bytes(data)


def _nop(_: int) -> int:
    return S_NOP


LEAKY_RELU, GROUP_NORM = "LeakyRelu", "GroupNormalization"
DEFECTS = (
    WrongCode("gfx1030's code under the name gfx1100", LEAKY_RELU, _swapped("gfx1030"), of_bundle=True),
    WrongCode("gfx1030's code, its ELF header says gfx1100", LEAKY_RELU, _swapped("gfx1030", _flags(0x41)), of_bundle=True),
    WrongCode("gfx1030's code that says gfx1100 everywhere", LEAKY_RELU,
              _swapped("gfx1030", _flags(0x41), _renamed(b"amdhsa--gfx1030", b"amdhsa--gfx1100")), of_bundle=True),
    WrongCode("gfx942's code, its ELF header says gfx1100", LEAKY_RELU, _swapped("gfx942", _flags(0x41)), of_bundle=True),
    WrongCode("the code object says gfx1102", LEAKY_RELU, _flags(0x47)),
    WrongCode("no entry for gfx1100", LEAKY_RELU, _renamed(b"-gfx1100", b"-gfx1102"), of_bundle=True),
    WrongCode("the code object is cut short", LEAKY_RELU, _cut, of_bundle=True),
    WrongCode("the machine code is zeros", LEAKY_RELU, _zeroed),
    WrongCode("the descriptor says wave64 for wave32 code", LEAKY_RELU, descriptor(LEAKY, 56, "<H", lambda v: v & ~(1 << 10))),
    WrongCode("the descriptor gives no kernarg pointer", LEAKY_RELU, descriptor(LEAKY, 56, "<H", lambda v: v & ~(1 << 3))),
    WrongCode("the descriptor gives no workgroup id", LEAKY_RELU, descriptor(LEAKY, 52, "<I", lambda v: v & ~(1 << 7))),
    WrongCode("the descriptor has one scalar register less", LEAKY_RELU,
              descriptor(LEAKY, 52, "<I", lambda v: v & ~(31 << 1) | (((v >> 1 & 31) - 1) << 1))),
    WrongCode("the entry lies one instruction too far", LEAKY_RELU, descriptor(LEAKY, 16, "<q", lambda v: v + 12)),
    WrongCode("a product has become a sum", LEAKY_RELU, edited(LEAKY, "v_mul_f32", lambda w: w & ~(0x3F << 25) | 3 << 25)),
    WrongCode("a comparison is the other way round", LEAKY_RELU, edited(LEAKY, "v_cmp_gt_f32", lambda w: w ^ 5 << 17)),
    WrongCode("a selection takes the wrong operand", LEAKY_RELU, edited(LEAKY, "v_cndmask_b32", lambda w: w ^ 1)),
    WrongCode("a kernel argument is read beside its place", LEAKY_RELU, edited(LEAKY, "s_load_b128", lambda w: w + 8, word=1)),
    WrongCode("the slope is read beside its place", LEAKY_RELU, edited(LEAKY, "s_load_b32", lambda w: w + 4, word=1)),
    WrongCode("a load reads four bytes beside its place", LEAKY_RELU, edited(LEAKY, "global_load_b128", lambda w: w + 4)),
    WrongCode("a load reads beyond the tensor", LEAKY_RELU, edited(LEAKY, "global_load_b128", lambda w: w + 2048)),
    WrongCode("a store of 16 bytes writes 8", LEAKY_RELU, edited(LEAKY, "global_store_b128", lambda w: w - (2 << 18))),
    WrongCode("a store is missing", LEAKY_RELU, edited(LEAKY, "global_store_b32", _nop)),
    WrongCode("the bounds are not looked at", LEAKY_RELU, edited(LEAKY, "s_and_saveexec_b32", lambda w: w & ~0xFF00 | 0x22 << 8)),
    WrongCode("a branch is taken when it should not be", LEAKY_RELU, edited(LEAKY, "s_cbranch_execz", lambda w: w ^ 3 << 16)),
    WrongCode("a kernel has no end", LEAKY_RELU, edited(LEAKY, "s_endpgm", _nop)),
    WrongCode("an instruction that does not exist", LEAKY_RELU, edited(LEAKY, "v_mul_f32", lambda w: 0xFFFFFFFF)),
    WrongCode("a symbol of a kernel has another name", LEAKY_RELU, _renamed(LEAKY.encode(), b"leaky_relu_vektorsIfLi")),
    WrongCode("the descriptor has too few vector registers", GROUP_NORM, descriptor(GROUP, 48, "<I", lambda v: v & ~63),
              says="GRANULATED_WORKITEM_VGPR_COUNT = 0"),
    WrongCode("gfx942's descriptor has too few vector registers", GROUP_NORM, descriptor(GROUP, 48, "<I", lambda v: v & ~63),
              target="gfx942", says="GRANULATED_WORKITEM_VGPR_COUNT = 0"),
    WrongCode("gfx942's accumulation registers begin too early", GROUP_NORM, descriptor(GROUP, 44, "<I", lambda v: v & ~63),
              target="gfx942", says="ACCUM_OFFSET = 0"),
    WrongCode("gfx942's descriptor has too few scalar registers", GROUP_NORM, descriptor(GROUP, 48, "<I", lambda v: v & ~(15 << 6)),
              target="gfx942", says="GRANULATED_WAVEFRONT_SGPR_COUNT = 0"),
    WrongCode("the descriptor has more LDS than the metadata", GROUP_NORM, descriptor(GROUP, 0, "<I", lambda v: v + 4096)),
    WrongCode("a barrier is missing", GROUP_NORM, edited(GROUP, "s_barrier", _nop), needs_sanitizer=True),
    WrongCode("a wait for a load is missing", LEAKY_RELU, edited(LEAKY, "s_waitcnt", _nop), needs_sanitizer=True),
    WrongCode("the lanes of a permutation are others", GROUP_NORM, edited(GROUP, "ds_bpermute_b32", lambda w: w + 4)),
)  # fmt: skip
