"""s_getreg and s_setreg: the float mode, and numbers of the hardware that a wave runs on."""

from __future__ import annotations

from dataclasses import dataclass

from stackbuild.emulator.decoder import Instruction
from stackbuild.emulator.operands import UnknownInstruction

_MODE, _SCHEDULE = 1, 26
_NAMES = {
    _MODE: "HW_REG_MODE",
    4: "HW_REG_HW_ID",
    20: "HW_REG_XCC_ID",
    23: "HW_REG_HW_ID1",
    24: "HW_REG_HW_ID2",
    29: "HW_REG_SHADER_CYCLES",
}
_PLACES = (4, 20, 23, 24, 29)
"""Registers that say where and when a wave runs. Here all waves run at one place: they are 0."""


@dataclass(frozen=True)
class RegisterField:
    """Bits of a hardware register: its number, the lowest bit, and how many."""

    number: int
    offset: int
    size: int

    @property
    def text(self) -> str:
        """As LLVM writes it."""
        name = _NAMES.get(self.number, str(self.number))
        return f"hwreg({name})" if self.size == 32 and not self.offset else f"hwreg({name}, {self.offset}, {self.size})"


def register_field(inst: Instruction) -> RegisterField:
    """The field that an instruction names in its constant."""
    word = inst.fields["simm16"]
    return RegisterField(word & 63, word >> 6 & 31, (word >> 11) + 1)


def register_operands(inst: Instruction, scalar: str) -> tuple[str, str]:
    """The operands as LLVM writes them. `scalar` is the text of the scalar register."""
    text = register_field(inst).text
    if inst.name == "s_getreg_b32":
        return scalar, text
    number = inst.literal - (1 << 32) if inst.literal >> 31 else inst.literal
    return text, scalar if inst.name == "s_setreg_b32" else str(number) if -16 <= number <= 64 else hex(inst.literal)


def hardware_register(inst: Instruction, pc: int) -> list[str]:
    """The C block of s_getreg or s_setreg. Raises UnknownInstruction for registers that are not emulated."""
    f, field = inst.fields, register_field(inst)
    if inst.name == "s_getreg_b32" and field.number in (_MODE, *_PLACES):
        mask = (1 << field.size) - 1
        value = f"w->mode >> {field.offset} & {mask:#x}u" if field.number == _MODE else "0"
        return [f"S({f['sdst']}) = {value};"]
    if inst.name != "s_getreg_b32" and field.number == _MODE:
        value = f"{inst.literal:#x}u" if "imm32" in inst.name else f"S({f['sdst']})"
        return [f"w->pc = {pc};", f"if (!set_mode(w, {field.offset}, {field.size}, {value})) return WAVE_ERROR;"]
    if inst.name != "s_getreg_b32" and field.number == _SCHEDULE:
        return []
    raise UnknownInstruction(f"{inst.name} of {field.text} is not known")
