"""Which registers an instruction touches, for the sanitizer, and what waits for memory: C statements of the checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby

from stackbuild.emulator.decoder import Instruction
from stackbuild.emulator.memory import LANE_MOVES, is_load_into_lds, memory_call
from stackbuild.emulator.operands import NULL
from stackbuild.emulator.vectors import vector_calls

_NO_SCALARS = 102
_SCALAR_PLACES = ("OPR_SREG", "OPR_SDST", "OPR_EXEC", "OPR_SREG_NOVCC")
_PASSED_ON = frozenset((
    "s_mov_b32", "s_mov_b64", "s_add_u32", "s_addc_u32", "s_add_i32", "s_sub_u32", "s_subb_u32", "s_sub_i32", "s_lshl_b32", "s_lshl_b64",
    "s_mul_i32", "s_add_co_u32", "s_add_co_ci_u32", "s_add_co_i32", "s_sub_co_u32", "s_sub_co_ci_u32", "s_sub_co_i32", "s_add_nc_u64",
))  # fmt: skip
"""Scalar operations whose result is made of a register that nobody wrote where a source is."""
_GFX12 = {
    "s_wait_loadcnt": ("COUNTER_VECTOR",), "s_wait_dscnt": ("COUNTER_LDS",), "s_wait_kmcnt": ("COUNTER_SCALAR",),
}  # fmt: skip
_RDNA3 = {"s_waitcnt_vmcnt": ("COUNTER_VECTOR",), "s_waitcnt_lgkmcnt": ("COUNTER_LDS", "COUNTER_SCALAR")}
"""Waits for a number in a scalar register and a constant, added up (RDNA3's guide, "SOPK Instructions")."""
_SOURCE_BEHIND = ("DPP16", "DPP8", "SDWA", "SDWA_SDST")
"""Variants whose first source lies in the second word, in the field vsrc0."""


@dataclass
class BlockRegisters:
    """What earlier instructions of a basic block say of registers: it is not checked and not noted again.

    `vectors` and `scalars` have no load under way, or that was reported. The others hold values that instructions wrote.
    """

    vectors: set[int] = field(default_factory=set)
    scalars: set[int] = field(default_factory=set)
    written_vectors: set[int] = field(default_factory=set)
    written_scalars: set[int] = field(default_factory=set)


def _fresh(registers: set[int], ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The parts of ranges that are not among `registers`, which they are then: (first, count)."""
    fresh = sorted({register for first, count in ranges for register in range(first, first + count)} - registers)
    registers.update(fresh)
    for _, run in groupby(enumerate(fresh), lambda row: row[1] - row[0]):
        numbers = [number for _, number in run]
        yield numbers[0], len(numbers)


def vectors_of(inst: Instruction, lanes: int) -> list[tuple[int, int]]:
    """Vector registers that a vector ALU or memory instruction reads or writes: (first, count)."""
    f, ranges = inst.fields, list[tuple[int, int]]()
    if inst.name.startswith("s_"):
        return ranges
    if inst.format.name == "VOPD":
        return _dual_vectors(inst, lanes)
    silent_fields = _silent_fields(inst)
    for name, operand in inst.operation.operands.items():
        if name not in f or name == "simm16" or not operand.place or name in silent_fields:
            continue
        if name in ("vdst", "vdata") and is_load_into_lds(inst):
            continue
        if name in ("vdst", "vdata") and "d16" in inst.name and ("load" in inst.name or "read" in inst.name):
            continue  # the other half may be under way: loads end in their order
        value = _encoding(inst, name)
        if name == "vsrc1" and f.get("s1"):
            continue  # SDWA's second source is a scalar
        if (
            name in ("vdst", "vsrc1", "addr", "vaddr", "data", "data0", "data1", "vdata", "vsrc")
            and "SDST" not in inst.format.name
        ):
            if operand.place in _SCALAR_PLACES:
                continue
            value += 256
        if value >= 256:
            acc = _accumulates(inst, name)
            count = max(1, operand.bits // 32)
            if name in ("addr", "vaddr") and "idxen" in f:
                count = f["idxen"] + f["offen"]
            elif name in ("addr", "vaddr") and "saddr" in f and not memory_call(inst).wide:
                count = 1
            ranges.append((value - 256 + acc, count))
    return ranges


def _dual_vectors(inst: Instruction, lanes: int) -> list[tuple[int, int]]:
    """Vector registers that both halves of a dual instruction read or write. A sum is added to its target."""
    return [
        (operand.number, 1)
        for call in vector_calls(inst, lanes)
        for operand in (*call.sources, call.target)
        if operand and operand.kind == "v"
    ]


def _encoding(inst: Instruction, name: str) -> int:
    """What a source's field says. DPP's and SDWA's first source is the vector register, or SDWA's scalar, of vsrc0."""
    f = inst.fields
    if name == "src0" and inst.format.variant in _SOURCE_BEHIND:
        return f["vsrc0"] + (0 if f.get("s0") else 256)
    return f[name]


def _silent_fields(inst: Instruction) -> frozenset[str]:
    """Fields of a memory instruction that are there and name no register: no vector address, no old value of an atomic."""
    if inst.name.startswith("v_") or inst.name in LANE_MOVES:
        return frozenset()
    call = memory_call(inst)
    fields = {"addr", "vaddr"} if call.address is None else set[str]()
    if call.access.verb == "atomic" and not call.access.returns:
        fields.add("vdst")
    return frozenset(fields)


def _accumulates(inst: Instruction, name: str) -> int:
    """256 where a field names an accumulation register."""
    f = inst.fields
    if "acc_cd" in f:
        bit = {"vdst": f["acc_cd"], "src2": f["acc_cd"], "src0": f["acc"] & 1, "src1": f["acc"] >> 1 & 1}.get(name, 0)
        return 256 if bit else 0
    if name in ("vdst", "data", "data0", "data1", "vdata") and f.get("acc"):
        return 256
    place = inst.operation.operands[name].place
    return 256 if place in ("OPR_ACCVGPR", "OPR_SRC_ACCVGPR") else 0


def scalars_of(inst: Instruction, lanes: int) -> list[tuple[int, int]]:
    """Scalar registers that an instruction reads or writes: (first, count)."""
    f, ranges = inst.fields, list[tuple[int, int]]()
    if inst.format.name == "VOPD":
        sources = [source for call in vector_calls(inst, lanes) for source in call.sources if source.kind == "s"]
        return [(source.number, 1) for source in sources if source.number < _NO_SCALARS]
    for name, operand in inst.operation.operands.items():
        if name not in f or name == "simm16":
            continue
        value = _encoding(inst, name)
        if name == "soffset" and "soffset_en" in f:
            continue  # below
        if name == "sbase":
            value *= 2
        if name == "srsrc":
            value *= 4
        bits = lanes if operand.form == "FMT_NUM_M64" else operand.bits
        scalar = name in (
            "sdst",
            "ssrc0",
            "ssrc1",
            "sdata",
            "sbase",
            "saddr",
            "soffset",
            "srsrc",
            "rsrc",
            "src0",
            "src1",
            "src2",
        )
        scalar = scalar or (name == "vsrc1" and bool(f.get("s1")))
        scalar = scalar or (name == "vdst" and operand.place in ("OPR_SREG", "OPR_SDST", "OPR_SREG_NOVCC"))
        if scalar and value < _NO_SCALARS:
            ranges.append((value, max(1, bits // 32)))
    return ranges + [(register, 1) for register in _cdna_offsets(f) if register < _NO_SCALARS]


def _cdna_offsets(f: Mapping[str, int]) -> list[int]:
    """The scalar register that holds the offset of a scalar load of CDNA; without either bit the offset is a number."""
    if "soffset_en" not in f:
        return []
    if f["soffset_en"]:
        return [f["soffset"]]
    return [] if f["imm"] else [f["offset"] & 127]


def register_checks(inst: Instruction, lanes: int, pc: int, block: BlockRegisters) -> list[str]:
    """Checks that no register of an instruction has a load under way."""
    vectors, scalars = _fresh(block.vectors, vectors_of(inst, lanes)), _fresh(block.scalars, scalars_of(inst, lanes))
    checks = [f"check_vectors(w, {pc}, {first}, {count});" for first, count in vectors]
    return checks + [f"check_scalars(w, {pc}, {first}, {count});" for first, count in scalars]


def scalar_notes(inst: Instruction, lanes: int, block: BlockRegisters) -> list[str]:
    """Notes that scalar registers have values, behind an instruction. A move or a sum has one where its sources have."""
    f, kinds = inst.fields, inst.operation.operands
    if inst.name.startswith("s_movrel"):
        return ["note_scalars(w, 0, 102, 1);"]
    targets = []
    for name in ("sdst", "sdata", "vdst"):
        operand = kinds.get(name)
        is_vector = name == "vdst" and (operand is None or operand.place not in _SCALAR_PLACES)
        if name in f and (operand is not None or name == "sdst") and not is_vector and f[name] < _NO_SCALARS:
            is_mask = (
                operand is None or operand.form == "FMT_NUM_M64" or (name == "sdst" and inst.name.startswith("v_"))
            )
            targets.append((f[name], max(1, (lanes if is_mask else operand.bits if operand else 32) // 32)))
    state = "1"
    if inst.name in _PASSED_ON:
        sources = [
            (f[n], max(1, kinds[n].bits // 32))
            for n in ("ssrc0", "ssrc1")
            if n in f and n in kinds and f[n] < _NO_SCALARS
        ]
        state = " & ".join(f"are_scalars_written(w, {first}, {count})" for first, count in sources) or "1"
    if state == "1":
        return [f"note_scalars(w, {first}, {count}, 1);" for first, count in _fresh(block.written_scalars, targets)]
    block.written_scalars.difference_update(*(range(first, first + count) for first, count in targets))
    return [f"note_scalars(w, {first}, {count}, {state});" for first, count in targets]


def address_checks(pc: int, *ranges: tuple[int, int]) -> list[str]:
    """Checks that the scalar registers of an address were written: (first, count). Constants are left out."""
    return [f"check_scalar_address(w, {pc}, {first}, {count});" for first, count in ranges if first < _NO_SCALARS]


def written_notes(inst: Instruction, lanes: int, block: BlockRegisters) -> list[str]:
    """Notes that registers have values, behind an instruction of the ALU."""
    vectors = _fresh(block.written_vectors, _written_vectors(inst))
    notes = [f"note_written(w, {first}, {count});" for first, count in vectors]
    return [*scalar_notes(inst, lanes, block), *notes]


def _written_vectors(inst: Instruction) -> list[tuple[int, int]]:
    """Vector registers that an instruction of the ALU writes: (first, count)."""
    if not inst.name.startswith("v_"):
        return []
    if inst.format.name == "VOPD":
        f = inst.fields
        return [(f["vdstx"], 1), (f["vdsty"] << 1 | ((f["vdstx"] & 1) ^ 1), 1)]
    operand = inst.operation.operands.get("vdst")
    if operand is None or operand.place in _SCALAR_PLACES:
        return []
    return [(inst.fields["vdst"] + _accumulates(inst, "vdst"), max(1, operand.bits // 32))]


def waits(inst: Instruction) -> list[str]:
    """What an instruction waits for: counters and how many accesses may be left."""
    value = inst.fields.get("simm16", 0)
    name, family = inst.name, inst.format.family
    if name == "s_waitcnt":
        if family == "cdna":
            vector, lds = value & 15 | value >> 14 << 4, value >> 8 & 15
        else:
            vector, lds = value >> 10 & 63, value >> 4 & 63
        remaining_counts = [("COUNTER_VECTOR", vector), ("COUNTER_LDS", lds), ("COUNTER_SCALAR", lds)]
    elif name in ("s_wait_loadcnt_dscnt", "s_wait_storecnt_dscnt"):
        remaining_counts = [("COUNTER_LDS", value & 63)]
        if name == "s_wait_loadcnt_dscnt":
            remaining_counts.append(("COUNTER_VECTOR", value >> 8 & 63))
    elif name == "s_wait_idle":
        remaining_counts = [(counter, 0) for counter in ("COUNTER_VECTOR", "COUNTER_LDS", "COUNTER_SCALAR")]
    else:
        remaining_counts = [(counter, value & 63) for counter in (_GFX12 | _RDNA3).get(name, ())]
    if name in _RDNA3 and inst.fields["sdst"] != NULL:
        register = inst.fields["sdst"]
        return [f"wait_for(w, {counter}, {count} + (S({register}) & 63u));" for counter, count in remaining_counts]
    return [f"wait_for(w, {counter}, {count});" for counter, count in remaining_counts]
