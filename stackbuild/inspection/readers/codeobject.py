"""AMDGPU code objects: the ELF header, the segments, the kernel metadata note and the kernel descriptors.

Of the machine code a few stretches are read, to see that it is there; it is not decoded.

Layouts are those of LLVM's AMDGPUUsage: e_machine 224, the target in e_flags, the code-object version in EI_ABIVERSION,
and a note named AMDGPU of type 32 whose description is a MessagePack map.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

from stackbuild.inspection.facts import CodeObject, Kernel
from stackbuild.inspection.limits import DYNAMIC_TAGS, KERNELS, NOTE, PROGRAM_HEADERS, READ_ONLY, Cost
from stackbuild.inspection.readers import descriptors
from stackbuild.inspection.readers.budget import ReadBudget
from stackbuild.inspection.readers.byte_parser import LimitError, MalformedError, Pull
from stackbuild.inspection.readers.messagepack import unpack
from stackbuild.tables.targets import of_e_flags

EM_AMDGPU = 224
_OSABI_HSA = 64
_PT_LOAD, _PT_DYNAMIC, _PT_NOTE = 1, 2, 4
_EXECUTABLE = 1
_KINDS = {_PT_LOAD: "a segment to load", _PT_DYNAMIC: "its dynamic section", _PT_NOTE: "its notes"}
_NT_METADATA = 32
_HEAD = 4096
_VERSIONS = {1: 3, 2: 4, 3: 5, 4: 6}  # EI_ABIVERSION → code-object version

_FIELDS = (
    b".name", b".vgpr_count", b".sgpr_count", b".agpr_count", b".vgpr_spill_count", b".sgpr_spill_count", b".group_segment_fixed_size",
    b".private_segment_fixed_size", b".wavefront_size", b".max_flat_workgroup_size", b".kernarg_segment_size",
)  # fmt: skip
_WITH_AGPRS = itemgetter(*_FIELDS)
_WITHOUT_AGPRS = itemgetter(
    *(field for field in _FIELDS if field != b".agpr_count")
)  # gfx9 other than 908, 90a, 94x; RDNA


class _CodeSegment(NamedTuple):
    """One program header: `offset` and `size` in bytes of the code object, `address` as loaded."""

    kind: int
    flags: int
    offset: int
    address: int
    size: int


def code_object(at: int, size: int, claimed_target: str, budget: ReadBudget) -> Pull[CodeObject]:
    """Read the code object of `size` bytes at offset `at`. The `budget` pays for its metadata and shares kernel names.

    Every segment must lie within those bytes. Every kernel of the metadata must have a descriptor, and its code must lie
    in an executable segment. Raises MalformedError.
    """
    head = yield at, min(size, _HEAD)
    phoff, phnum, flags = _checked_header(head, claimed_target, size)
    if phoff + 56 * phnum > len(head):
        table = yield at + phoff, 56 * phnum
    else:
        table = head[phoff : phoff + 56 * phnum]
    if len(table) < 56 * phnum:
        raise MalformedError(f"code object {claimed_target} ends inside its program headers")
    segments = _segments(table)
    _check_extents(claimed_target, segments, size)
    metadata: dict[bytes, object] = {}
    image, tags = descriptors.NO_IMAGE, b""
    for kind, executable, offset, address, length in segments:
        if kind == _PT_NOTE and not metadata:
            _check_length(claimed_target, "notes", length, NOTE)
            notes = image.part(offset, length)
            if notes is None:
                budget.spend(Cost.METADATA, length)
                notes = yield at + offset, length
            metadata = _metadata(notes)
        elif kind == _PT_LOAD and length and not image.data and not executable & _EXECUTABLE:
            _check_length(claimed_target, "its first segment", length, READ_ONLY)
            budget.spend(Cost.METADATA, length)
            image = descriptors.Image(offset, address, (yield at + offset, length))
        elif kind == _PT_LOAD and executable & _EXECUTABLE:
            for sample in descriptors.samples(offset, length):
                if not any((yield at + sample, min(descriptors.SAMPLE, length))):
                    raise MalformedError(
                        f"code object {claimed_target} has zeros in place of machine code at offset {sample}"
                    )
        elif kind == _PT_DYNAMIC:
            tags = yield at + offset, min(length, 16 * DYNAMIC_TAGS)
    version = _VERSIONS[head[8]]
    unsaid_fields: set[str] = set()
    kernels, metadata_version = _kernels(metadata, budget, unsaid_fields)
    if kernels:
        code = [(each.address, each.size) for each in segments if each.kind == _PT_LOAD and each.flags & _EXECUTABLE]
        descriptors.check(claimed_target, metadata[b"amdhsa.kernels"], image, tags, code)
    return CodeObject(
        claimed_target,
        of_e_flags(flags, version),
        version,
        metadata_version,
        size,
        kernels,
        _noted_target(metadata),
        tuple(sorted(unsaid_fields)),
    )


def _checked_header(head: bytes, claimed_target: str, size: int) -> tuple[int, int, int]:
    """(offset of the program headers, their number, e_flags) of an ELF header. Raises MalformedError."""
    if len(head) < 64 or head[:4] != b"\x7fELF":
        raise MalformedError(f"code object {claimed_target or 'file'} is not an ELF")
    if head[4:6] != b"\x02\x01":
        raise MalformedError(f"code object {claimed_target} is not a 64-bit little-endian ELF")
    machine, phoff, shoff, flags, phnum, shsize, shnum = _header(head)
    if machine != EM_AMDGPU:
        raise MalformedError(f"code object {claimed_target} has machine {machine}, not AMDGPU ({EM_AMDGPU})")
    if head[7] != _OSABI_HSA or head[8] not in _VERSIONS:
        raise MalformedError(
            f"code object {claimed_target} has OS ABI {head[7]} version {head[8]}: not an HSA code object V3 to V6"
        )
    if phnum > PROGRAM_HEADERS or phoff + 56 * phnum > size:
        raise MalformedError(
            f"code object {claimed_target} has {phnum} program headers at {phoff}, beyond its {size} bytes"
        )
    if shoff + shsize * shnum > size:
        raise MalformedError(
            f"code object {claimed_target} was cut short: its section headers end at {shoff + shsize * shnum:,}, it has"
            f" {size:,} bytes"
        )
    return phoff, phnum, flags


def _noted_target(metadata: dict[bytes, object]) -> str:
    """The target ID of `amdhsa.target`, `amdgcn-amd-amdhsa--gfx90a:xnack-`; '' where it says none."""
    target = metadata.get(b"amdhsa.target")
    return (
        target.decode("utf-8", "replace")[:120].rsplit("-amdhsa-", 1)[-1].lstrip("-")
        if isinstance(target, bytes)
        else ""
    )


def _header(head: bytes) -> tuple[int, int, int, int, int, int, int]:
    machine, _, _, phoff, shoff, flags, _, _, phnum, shsize, shnum = struct.unpack_from("<HIQQQIHHHHH", head, 18)
    return machine, phoff, shoff, flags, phnum, shsize, shnum


def _segments(table: bytes) -> list[_CodeSegment]:
    """The program headers that have bytes in the file, in file order so that a stream never goes back.

    Of those at one place the one to load comes first, since it holds the others.
    """
    rows = struct.iter_unpack("<IIQQQQQQ", table)
    segments = [
        _CodeSegment(kind, flags, offset, address, size) for kind, flags, offset, address, _, size, _, _ in rows
    ]
    return sorted((each for each in segments if each.size), key=lambda each: (each.offset, each.kind))


def _check_extents(claimed_target: str, segments: list[_CodeSegment], size: int) -> None:
    for each in segments:
        if each.offset + each.size > size:
            what = _KINDS.get(each.kind, "a segment")
            raise MalformedError(
                f"code object {claimed_target} was cut short: {what} ends at {each.offset + each.size:,}, it has {size:,} bytes"
            )


def _check_length(claimed_target: str, what: str, length: int, most: int) -> None:
    if length > most:
        raise LimitError(f"code object {claimed_target}: {what} of {length:,} bytes; at most {most:,} are read")


def _metadata(notes: bytes) -> dict[bytes, object]:
    """The AMDGPU metadata map among the notes, or {}.

    A code object that was linked of many has a note of each, as rocBLAS's have: the first map gets the kernels of all.
    """
    at = 0
    maps: list[dict[bytes, object]] = []
    while at + 12 <= len(notes):
        name_size, desc_size, kind = struct.unpack_from("<III", notes, at)
        desc = at + 12 + (name_size + 3 & ~3)
        if desc + desc_size > len(notes):
            raise MalformedError(f"a note of {desc_size} bytes does not fit the {len(notes)} bytes of notes")
        if kind == _NT_METADATA and notes[at + 12 : at + 12 + name_size].rstrip(b"\0") == b"AMDGPU":
            maps.append(unpack(notes[desc : desc + desc_size], "kernel metadata", KERNELS))
        at = desc + (desc_size + 3 & ~3)
    return merged_metadata(maps)


def merged_metadata(maps: Sequence[dict[bytes, object]]) -> dict[bytes, object]:
    """The first of these metadata maps with the kernels of all; {} of none. Raises MalformedError."""
    if len(maps) < 2:
        return maps[0] if maps else {}
    kernels: list[object] = []
    for each in maps:
        entries = each.get(b"amdhsa.kernels", [])
        if not isinstance(entries, list):
            raise MalformedError("amdhsa.kernels is not a list")
        kernels += entries
    return {**maps[0], b"amdhsa.kernels": kernels}


def _kernels(
    metadata: dict[bytes, object], budget: ReadBudget, unsaid_fields: set[str]
) -> tuple[tuple[Kernel, ...], tuple[int, int]]:
    metadata_version = metadata.get(b"amdhsa.version", [0, 0])
    entries = metadata.get(b"amdhsa.kernels", [])
    if not (
        isinstance(metadata_version, list)
        and len(metadata_version) == 2
        and all(type(v) is int for v in metadata_version)
    ):
        raise MalformedError("amdhsa.version is not a pair of numbers")
    if not isinstance(entries, list):
        raise MalformedError("amdhsa.kernels is not a list")
    budget.spend(Cost.KERNELS, len(entries))
    return tuple(_kernel(k, budget, unsaid_fields) for k in entries), (metadata_version[0], metadata_version[1])


def _kernel(entry: object, budget: ReadBudget, unsaid_fields: set[str]) -> Kernel:
    if not isinstance(entry, dict):
        raise MalformedError("an entry of amdhsa.kernels is not a map")
    try:
        name, *counts = _WITH_AGPRS(entry) if b".agpr_count" in entry else _WITHOUT_AGPRS(entry)
    except KeyError:  # rare: an older compiler, which leaves out what is zero
        name, *counts = (entry.get(field, 0) for field in _FIELDS)
        unsaid_fields.update(field.decode() for field in _FIELDS if field not in entry and field != b".agpr_count")
    if type(name) is not bytes:
        raise MalformedError("a kernel has no name")
    if not _are_counts(counts):
        raise MalformedError(f"kernel {name[:80]!r} has a count that is not a count: {str(counts)[:120]}")
    text = budget.names.get(name)
    if text is None:
        budget.text(2 * len(name))
        text = budget.names[name] = name.decode("utf-8", "replace")
    if len(counts) < len(_FIELDS) - 1:
        counts.insert(2, 0)
    dynamic_stack = entry.get(b".uses_dynamic_stack") is True  # absent before version 5
    return Kernel._make((text, *counts, dynamic_stack))


def _are_counts(values: list[object]) -> bool:
    """Whether all are whole numbers that can be register counts or bytes. One sum decides: it is called 80,000 times a wheel."""
    try:
        total = sum(values)  # type: ignore[arg-type]
        return type(total) is int and min(values) >= 0 and total < 1 << 40  # type: ignore[type-var, operator]
    except TypeError:
        return False
