"""Machine code → instructions, by the tables of `encodings`.

An instruction has its operation, the raw values of its fields and its operands. An operand's `register` is the number of
its first register in its file; `bits` what the operation reads or writes there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from stackbuild.core.errors import Stop
from stackbuild.emulator.encodings import EncodingFamily, Format, Operation

SCALAR_FORMATS = ("SOP1", "SOP2", "SOPC", "SOPK")
SHORT_VECTOR_FORMATS = ("VOP1", "VOP2", "VOPC", "VOP1_SDST")
VOP3_FORMATS = ("VOP3", "VOP3_SDST", "VOP3SD")
MODIFIER_VARIANTS = ("DPP16", "SDWA", "SDWA_SDST")
"""Variants of the short formats that negate a source and take its absolute value."""
LITERAL = 255
SDWA = 249
DPP16 = 250
DPP8 = (233, 234)
_SOURCES = ("src0", "src1", "src2", "vsrc1", "ssrc0", "ssrc1", "srcx0", "srcy0")
_ALWAYS_LITERAL = ("fmamk", "fmaak", "madmk", "madak", "s_setreg_imm32")


class DecodeError(Stop):
    """Bytes that are not an instruction of the family."""

    topic = "emulator"


@dataclass(frozen=True)
class Instruction:
    """One instruction at `offset` bytes from the start of what was decoded.

    `second` is the second operation of a dual instruction. `fields` are raw; `literal` is the 32-bit constant behind it.
    """

    offset: int
    size: int
    word: int
    format: Format
    operation: Operation
    second: Operation | None = None

    @property
    def name(self) -> str:
        """The operation's name without the suffix of its encoding, e.g. "v_add_f32"."""
        return self.operation.name

    @cached_property
    def fields(self) -> dict[str, int]:
        """Every field's value."""
        return {name: field.of(self.word) for name, field in self.format.fields.items()}

    @property
    def literal(self) -> int:
        """The constant behind the instruction, 0 where it has none."""
        return self.fields.get("literal", 0)

    @property
    def end(self) -> int:
        """The offset of what follows."""
        return self.offset + self.size


def decode(code: bytes, family: EncodingFamily, offset: int = 0) -> Instruction:
    """The instruction at `offset` of `code`. Raises DecodeError."""
    if offset + 4 > len(code):
        raise DecodeError(f"the code ends at {len(code):#x}, inside an instruction at {offset:#x}")
    word = int.from_bytes(code[offset : offset + 16], "little")
    for plain in family.formats[word >> 23 & 511]:
        if (word ^ plain.match) & plain.mask:
            continue
        instruction = _in_format(word, plain, family)
        if instruction is None:
            continue
        format, operation, second = instruction
        if offset + format.size > len(code):
            raise DecodeError(f"the code ends at {len(code):#x}, inside an instruction at {offset:#x}")
        return Instruction(offset, format.size, word & (1 << 8 * format.size) - 1, format, operation, second)
    raise DecodeError(f"{word & 0xFFFFFFFF:#010x} at {offset:#x} is not an instruction of {family.name}")


def _in_format(word: int, plain: Format, family: EncodingFamily) -> tuple[Format, Operation, Operation | None] | None:
    """The format with its suffix, and the operations. None where the format has no such operation."""
    variant = _variant(word, plain)
    format = family.variants.get((plain.name, variant), plain)
    if "opx" in plain.fields:
        x, y = (format.operations.get(plain.fields[name].of(word)) for name in ("opx", "opy"))
        if x is None or y is None:
            return None
        if any(part in op.name for op in (x, y) for part in _ALWAYS_LITERAL):
            format = family.variants[plain.name, "LIT"]
        return format, x, y
    number = plain.fields["op"].of(word)
    operation = plain.operations.get(number)
    if operation is None:
        format = family.variants.get((plain.name, "LIT"), plain)
        operation = format.operations.get(number)
        if operation is None or not operation.name.startswith(("v_", "s_")):
            return None
        if plain.name not in ("VOP2", "SOPK", "SOP2") or not any(part in operation.name for part in _ALWAYS_LITERAL):
            return None
    return format, operation, None


def _variant(word: int, plain: Format) -> str:
    sources = [plain.fields[name].of(word) for name in _SOURCES if name in plain.fields]
    first = sources[0] if sources else -1
    if plain.name in SHORT_VECTOR_FORMATS or plain.name.startswith(("VOP3", "VOP3P", "VOP3SD")):
        cdna = "sc0" in plain.fields
        if first == SDWA and plain.name in ("VOP1", "VOP2"):
            return "SDWA"
        if first == SDWA and plain.name == "VOPC":
            return "SDWA_SDST"
        if first == DPP16:
            return "DPP16"
        if first in DPP8 and not cdna:
            return "DPP8"
    wide = [value for name, value in zip((n for n in _SOURCES if n in plain.fields), sources, strict=True)
            if name != "vsrc1"]  # fmt: skip
    return "LIT" if LITERAL in wide and "literal" not in plain.fields else ""
