"""Instructions by class, of each basic block: multiplied by how often a block ran, they are a kernel's counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stackbuild.emulator.decoder import Instruction

CLASSES = (
    "valu", "salu", "smem", "matrix", "vmem_load", "vmem_store", "vmem_atomic", "flat", "scratch", "lds", "branch", "barrier", "wait", "other",
)  # fmt: skip
"""The classes, in the order of emulator.h's counters."""

_FORMATS = {
    "SMEM": "smem", "DS": "lds", "SCRATCH": "scratch", "VSCRATCH": "scratch", "FLAT": "flat", "VFLAT": "flat", "SOP1": "salu",
    "SOP2": "salu", "SOPC": "salu",
}  # fmt: skip


def class_of(inst: Instruction) -> str:
    """The class of an instruction."""
    name, kind = inst.name, inst.format.name
    if name.startswith(("v_mfma", "v_wmma", "v_smfmac", "v_swmmac")):
        return "matrix"
    if name.startswith(("s_waitcnt", "s_wait_")):
        return "wait"
    if name.startswith("s_barrier"):
        return "barrier"
    if name.startswith(("s_branch", "s_cbranch")):
        return "branch"
    if kind in _FORMATS:
        return _FORMATS[kind]
    if kind in ("GLOBAL", "VGLOBAL", "MUBUF", "VBUFFER") and ("load" in name or "store" in name or "atomic" in name):
        return "vmem_atomic" if "atomic" in name else "vmem_load" if "load" in name else "vmem_store"
    if kind.startswith("VO"):
        return "valu"
    return "salu" if kind == "SOPK" else "other"


def block_counts(instructions: Mapping[int, Instruction], leaders: Sequence[int]) -> str:
    """A line for each block: its instructions of each class."""
    starts, lines = set(leaders), []
    counts = dict.fromkeys(CLASSES, 0)
    for at, inst in instructions.items():
        if at in starts and at != leaders[0]:
            lines.append(counts)
            counts = dict.fromkeys(CLASSES, 0)
        counts[class_of(inst)] += 1
    lines.append(counts)
    return "".join(" ".join(map(str, line.values())) + "\n" for line in lines)
