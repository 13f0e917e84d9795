"""AMDGPU code objects: the ELF header and the kernel metadata note, without touching the machine code.

Layouts are those of LLVM's AMDGPUUsage: e_machine 224, the target in e_flags, the code-object version in EI_ABIVERSION,
and a note named AMDGPU of type 32 whose description is a MessagePack map.
"""

from __future__ import annotations

import struct
from operator import itemgetter

from stackbuild.inspection.facts import CodeObject, Kernel
from stackbuild.inspection.limits import KERNELS, NOTE, PROGRAM_HEADERS, Cost
from stackbuild.inspection.readers.budget import ReadBudget
from stackbuild.inspection.readers.byte_parser import LimitError, MalformedError, Pull
from stackbuild.inspection.readers.messagepack import unpack
from stackbuild.tables.targets import of_e_flags

EM_AMDGPU = 224
_OSABI_HSA = 64
_PT_NOTE = 4
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


def code_object(at: int, size: int, claimed: str, budget: ReadBudget) -> Pull[CodeObject]:
    """Read the code object of `size` bytes at offset `at`. The `budget` pays for its metadata and shares kernel names. Raises MalformedError."""
    head = yield at, min(size, _HEAD)
    if len(head) < 64 or head[:4] != b"\x7fELF":
        raise MalformedError(f"code object {claimed or 'file'} is not an ELF")
    if head[4:6] != b"\x02\x01":
        raise MalformedError(f"code object {claimed} is not a 64-bit little-endian ELF")
    machine, phoff, flags, phnum = _header(head)
    if machine != EM_AMDGPU:
        raise MalformedError(f"code object {claimed} has machine {machine}, not AMDGPU ({EM_AMDGPU})")
    if head[7] != _OSABI_HSA or head[8] not in _VERSIONS:
        raise MalformedError(
            f"code object {claimed} has OS ABI {head[7]} version {head[8]}: not an HSA code object V3 to V6"
        )
    if phnum > PROGRAM_HEADERS or phoff + 56 * phnum > size:
        raise MalformedError(f"code object {claimed} has {phnum} program headers at {phoff}, beyond its {size} bytes")
    if phoff + 56 * phnum > len(head):
        table = yield at + phoff, 56 * phnum
    else:
        table = head[phoff : phoff + 56 * phnum]
    if len(table) < 56 * phnum:
        raise MalformedError(f"code object {claimed} ends inside its program headers")
    metadata: dict[bytes, object] = {}
    for kind, offset, length in _notes(table):
        if kind == _PT_NOTE and not metadata:
            _check_note(claimed, offset, length, size)
            budget.spend(Cost.METADATA, length)
            metadata = _metadata((yield at + offset, length))
    version = _VERSIONS[head[8]]
    unsaid: set[str] = set()
    kernels, spoken = _kernels(metadata, budget, unsaid)
    return CodeObject(
        claimed, of_e_flags(flags, version), version, spoken, size, kernels, _noted(metadata), tuple(sorted(unsaid))
    )


def _noted(metadata: dict[bytes, object]) -> str:
    """The target ID of `amdhsa.target`, `amdgcn-amd-amdhsa--gfx90a:xnack-`; '' where it says none."""
    said = metadata.get(b"amdhsa.target")
    return (
        said.decode("utf-8", "replace")[:120].rsplit("-amdhsa-", 1)[-1].lstrip("-") if isinstance(said, bytes) else ""
    )


def _header(head: bytes) -> tuple[int, int, int, int]:
    machine, _, _, phoff, _, flags, _, _, phnum = struct.unpack_from("<HIQQQIHHH", head, 18)
    return machine, phoff, flags, phnum


def _notes(table: bytes) -> list[tuple[int, int, int]]:
    """(type, file offset, file size) of each program header, in file order so that a stream never goes back."""
    rows = struct.iter_unpack("<IIQQQQQQ", table)
    return sorted(((kind, offset, length) for kind, _, offset, _, _, length, _, _ in rows), key=lambda row: row[1])


def _check_note(claimed: str, offset: int, length: int, size: int) -> None:
    if offset + length > size:
        raise MalformedError(f"code object {claimed} puts its notes at {offset}+{length}, beyond its {size} bytes")
    if length > NOTE:
        raise LimitError(f"code object {claimed} has {length} bytes of notes; at most {NOTE} are read")


def _metadata(notes: bytes) -> dict[bytes, object]:
    """The AMDGPU metadata map among the notes, or {}."""
    at = 0
    while at + 12 <= len(notes):
        name_size, desc_size, kind = struct.unpack_from("<III", notes, at)
        desc = at + 12 + (name_size + 3 & ~3)
        if desc + desc_size > len(notes):
            raise MalformedError(f"a note of {desc_size} bytes does not fit the {len(notes)} bytes of notes")
        if kind == _NT_METADATA and notes[at + 12 : at + 12 + name_size].rstrip(b"\0") == b"AMDGPU":
            return unpack(notes[desc : desc + desc_size], "kernel metadata", KERNELS)
        at = desc + (desc_size + 3 & ~3)
    return {}


def _kernels(
    metadata: dict[bytes, object], budget: ReadBudget, unsaid: set[str]
) -> tuple[tuple[Kernel, ...], tuple[int, int]]:
    spoken = metadata.get(b"amdhsa.version", [0, 0])
    listed = metadata.get(b"amdhsa.kernels", [])
    if not (isinstance(spoken, list) and len(spoken) == 2 and all(type(v) is int for v in spoken)):
        raise MalformedError("amdhsa.version is not a pair of numbers")
    if not isinstance(listed, list):
        raise MalformedError("amdhsa.kernels is not a list")
    budget.spend(Cost.KERNELS, len(listed))
    return tuple(_kernel(k, budget, unsaid) for k in listed), (spoken[0], spoken[1])


def _kernel(entry: object, budget: ReadBudget, unsaid: set[str]) -> Kernel:
    if not isinstance(entry, dict):
        raise MalformedError("an entry of amdhsa.kernels is not a map")
    try:
        name, *counts = _WITH_AGPRS(entry) if b".agpr_count" in entry else _WITHOUT_AGPRS(entry)
    except KeyError:  # rare: an older compiler, which leaves out what is zero
        name, *counts = (entry.get(field, 0) for field in _FIELDS)
        unsaid.update(field.decode() for field in _FIELDS if field not in entry and field != b".agpr_count")
    if type(name) is not bytes:
        raise MalformedError("a kernel has no name")
    if not _are_counts(counts):
        raise MalformedError(f"kernel {name[:80]!r} has a count that is no count: {str(counts)[:120]}")
    text = budget.names.get(name)
    if text is None:
        budget.text(2 * len(name))
        text = budget.names[name] = name.decode("utf-8", "replace")
    if len(counts) < len(_FIELDS) - 1:
        counts.insert(2, 0)
    dynamic_stack = entry.get(b".uses_dynamic_stack") is True  # absent before version 5
    return Kernel._make((text, *counts, dynamic_stack))


def _are_counts(values: list[object]) -> bool:
    """Whether all are whole numbers that can be register counts or bytes. One sum tells: it is asked 80,000 times a wheel."""
    try:
        total = sum(values)  # type: ignore[arg-type]
        return type(total) is int and min(values) >= 0 and total < 1 << 40  # type: ignore[type-var, operator]
    except TypeError:
        return False
