"""A plain interpreter of vector and scalar ALU instructions, one lane after the other: the check of the translator.

It shares the decoder, the operands and the typed statements with the translator. Modifiers, swizzles of lanes, masks, results
and arithmetic are written a second time here.
"""

from __future__ import annotations

from dataclasses import dataclass

from stackbuild.emulator.control_flow import BRANCHES, NOTHING
from stackbuild.emulator.decoder import SCALAR_FORMATS, Instruction
from stackbuild.emulator.operands import SourceOperand, UnknownInstruction, source
from stackbuild.emulator.scalars import scalar_meaning, scalar_sources, target_bits
from stackbuild.emulator.typed_values import Type
from stackbuild.emulator.vectors import VectorCall, VectorForm, vector_calls
from support.python_semantics import bits_float, float_bits, round_to, run_semantics

_APERTURES = {"shared_base": 0x0001 << 48, "private_base": 0x0002 << 48}
_VCC, _EXEC = 106, 126


@dataclass
class InterpretedWave:
    """The registers of a wave: `v` by row and lane, `s` with VCC at 106 and EXEC at 126."""

    lanes: int
    v: list[list[int]]
    s: list[int]
    scc: int = 0

    @property
    def execute(self) -> int:
        """The mask of active lanes."""
        return self.pair(_EXEC) if self.lanes == 64 else self.s[_EXEC]

    def pair(self, at: int) -> int:
        """Two scalar registers as 64 bits."""
        return self.s[at] | self.s[at + 1] << 32

    def mask(self, at: int) -> int:
        """A mask of lanes."""
        return self.pair(at) if self.lanes == 64 else self.s[at]

    def set_scalar(self, at: int, bits: int, value: int) -> None:
        """Set one or two scalar registers."""
        self.s[at] = value & 0xFFFFFFFF
        if bits == 64:
            self.s[at + 1] = value >> 32 & 0xFFFFFFFF

    def run(self, inst: Instruction) -> None:
        """Run one instruction. Raises UnknownInstruction for what is not an ALU instruction."""
        name = inst.name
        if name in NOTHING:
            return
        if name in BRANCHES:
            raise UnknownInstruction(f"{name} is not interpreted")
        if inst.format.name in SCALAR_FORMATS:
            self._scalar(inst)
        elif name in ("v_readlane_b32", "v_readfirstlane_b32", "v_writelane_b32"):
            self._lane(inst)
        elif name.startswith("v_") and not name.startswith(("v_mfma", "v_wmma", "v_swap", "v_permlane", "v_s_")):
            self._vector(inst)
        else:
            raise UnknownInstruction(f"{name} is not interpreted")

    def _read(self, operand: SourceOperand) -> int:
        """A scalar operand."""
        if operand.kind == "c":
            return operand.number
        if operand.kind == "s":
            return self.pair(operand.number) if operand.bits == 64 else self.s[operand.number]
        if operand.name in _APERTURES:
            return _APERTURES[operand.name] if operand.bits == 64 else _APERTURES[operand.name] >> 32
        return {"scc": self.scc, "vccz": int(self.mask(_VCC) == 0), "execz": int(self.execute == 0)}[operand.name]

    def _scalar(self, inst: Instruction) -> None:
        meaning = scalar_meaning(inst, self.lanes)
        bits, target = target_bits(inst), inst.fields.get("sdst", 0)
        names: dict[str, int | float] = {
            f"S{i}": self._read(operand) for i, operand in enumerate(scalar_sources(inst, self.lanes))
        }
        names |= {
            "SCC": self.scc,
            "EXEC": self.execute,
            "VCC": self.mask(_VCC),
            "D0": self.pair(target) if bits == 64 else self.s[target],
        }
        names["M0"] = self.s[124 if inst.format.family == "cdna" else 125]
        after = run_semantics(meaning, names)
        if "SCC" in meaning.writes:
            self.scc = int(after["SCC"])
        for name, at in (("EXEC", _EXEC), ("VCC", _VCC)):
            if name in meaning.writes:
                self.set_scalar(at, self.lanes, int(after[name]))
        if "D0" in meaning.writes and not (target == 124 and inst.format.family != "cdna"):
            self.set_scalar(target, bits, int(after["D0"]))

    def _lane(self, inst: Instruction) -> None:
        f = inst.fields
        if inst.name == "v_readfirstlane_b32":
            mask = self.execute
            first = (mask & -mask).bit_length() - 1 if mask else 0
            if f["src0"] < 256:
                self.s[f["vdst"]] = self._read(source(inst, f["src0"], None, self.lanes))
            else:
                self.s[f["vdst"]] = self.v[f["src0"] - 256][first]
            return
        lane = self._read(source(inst, f["src1"], None, self.lanes)) % self.lanes
        if inst.name == "v_readlane_b32":
            self.s[f["vdst"]] = self.v[f["src0"] - 256][lane]
        else:
            self.v[f["vdst"]][lane] = self._read(source(inst, f["src0"], None, self.lanes)) & 0xFFFFFFFF

    def _vector(self, inst: Instruction) -> None:
        calls = vector_calls(inst, self.lanes)
        before = [list(row) for row in self.v] if len(calls) > 1 else self.v
        for call in calls:
            self._call(inst, call, before)

    def _call(self, inst: Instruction, call: VectorCall, before: list[list[int]]) -> None:
        form, meaning, mask = call.form, call.form.meaning(), self.execute
        vcc = self.mask(call.mask_in) if call.mask_in is not None else 0
        active, first = self._swizzle(inst, call, before, mask)
        result_mask, rows = 0, {}
        for lane in range(self.lanes):
            if not active >> lane & 1:
                continue
            names: dict[str, int | float] = {
                "LANE": lane,
                "VCCL": vcc >> lane & 1,
                "SIMM32": call.literal,
                "D0": self._old(call, lane),
            }
            for i, operand in enumerate(call.sources):
                names[f"S{i}"] = modified_bits(
                    operand, first[lane] if i == 0 and first else self._raw(operand, lane, before)
                )
            after = run_semantics(meaning, names)
            for name in ("VCCL", "D0L", "EXECL"):
                if name in meaning.writes:
                    result_mask |= int(after[name]) << lane
                    break
            if "D0" in meaning.writes:
                rows[lane] = result(form, int(after["D0"]), self._old(call, lane), meaning.result, names)
        for lane, value in rows.items():
            if call.target:
                self.v[call.target.number][lane] = value & 0xFFFFFFFF
                if form.bits == 64:
                    self.v[call.target.number + 1][lane] = value >> 32
        if {"VCCL", "D0L", "EXECL"} & meaning.writes:
            self._set_masks(inst, call, result_mask)

    def _set_masks(self, inst: Instruction, call: VectorCall, mask: int) -> None:
        cdna = inst.format.family == "cdna"
        if call.writes_exec:
            if cdna:
                self.set_scalar(call.mask_out if call.mask_out is not None else _VCC, self.lanes, mask)
            self.set_scalar(_EXEC, self.lanes, mask)
        elif call.mask_out is not None and (cdna or call.mask_out != 124):
            self.set_scalar(call.mask_out, self.lanes, mask)

    def _old(self, call: VectorCall, lane: int) -> int:
        if call.target is None:
            return 0
        row = call.target.number
        return self.v[row][lane] | (self.v[row + 1][lane] << 32 if call.form.bits == 64 else 0)

    def _raw(self, operand: SourceOperand, lane: int, rows: list[list[int]]) -> int:
        if operand.kind == "v":
            return rows[operand.number][lane] | (rows[operand.number + 1][lane] << 32 if operand.bits == 64 else 0)
        value = self._read(operand)
        return value & (0xFFFFFFFFFFFFFFFF if operand.bits > 32 else 0xFFFFFFFF)

    def _swizzle(self, inst: Instruction, call: VectorCall, rows: list[list[int]], mask: int) -> tuple[int, list[int]]:
        """The lanes that are written and the first operand of each lane, where DPP moves it; else the mask and nothing."""
        f = inst.fields
        if inst.format.variant not in ("DPP16", "DPP8") or not call.sources:
            return mask, []
        moved, active = [], 0
        for lane in range(self.lanes):
            if inst.format.variant == "DPP8":
                at: int | None = lane // 8 * 8 + f[f"lane_sel_{lane % 8}"]
                writes, inactive = True, f["src0"] == 234
            else:
                at = dpp_lane(lane, f["dpp"], self.lanes)
                writes = bool(f["row_mask"] >> lane // 16 % 4 & 1 and f["bank_mask"] >> lane // 4 % 4 & 1)
                inactive = bool(f.get("fi"))
            there = at is not None and (inactive or bool(mask >> at & 1))
            moved.append(self._raw(call.sources[0], at, rows) if there and at is not None else 0)
            if inst.format.variant == "DPP16" and not there and not f["bc"]:
                writes = False
            if mask >> lane & 1 and writes:
                active |= 1 << lane
        return active, moved


def dpp_lane(lane: int, control: int, lanes: int) -> int | None:
    """The lane that DPP16 reads, None where there is none. Raises UnknownInstruction."""
    row, place = divmod(lane, 16)
    kind, count = control >> 4, control & 15
    if control < 0x100:
        return lane // 4 * 4 + (control >> 2 * (lane % 4) & 3)
    if kind == 0x10 and count:
        return lane + count if place + count < 16 else None
    if kind == 0x11 and count:
        return lane - count if place >= count else None
    if kind == 0x12 and count:
        return row * 16 + (place - count) % 16
    if control == 0x140:
        return row * 16 + 15 - place
    if control == 0x141:
        return lane // 8 * 8 + 7 - lane % 8
    if kind == 0x15:
        return row * 16 + count
    if kind == 0x16:
        return row * 16 + (place ^ count)
    whole = {
        0x130: lane + 1,
        0x134: (lane + 1) % lanes,
        0x138: lane - 1,
        0x13C: (lane - 1) % lanes,
        0x142: row * 16 - 1,
    }
    if control == 0x143:
        return 31 if lane >= 32 else None
    if control in whole:
        return whole[control] if 0 <= whole[control] < lanes else None
    raise UnknownInstruction(f"DPP control {control:#x} is not known")


def modified_bits(operand: SourceOperand, raw: int) -> int:
    """An operand's bits after SDWA's selection, the half, |x| and −x, and the halves of packed operands."""
    bits = operand.bits
    if operand.select != 6:
        width = 8 if operand.select < 4 else 16
        raw = raw >> (operand.select * 8 if width == 8 else (operand.select - 4) * 16) & (1 << width) - 1
        if operand.extend and raw >> width - 1:
            raw |= 0xFFFFFFFF & ~((1 << width) - 1)
        bits = 16 if operand.form == "F16" else 32
    if operand.half:
        raw >>= 16
    bits = bits if bits in (16, 32, 64) else 32
    if operand.absolute:
        raw &= ~(1 << bits - 1)
        raw &= (1 << max(bits, 32)) - 1
        if bits == 16:
            raw &= 0x7FFF
    if operand.negate:
        raw ^= 1 << bits - 1
    if operand.swizzle is None:
        return raw
    low, high, negate, negate_high = operand.swizzle
    if operand.form.startswith("PK2"):
        width = operand.bits // 2
        mask, sign = (1 << width) - 1, 1 << width - 1
        parts = [raw & mask, raw >> width & mask]
        return (parts[low] ^ (sign if negate else 0)) | (parts[high] ^ (sign if negate_high else 0)) << width
    if low and operand.bits == 16:
        raw >>= 16
    return raw ^ (1 << bits - 1 if negate else 0)


def result(form: VectorForm, value: int, old: int, type: Type, names: dict[str, int | float]) -> int:
    """What is written: output modifiers, the selection of SDWA, the half of a 16-bit result."""
    if form.output_modifier or form.clamp:
        if type.kind != "f":
            raise UnknownInstruction(f"{form.name} with a clamp of integers is not known")
        number = bits_float(value & (1 << type.bits) - 1, type)
        number = round_to(number * {0: 1.0, 1: 2.0, 2: 4.0, 3: 0.5}[form.output_modifier], type.bits)
        if form.clamp:
            number = (number if number > 0 else 0.0) if number == number else 0.0
            number = min(number, 1.0)
        value = float_bits(number, type)
    if form.select != 6:
        width = 8 if form.select < 4 else 16
        low = form.select * 8 if width == 8 else (form.select - 4) * 16
        part = value & (1 << width) - 1
        if form.unused_mode == 1:
            whole = part | (-1 << width if part >> width - 1 else 0)
            return whole << low & 0xFFFFFFFF
        return part << low | (old & ~((1 << width) - 1 << low) if form.unused_mode == 2 else 0)
    if type.bits == 16:
        value &= 0xFFFF
        if form.result_half:
            return value << 16 | old & 0xFFFF
        return value if form.zero_high else value | old & 0xFFFF0000
    return value
