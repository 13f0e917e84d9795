"""Wait states that CDNA asks of a program: which instruction of a basic block comes too early behind another one.

Most of CDNA's dependencies wait in hardware. The others are filled by the compiler, by `s_nop` or other instructions.
The rules and numbers are those that LLVM's GCNHazardRecognizer and AMD's rocRoller state for gfx90a and gfx942 (sections
"Manually Inserted Wait States" of AMD's CDNA guides). Matrix instructions have rules of their own, which are not here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from stackbuild.emulator.decoder import SCALAR_FORMATS, Instruction
from stackbuild.emulator.memory import is_load_into_lds
from stackbuild.emulator.operands import M0_CDNA, VCC, UnknownInstruction
from stackbuild.emulator.vectors import VectorCall, vector_calls

_EXEC = 126
_LANE_MOVES = ("v_readlane_b32", "v_readfirstlane_b32", "v_writelane_b32")
_TRANSCENDENTAL = ("v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_")
_READS_M0 = ("s_movrel", "s_sendmsg", "ds_read_addtid", "ds_write_addtid")


@dataclass
class WaitStates:
    """What instructions of a basic block wrote, by the wait state in which they ran. `newer` is whether the target is gfx942 or gfx950."""

    newer: bool
    now: int = 0
    scalars: dict[int, int] = field(default_factory=dict)
    """Scalar registers, VCC and EXEC, that the vector ALU wrote."""
    vectors: dict[int, int] = field(default_factory=dict)
    transcendentals: dict[int, int] = field(default_factory=dict)
    """Vector registers that a transcendental operation wrote."""
    m0: dict[int, int] = field(default_factory=dict)
    """M0, where the scalar ALU wrote it."""

    def follow(self, inst: Instruction, lanes: int) -> str:
        """What an instruction comes too early behind, "" where it does not; then what it writes itself."""
        calls = _calls(inst, lanes)
        problem = next((text for text in self._problems(inst, calls) if text), "")
        self._note(inst, calls)
        self.now += inst.fields["simm16"] + 1 if inst.name == "s_nop" else 1
        return problem

    def _early(self, writes: dict[int, int], registers: Iterable[int], count: int, what: str) -> str:
        """A sentence where fewer than `count` wait states lie behind the last write of a register."""
        between = min((self.now - writes[r] - 1 for r in registers if r in writes), default=count)
        return f"{what}: {count} wait states are needed, there are {between}" if between < count else ""

    def _problems(self, inst: Instruction, calls: tuple[VectorCall, ...]) -> Iterator[str]:
        f, name = inst.fields, inst.name
        if name.startswith(_READS_M0) or (("vdst" in f or "vdata" in f) and is_load_into_lds(inst)):
            yield self._early(self.m0, (M0_CDNA,), 1, "M0, which a scalar instruction wrote, is read")
        if inst.format.name in ("MUBUF", "GLOBAL", "SCRATCH"):
            yield self._early(self.scalars, _memory_scalars(inst), 5, "a memory instruction reads a scalar that the vector ALU wrote")
        if not name.startswith("v_"):
            return
        if name in _LANE_MOVES:
            yield from self._lane_move(inst)
            return
        for call in calls:
            yield from self._vector(inst, call)

    def _lane_move(self, inst: Instruction) -> Iterator[str]:
        f = inst.fields
        if "src1" in f and f["src1"] < 128:
            yield self._early(self.scalars, (f["src1"],), 4, "the lane is a scalar that the vector ALU wrote")
        if not self.newer:
            return
        yield self._early(self.scalars, (_EXEC,), 4, "EXEC, which the vector ALU wrote, is read")
        if inst.name == "v_writelane_b32":
            yield self._early(self.scalars, (f["src0"],), 2, "the vector ALU reads a scalar that it wrote")
        else:
            yield self._early(self.vectors, (f["src0"] - 256,), 1, "a lane is read of a register that the vector ALU wrote")

    def _vector(self, inst: Instruction, call: VectorCall) -> Iterator[str]:
        if "div_fmas" in inst.name:
            yield self._early(self.scalars, (VCC,), 4, "v_div_fmas reads VCC, which the vector ALU wrote")
        if inst.format.variant.startswith("DPP"):
            yield self._early(self.vectors, call.sources[0].registers, 2, "DPP reads a register that the vector ALU wrote")
            yield self._early(self.scalars, (_EXEC,), 5, "DPP reads EXEC, which the vector ALU wrote")
        for source in call.sources:
            register = {"vccz": VCC, "execz": _EXEC}.get(source.name)
            if register:
                yield self._early(self.scalars, (register,), 5, f"{source.name} is read behind the vector ALU")
        if not self.newer:
            return
        scalars = {r for source in call.sources if source.kind == "s" for r in source.registers}
        if call.mask_in in self.scalars and "VCCL" in call.form.meaning().reads:
            scalars.add(call.mask_in)
        yield self._early(self.scalars, scalars, 2, "the vector ALU reads a scalar that it wrote")
        if not inst.name.startswith(_TRANSCENDENTAL):
            vectors = [r for source in call.sources if source.kind == "v" for r in source.registers]
            yield self._early(self.transcendentals, vectors, 1, "the result of a transcendental operation is read")

    def _note(self, inst: Instruction, calls: tuple[VectorCall, ...]) -> None:
        f, name = inst.fields, inst.name
        if inst.format.name in SCALAR_FORMATS or inst.format.name == "SMEM":
            first = f.get("sdst", f.get("sdata"))
            operand = inst.operation.operands.get("sdst") or inst.operation.operands.get("sdata")
            for register in range(first, first + max(1, operand.bits // 32)) if first is not None and operand else ():
                self.scalars.pop(register, None)
            if first == M0_CDNA and operand:
                self.m0[M0_CDNA] = self.now
        elif name in ("v_readlane_b32", "v_readfirstlane_b32"):
            self.scalars[f["vdst"]] = self.now
        elif name.startswith("v_"):
            for call in calls:
                if call.mask_out is not None:
                    self.scalars.update(dict.fromkeys((call.mask_out, call.mask_out + 1), self.now))
                if call.writes_exec:
                    self.scalars.update(dict.fromkeys((_EXEC, _EXEC + 1), self.now))
                if call.target:
                    registers = range(call.target.number, call.target.number + max(1, call.target.bits // 32))
                    self.vectors.update(dict.fromkeys(registers, self.now))
                    for register in registers:
                        self.transcendentals.pop(register, None)
                    if name.startswith(_TRANSCENDENTAL):
                        self.transcendentals.update(dict.fromkeys(registers, self.now))


def _calls(inst: Instruction, lanes: int) -> tuple[VectorCall, ...]:
    """The vector operations of an instruction; none where it is another kind, such as a matrix instruction."""
    if not inst.name.startswith("v_") or inst.name.startswith(("v_mfma", "v_smfmac", "v_nop", "v_swap", "v_permlane", "v_readlane", "v_readfirst", "v_writelane")):
        return ()
    try:
        return vector_calls(inst, lanes)
    except UnknownInstruction:
        return ()  # the kernel is refused for it


def _memory_scalars(inst: Instruction) -> Iterator[int]:
    """The scalar registers of a memory instruction's address."""
    f = inst.fields
    if "srsrc" in f:
        yield from range(4 * f["srsrc"], 4 * f["srsrc"] + 4)
        yield f["soffset"]
    elif f.get("saddr", 127) < 127:
        yield from range(f["saddr"], f["saddr"] + (1 if inst.format.name == "SCRATCH" else 2))
