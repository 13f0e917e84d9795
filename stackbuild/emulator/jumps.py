"""Addresses of instructions that code makes of its own place: the targets of `s_setpc_b64` and `s_swappc_b64`.

A distant label, a function that is chosen when the kernel runs and a function of the same code object are reached by
`s_getpc_b64` and sums of constants, or by a pointer that lies at such an address. The constants are followed from instruction
to instruction; addresses count from the image's first byte.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stackbuild.emulator.decoder import SCALAR_FORMATS, Instruction
from stackbuild.emulator.encodings import OperandType

_WORD = 0xFFFFFFFF
_REACH = 12
_SUMS = ("s_add_u32", "s_add_i32", "s_addc_u32", "s_sub_u32", "s_sub_i32", "s_subb_u32")
_RDNA4 = {
    "s_add_co_u32": "s_add_u32", "s_add_co_i32": "s_add_i32", "s_add_co_ci_u32": "s_addc_u32", "s_sub_co_u32": "s_sub_u32",
    "s_sub_co_i32": "s_sub_i32", "s_sub_co_ci_u32": "s_subb_u32",
}  # fmt: skip
"""RDNA4's names to those of the other families."""


@dataclass
class KnownScalars:
    """Scalar registers and SCC whose values are known since the last `s_getpc_b64`. SCC is None where it is not.

    `reach` instructions on, nothing is known any more: the sums stand close behind. `address` is what the last instruction made.
    """

    registers: dict[int, int] = field(default_factory=dict)
    scc: int | None = None
    reach: int = 0
    address: int | None = None
    pointers: Mapping[int, int] = field(default_factory=dict)

    def copy(self) -> KnownScalars:
        """The same values, to be changed apart."""
        return KnownScalars(dict(self.registers), self.scc, self.reach, pointers=self.pointers)

    def pair(self, at: int) -> int | None:
        """The 64 bits of two registers, None where one is not known."""
        low, high = self.registers.get(at), self.registers.get(at + 1)
        return None if low is None or high is None else low | high << 32

    def follow(self, inst: Instruction) -> None:
        """Take over what an instruction does to the values; what it makes of unknown ones is unknown."""
        self.address = None
        self.reach -= 1
        if self.reach < 0:
            self.registers, self.scc = {}, None
        name, f = _RDNA4.get(inst.name, inst.name), inst.fields
        if name == "s_getpc_b64":
            self.registers, self.scc = {f["sdst"]: inst.end & _WORD, f["sdst"] + 1: inst.end >> 32}, None
            self.reach = _REACH
        elif name in _SUMS:
            self._sum(name, inst)
            if name in ("s_addc_u32", "s_subb_u32"):
                self.address = self.pair(f["sdst"] - 1)
        elif name == "s_mov_b32":
            self._set(f["sdst"], self._value(inst, "ssrc0"))
        elif name == "s_sext_i32_i16":
            value = self._value(inst, "ssrc0")
            self._set(f["sdst"], None if value is None else ((value & 0xFFFF ^ 0x8000) - 0x8000) & _WORD)
        elif name in ("s_load_b64", "s_load_dwordx2"):
            self._pointer(inst)
        elif name == "s_abs_i32":
            value = self._value(inst, "ssrc0")
            self._set(f["sdst"], None if value is None else abs(_to_signed(value)))
            self.scc = None if value is None else int(value != 0)
        elif name == "s_cmp_ge_i32":
            left, right = self._value(inst, "ssrc0"), self._value(inst, "ssrc1")
            self.scc = None if left is None or right is None else int(_to_signed(left) >= _to_signed(right))
        else:
            self._forget(inst)

    def _pointer(self, inst: Instruction) -> None:
        """Take over a pointer of the image that is loaded by a known address and a constant."""
        f = inst.fields
        base = self.pair(f["sbase"] * 2)
        offset = f["ioffset"] if "ioffset" in f else f["offset"]
        self._forget(inst)
        if (
            base is None
            or base + offset not in self.pointers
            or f.get("soffset_en")
            or f.get("soffset", 124) not in (0, 124)
        ):
            return
        self.address = self.pointers[base + offset]
        self._set(f["sdata"], self.address & _WORD)
        self._set(f["sdata"] + 1, self.address >> 32)

    def branches(self, name: str) -> bool | None:
        """Whether a branch on SCC is taken, None where that is not known."""
        if self.scc is None or name not in ("s_cbranch_scc0", "s_cbranch_scc1"):
            return None
        return self.scc == int(name[-1])

    def _sum(self, name: str, inst: Instruction) -> None:
        left, right = self._value(inst, "ssrc0"), self._value(inst, "ssrc1")
        carry = self.scc if name in ("s_addc_u32", "s_subb_u32") else 0
        if left is None or right is None or carry is None:
            self._set(inst.fields["sdst"], None)
            self.scc = None
            return
        whole = left + right + carry if "add" in name else left - right - carry
        self._set(inst.fields["sdst"], whole & _WORD)
        self.scc = int(not 0 <= whole <= _WORD) if name.endswith("_u32") else None

    def _value(self, inst: Instruction, name: str) -> int | None:
        code = inst.fields[name]
        if code == 255:
            return inst.literal
        if 128 <= code <= 208:
            return (code - 128 if code <= 192 else 192 - code) & _WORD
        return self.registers.get(code) if code < 106 else None

    def _set(self, at: int, value: int | None) -> None:
        if value is None:
            self.registers.pop(at, None)
        else:
            self.registers[at] = value

    def _forget(self, inst: Instruction) -> None:
        """Forget the scalar registers that an instruction of another kind may write, and SCC."""
        for name in ("sdst", "sdata", "vdst"):
            operand = inst.operation.operands.get(name)
            if operand is not None and name in inst.fields:
                for at in range(inst.fields[name], inst.fields[name] + _words(operand)):
                    self.registers.pop(at, None)
        if inst.format.name in SCALAR_FORMATS:
            self.scc = None


def _words(operand: OperandType) -> int:
    return max(1, operand.bits // 32)


def _to_signed(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value
