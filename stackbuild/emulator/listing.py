"""Instructions as text: the operation's name, registers and constants, as findings show them.

The operation's name is LLVM's without the suffix of the encoding. Modifiers are left out.
"""

from __future__ import annotations

from stackbuild.emulator.decoder import Instruction

_NAMES = {106: "vcc", 107: "vcc_hi", 126: "exec", 127: "exec_hi", 251: "vccz", 252: "execz", 253: "scc"}
_VECTORS = frozenset(("vdst", "vsrc0", "vsrc1", "addr", "vaddr", "data", "data0", "data1", "vdata", "vsrc", "vdstx"))
_ORDER = ("sdst", "vdst", "sdata", "addr", "vaddr", "data", "data0", "data1", "vsrc", "vdata", "sbase", "saddr", "ssrc0", "ssrc1",
          "src0", "vsrc0", "src1", "vsrc1", "src2", "soffset", "simm16")  # fmt: skip


def text_of(inst: Instruction) -> str:
    """One instruction, e.g. "v_add_f32 v1, s2, v[3:4]"."""
    f = inst.fields
    if inst.second is not None:
        return f"{inst.name} :: {inst.second.name}"
    shown = []
    for name in _ORDER:
        operand = inst.operation.operands.get(name)
        if name not in f or (operand is None and name not in ("simm16",)):
            continue
        value = f[name] * 2 if name == "sbase" else f[name]
        words = max(1, operand.bits // 32) if operand else 1
        if (
            name in _VECTORS
            and operand is not None
            and operand.place not in ("OPR_SREG", "OPR_SDST", "OPR_EXEC", "OPR_SREG_NOVCC")
        ):
            value += 256
        shown.append(f"{value:#x}" if name == "simm16" else _operand(value, words, inst))
    return f"{inst.name} {', '.join(shown)}".strip()


def _operand(value: int, words: int, inst: Instruction) -> str:
    if value == 255:
        return f"{inst.literal:#x}"
    if value >= 256 or value < 104:
        letter, number = ("v", value - 256) if value >= 256 else ("s", value)
        return f"{letter}{number}" if words == 1 else f"{letter}[{number}:{number + words - 1}]"
    if 128 <= value <= 192:
        return str(value - 128)
    if 193 <= value <= 208:
        return str(192 - value)
    if value in (124, 125):
        return "m0" if (value == 124) == (inst.format.family == "cdna") else "null"
    constants = (0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0)
    return str(constants[value - 240]) if 240 <= value < 248 else _NAMES.get(value, f"source {value}")
