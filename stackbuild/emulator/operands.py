"""What an instruction reads and writes: registers, constants, masks, and the modifiers on the way."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace

from stackbuild.core.errors import Stop
from stackbuild.emulator.decoder import MODIFIER_VARIANTS, SHORT_VECTOR_FORMATS, VOP3_FORMATS, Instruction
from stackbuild.emulator.encodings import OperandType

VCC, M0_CDNA, M0_RDNA, NULL = 106, 124, 125, 124

_FLOAT_CONSTANTS = (0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0, 0.15915494309189532)
_APERTURES = {235: "shared_base", 236: "shared_limit", 237: "private_base", 238: "private_limit"}
_FLAGS = {251: "vccz", 252: "execz", 253: "scc"}


class UnknownInstruction(Stop):
    """An instruction, or a form of it, that the emulator does not have."""

    topic = "emulator"


@dataclass(frozen=True)
class SourceOperand:
    """One operand that is read. `kind`: "v" a vector register, "s" scalar registers, "c" a constant, "x" a special value.

    `number` is the register or the constant's bits, `name` the special value. `form` is its number format ("F16", "PK2_F16",
    "B32", "M64" for a mask of lanes). `half` picks the upper 16 bits. `select` is SDWA's byte or word, `extend` its sign.
    """

    kind: str
    number: int
    bits: int
    form: str
    name: str = ""
    half: bool = False
    negate: bool = False
    absolute: bool = False
    select: int = 6
    extend: bool = False
    swizzle: tuple[int, int, int, int] | None = None
    """Of packed operands: which half goes low and high, and whether each changes its sign."""

    @property
    def registers(self) -> range:
        """The registers of its file that are read."""
        return range(self.number, self.number + max(1, self.bits // 32)) if self.kind in "vs" else range(0)


@dataclass(frozen=True)
class TargetOperand:
    """What is written: `kind` "v" or "s", the register and the width."""

    kind: str
    number: int
    bits: int
    form: str
    half: bool = False

    @property
    def registers(self) -> range:
        """The registers of its file that are written."""
        return range(self.number, self.number + max(1, self.bits // 32))


def form_of(operand: OperandType | None) -> str:
    """The number format without tinygrad's prefix."""
    return operand.form.removeprefix("FMT_NUM_") if operand else "B32"


def constant_bits(encoding: int, bits: int, form: str, literal: int) -> int:
    """The bits of an inline constant or literal in an operand of `bits` and number format `form`."""
    mask = (1 << bits) - 1
    if 128 <= encoding <= 192:
        return encoding - 128
    if 193 <= encoding <= 208:
        return 192 - encoding & mask
    if 240 <= encoding <= 248:
        number = _FLOAT_CONSTANTS[encoding - 240]
        if form in ("F16", "PK2_F16") or bits == 16:
            if "BF16" in form:
                return _f32_bits(number) >> 16
            return int.from_bytes(struct.pack("<e", number), "little") if encoding < 248 else 0x3118
        if form == "PK2_F32":
            return _f32_bits(number)
        if bits == 64:
            return int.from_bytes(struct.pack("<d", number), "little") if encoding < 248 else 0x3FC45F306DC9C882
        return _f32_bits(number)
    if encoding == 255:
        if bits == 64 and form == "F64":
            return literal << 32
        if bits == 64 and form in ("I64",) and literal >> 31:
            return literal | 0xFFFFFFFF00000000
        return literal
    raise UnknownInstruction(f"source {encoding} is not known")


def _f32_bits(number: float) -> int:
    return int.from_bytes(struct.pack("<f", number), "little")


def source(
    inst: Instruction, encoding: int, operand: OperandType | None, lanes: int, *, true16: bool = False
) -> SourceOperand:
    """The operand of a 9-bit (or shorter) source field."""
    form, bits = form_of(operand), operand.bits if operand else 32
    if form == "M64":
        bits = lanes
    if encoding >= 256:
        number, half = encoding - 256, False
        if true16 and bits == 16 and number >= 128:
            number, half = number - 128, True
        return SourceOperand("v", number, bits, form, half=half)
    cdna = inst.format.fields.get("sc0") is not None or _is_cdna(inst)
    if encoding == (M0_CDNA if cdna else M0_RDNA):
        return SourceOperand("s", encoding, 32, form, name="m0")
    if encoding == NULL and not cdna:
        return SourceOperand("c", 0, bits, form)
    if encoding < 128:
        return SourceOperand("s", encoding, bits, form)
    if encoding in _APERTURES:
        return SourceOperand("x", encoding, bits, form, name=_APERTURES[encoding])
    if encoding in _FLAGS:
        return SourceOperand("x", encoding, bits, form, name=_FLAGS[encoding])
    return SourceOperand("c", constant_bits(encoding, bits, form, inst.literal), bits, form)


def _is_cdna(inst: Instruction) -> bool:
    return inst.format.family == "cdna"


def vector_sources(inst: Instruction, lanes: int) -> list[SourceOperand]:
    """The sources of a vector ALU instruction, in order, modifiers set."""
    f, kinds = inst.fields, inst.operation.operands
    operands: list[SourceOperand] = []
    short = inst.format.name in SHORT_VECTOR_FORMATS and not _is_cdna(inst)
    for i, names in enumerate((("src0",), ("src1", "vsrc1"), ("src2",))):
        name = next((n for n in names if n in f), None)
        operand_type = kinds.get(f"src{i}") or kinds.get(f"vsrc{i}")
        if name is None or operand_type is None:
            continue
        code = f[name] + 256 if name == "vsrc1" else f[name]
        if i == 0 and inst.format.variant in ("DPP16", "DPP8", "SDWA", "SDWA_SDST"):
            code = f["vsrc0"] + (0 if f.get("s0") else 256)
        if name == "vsrc1" and f.get("s1"):
            code = f[name]
        operands.append(_with_modifiers(inst, i, source(inst, code, operand_type, lanes, true16=short)))
    return operands


def _with_modifiers(inst: Instruction, i: int, source: SourceOperand) -> SourceOperand:
    f = inst.fields
    if inst.format.name in VOP3_FORMATS:
        half = bool(f.get("opsel", 0) >> i & 1)
        if half and source.bits == 32 and source.form != "B32" and "16" not in source.form:
            half = False
        source = replace(source, negate=bool(f["neg"] >> i & 1), absolute=bool(f.get("abs", 0) >> i & 1), half=half)
    elif inst.format.name == "VOP3P":
        high = f["opsel_hi"] >> i & 1 if i < 2 else f["opsel_hi2"]
        source = replace(source, swizzle=(f["opsel"] >> i & 1, high, f["neg"] >> i & 1, f["neg_hi"] >> i & 1))
    if inst.format.variant in MODIFIER_VARIANTS and i < 2:
        source = replace(
            source, negate=source.negate ^ bool(f[f"src{i}_neg"]), absolute=source.absolute or bool(f[f"src{i}_abs"])
        )
    if inst.format.variant.startswith("SDWA") and i < 2:
        source = replace(source, select=f[f"src{i}_sel"], extend=bool(f[f"src{i}_sext"]))
    return source


def truth_table(inst: Instruction) -> int:
    """The table of `v_bitop3`, which lies in the bits of its modifiers: bit 4·a + 2·b + c is the result of bits a, b and c."""
    f = inst.fields
    return f["omod"] << 6 | f["abs"] << 3 | f["neg"]
