"""The body of a kernel in C: basic blocks as labels, instructions as calls of the functions of their forms."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from stackbuild.emulator.control_flow import BRANCHES, NOTHING, KernelCode, ReachedCode, branch_target, reached_code
from stackbuild.emulator.decoder import SCALAR_FORMATS, Instruction
from stackbuild.emulator.encodings import EncodingFamily
from stackbuild.emulator.function_table import FunctionTable
from stackbuild.emulator.hardware_registers import hardware_register
from stackbuild.emulator.matrices import matrix_call
from stackbuild.emulator.memory import LANE_MOVES, MemoryCall, is_coherent, is_load_into_lds, memory_call
from stackbuild.emulator.operands import SourceOperand, UnknownInstruction, source
from stackbuild.emulator.registers import BlockRegisters, address_checks, register_checks, waits, written_notes
from stackbuild.emulator.relative_moves import RELATIVE_MOVES, scalar_relative_move, vector_relative_move
from stackbuild.emulator.scalars import c_scalar, c_scalar_float, scalar_text
from stackbuild.emulator.vectors import LANE_MASKS, SUPPORTED_ENCODINGS, VectorCall, vector_calls
from stackbuild.emulator.wait_states import WaitStates

_LOADS = re.compile(r"s_(?:buffer_)?load_(?:dword|b)(?:x?(\d+))?$")
_PART_LOADS = re.compile(r"s_load_([iu])(8|16)$")


@dataclass
class KernelBody:
    """A kernel in C. `rows` are the vector registers it touches; `blocks` the first instruction of each counted block."""

    lines: list[str]
    rows: int
    blocks: list[int]
    instructions: dict[int, Instruction]


class _BodyWriter:
    def __init__(
        self, family: EncodingFamily, lanes: int, table: FunctionTable, counters: bool, sanitize: bool
    ) -> None:
        self.family, self.lanes, self.table = family, lanes, table
        self.counters, self.sanitize = counters, sanitize
        self.rows = 1
        self.base = 0
        self.index_mode: int | None = None
        """Between s_set_gpr_idx_on and _off: which operands the index is added to (1: src0, 8: the destination)."""
        self.begin_block()

    def begin_block(self) -> None:
        """Forget what is known of the basic block that was written before."""
        self.block_registers = BlockRegisters()
        self.wait_states = WaitStates(self.family.target != "gfx90a")

    def early_report(self, inst: Instruction) -> list[str]:
        """The report of an instruction of CDNA that comes too early behind another one of its basic block."""
        if not self.sanitize or self.family.name != "cdna":
            return []
        problem = self.wait_states.follow(inst, self.lanes)
        return [f"w->pc = {inst.offset - self.base};", f'w->calls->report(w, 22, -1, 0, "{problem}");'] if problem else []

    def write(self, inst: Instruction) -> list[str]:
        """C statements of one instruction. Raises UnknownInstruction."""
        if inst.name in NOTHING:
            return waits(inst) if self.sanitize else []
        if inst.name in RELATIVE_MOVES or (self.index_mode is not None and inst.name.startswith("v_")):
            return self.relative_move(inst)
        if self.sanitize:
            return [
                *register_checks(inst, self.lanes, inst.offset - self.base, self.block_registers),
                *self.plain(inst),
                *written_notes(inst, self.lanes, self.block_registers),
            ]
        return self.plain(inst)

    def plain(self, inst: Instruction) -> list[str]:
        """The statements without what the sanitizer adds but for memory."""
        name, kind = inst.name, inst.format.name
        if name in _SPECIAL:
            return _SPECIAL[name](self, inst)
        if kind == "SMEM":
            return self.scalar_load(inst)
        if kind in SCALAR_FORMATS:
            return self.scalar(inst)
        if name.startswith("v_s_"):
            return c_scalar_float(inst, self.lanes)
        if name.startswith(("v_mfma", "v_wmma")):
            return self.matrix(inst)
        if kind in SUPPORTED_ENCODINGS:
            return self.vector(inst)
        if kind in ("DS", "FLAT", "GLOBAL", "SCRATCH", "VFLAT", "VGLOBAL", "VSCRATCH", "MUBUF", "VBUFFER"):
            return self.memory(inst)
        raise UnknownInstruction(f"{name} is not known")

    def scalar(self, inst: Instruction) -> list[str]:
        if inst.name in ("s_getpc_b64",):
            return [f"set64(w->s + {inst.fields['sdst']}, w->image + {inst.end});"]
        if inst.name.startswith("s_movrel"):
            return scalar_relative_move(inst, self.lanes, inst.offset - self.base)
        if inst.name.startswith(("s_getreg", "s_setreg")):
            return hardware_register(inst, inst.offset - self.base)
        if any(part in inst.name for part in ("setpc", "swappc", "rfe", "call_b64", "setvskip")):
            raise UnknownInstruction(f"{inst.name} is not known")
        return c_scalar(inst, self.lanes)

    def scalar_load(self, inst: Instruction) -> list[str]:
        f, name = inst.fields, inst.name
        match, part = _LOADS.match(name), _PART_LOADS.match(name)
        if not match and not part:
            raise UnknownInstruction(f"{name} is not known")
        count = int(match[1] or 1) if match else 1
        words = count if "dword" in name or part else count // 32
        field_name = "ioffset" if "ioffset" in f else "offset"
        width = inst.format.fields[field_name].high - inst.format.fields[field_name].low + 1
        offset = f[field_name] - (1 << width) if f[field_name] >> width - 1 else f[field_name]
        is_buffer = name.startswith("s_buffer")
        parts = [f"(int64_t){offset}"]
        if inst.format.family == "cdna":
            if f["soffset_en"]:
                parts.append(f"S({f['soffset']})")
            if not f["imm"]:  # without either, the field of the offset names a register
                parts[0:1] = [] if f["soffset_en"] else [f"S({f['offset'] & 127})"]
        elif f["soffset"] != 124:
            parts.append(f"S({f['soffset']})")
        pc = [f"w->pc = {inst.offset - self.base};"]
        where = " + ".join(parts)
        address = f"get64(w->s + {f['sbase'] * 2}) + {where}"
        if is_buffer:
            lines = [*pc, f"scalar_buffer_load(w, {f['sdata']}, w->s + {f['sbase'] * 2}, {where}, {words});"]
        else:
            lines = [*pc, f"scalar_load(w, {f['sdata']}, {address}, {words});"]
        if part:
            bytes, is_signed = int(part[2]) // 8, int(part[1] == "i")
            lines = [*pc, f"scalar_load_part(w, {f['sdata']}, {address}, {bytes}, {is_signed});"]
        if self.sanitize:
            registers = [(f["sbase"] * 2, 4 if is_buffer else 2)]
            registers += [(int(part[2:-1]), 1) for part in parts if part.startswith("S(")]
            lines = [*address_checks(inst.offset - self.base, *registers), *lines]
            self.block_registers.scalars.difference_update(range(f["sdata"], f["sdata"] + words))
            lines.append(
                f"ISSUE(COUNTER_SCALAR); for (uint32_t r = 0; r < {words}; r++) w->shadow->scalar[{f['sdata']} + r] = w->shadow->starts[2];"
            )
        return lines

    def vector(self, inst: Instruction) -> list[str]:
        calls = vector_calls(inst, self.lanes)
        if len(calls) == 1:
            return self.vector_call(inst, calls[0])
        first, second = calls
        lines = ["{"]
        clash = next(
            (s for s in second.sources if first.target and s.kind == "v" and s.number == first.target.number), None
        )
        replacements: dict[int, str] = {}
        if clash and first.target:  # both read before either writes
            lines.append(f"memcpy(w->temp, V({clash.number}), 4 * LANES);")
            replacements[clash.number] = "w->temp"
        lines += self.vector_call(inst, first)
        lines += self.vector_call(inst, second, replacements)
        return [*lines, "}"]

    def vector_call(self, inst: Instruction, call: VectorCall, replacements: dict[int, str] | None = None) -> list[str]:
        symbol = self.table.vector(call.form)
        meaning = call.form.meaning()
        lines: list[str] = []
        mask = "EXECUTE"
        rows = [self.operand(s, replacements or {}) for s in call.sources]
        if inst.format.variant in ("DPP16", "DPP8") and call.sources:
            words = max(1, call.sources[0].bits // 32)
            lines.append(self.swizzle(inst, rows[0], words))
            mask, rows[0] = "m", "w->temp"
        arguments = [mask]
        if "D0" in meaning.writes and call.target:
            self.touch(call.target.registers)
            arguments.append(f"V({call.target.number})")
        arguments += rows
        if "VCCL" in meaning.reads:
            arguments.append(f"lane_mask(w->s + {call.mask_in})")
        if call.form.literal:
            arguments.append(f"{call.literal:#x}u")
        text = f"{symbol}({', '.join(arguments)})"
        if self.counters:
            lines.append("w->counts.lane_operations += (uint64_t)__builtin_popcountll(EXECUTE);")
        if any(name in meaning.writes for name in LANE_MASKS):
            text = self.set_mask(inst, call, text)
        lines.append(f"{text};")
        return ["{", *lines, "}"] if mask == "m" else lines

    def relative_move(self, inst: Instruction) -> list[str]:
        """A move whose registers M0 counts from."""
        f = inst.fields
        if inst.format.variant not in ("", "LIT") or (self.index_mode is not None and inst.name != "v_mov_b32"):
            raise UnknownInstruction(f"{inst.name} with a register index is not known")
        operand = None if f["src0"] >= 256 else scalar_text(source(inst, f["src0"], None, self.lanes))
        self.touch(range(max(f["vdst"], f["src0"] - 256) + 1))
        pc = inst.offset - self.base
        return vector_relative_move(inst, operand, self.index_mode, pc, sanitize=self.sanitize)

    def index_on(self, inst: Instruction) -> list[str]:
        f = inst.fields
        mode = f["ssrc1"] if inst.name == "s_set_gpr_idx_on" else 0
        if mode & ~9:
            raise UnknownInstruction(f"{inst.name} with mode {mode} is not known")
        self.index_mode = mode
        value = scalar_text(source(inst, f["ssrc0"], None, self.lanes))
        return [f"S(124) = (S(124) & 0xffff0f00u) | ({value} & 0xffu) | {mode << 12:#x}u;"]

    def index_off(self, inst: Instruction) -> list[str]:
        del inst
        self.index_mode = None
        return []

    def set_mask(self, inst: Instruction, call: VectorCall, text: str) -> str:
        if call.writes_exec:
            if inst.format.family != "cdna":
                return f"set_lane_mask(w->s + 126, {text})"
            other = call.mask_out if call.mask_out is not None else 106
            return f"{{ uint64_t r = {text}; set_lane_mask(w->s + {other}, r); set_lane_mask(w->s + 126, r); }}"
        if call.mask_out is None or (call.mask_out == 124 and inst.format.family != "cdna"):
            return text
        return f"set_lane_mask(w->s + {call.mask_out}, {text})"

    def operand(self, source: SourceOperand, replacements: dict[int, str]) -> str:
        if source.kind == "v":
            self.touch(source.registers)
            return replacements.get(source.number, f"V({source.number})")
        return scalar_text(source)

    def touch(self, registers: range) -> None:
        self.rows = max(self.rows, registers.stop)

    def swizzle(self, inst: Instruction, row: str, words: int) -> str:
        f = inst.fields
        if inst.format.variant == "DPP8":
            selects = sum(f[f"lane_sel_{i}"] << 3 * i for i in range(8))
            inactive = int(f.get("src0", 233) == 234)
            return f"uint64_t m = dpp8(w, EXECUTE, w->temp, {row}, {words}, {selects:#x}u, {inactive});"
        return (
            f"uint64_t m = dpp16(w, EXECUTE, w->temp, {row}, {words}, {f['dpp']:#x}u, {f['row_mask']:#x}u, {f['bank_mask']:#x}u, "
            f"{f['bc']}, {f.get('fi', 0)});"
        )

    def memory(self, inst: Instruction) -> list[str]:
        if inst.name in LANE_MOVES:
            return self.lane_move(inst)
        call = memory_call(inst)
        symbol, arguments = self.table.memory(inst)
        if is_load_into_lds(inst):
            return self.load_into_lds(inst, call, symbol, arguments)
        count = call.access.words * (2 if call.access.pair else 1)
        self.touch(range(call.target, call.target + count))
        self.touch(range(call.data, call.data + call.access.words * (2 if call.access.operation == "cmpswap" else 1)))
        if call.access.pair:
            self.touch(range(call.second, call.second + call.access.words))
        if call.address is not None:
            self.touch(range(call.address, call.address + 2))
        lines = [f"w->pc = {inst.offset - self.base};", f"{symbol}(w, EXECUTE, {', '.join(arguments)});"]
        return self.checked_access(inst, call, lines) if self.sanitize else lines

    def load_into_lds(self, inst: Instruction, call: MemoryCall, symbol: str, arguments: list[str]) -> list[str]:
        """A load whose words go to LDS: from M0's low half and the constant offset on, one place a lane, of whole words."""
        if inst.format.family != "cdna":
            raise UnknownInstruction(f"{inst.name} into LDS is not known")
        if call.address is not None:
            self.touch(range(call.address, call.address + 2))
        offset = f"(S(124) & 0xffffu) + {call.offsets[0] & 0xFFFFFFFF:#x}u"
        lines = [f"w->pc = {inst.offset - self.base};", f"{symbol}(w, EXECUTE, {', '.join(arguments)});"]
        lines.append(f"words_into_lds(w, EXECUTE, w->temp, {offset}, {call.access.words});")
        if not self.sanitize:
            return lines
        pc = inst.offset - self.base
        before = []
        if call.address is not None:
            words = 2 if call.wide else 1
            before.append(
                f'check_written(w, {pc}, {call.address}, {words}, "the address is in a register that was never written");'
            )
        scalars = [(124, 1)] if call.base is None else [(call.base, 2)]
        if call.buffer:
            scalars = [(call.buffer.descriptor, 4), (call.buffer.scalar_offset, 1)]
        return [*before, *address_checks(pc, *scalars), *lines, "ISSUE(COUNTER_VECTOR);"]

    def checked_access(self, inst: Instruction, call: MemoryCall, lines: list[str]) -> list[str]:
        """An access with the sanitizer's checks of its registers before and its notes behind."""
        pc, access = inst.offset - self.base, call.access
        before = []
        if call.address is not None:
            words = 2 if call.wide else 1
            before.append(
                f'check_written(w, {pc}, {call.address}, {words}, "the address is in a register that was never written");'
            )
        if (
            access.verb != "load" and access.space != "SPACE_SCRATCH"
        ):  # a function keeps its caller's registers in scratch
            check = f'check_written(w, {pc}, {call.data}, {access.words}, "what is stored was never written");'
            is_scratch = f"is_scratch(w->s + {call.buffer.descriptor})" if call.buffer else ""
            before.append(f"if (!{is_scratch}) {check}" if is_scratch else check)
        scalars = [] if call.base is None else [(call.base, 1 if access.space == "SPACE_SCRATCH" else 2)]
        if call.buffer:
            scalars += [(call.buffer.descriptor, 4), (call.buffer.scalar_offset, 1)]
        before += [*address_checks(pc, *scalars), f"w->shadow->coherent = {int(is_coherent(inst))};"]
        behind = []
        is_load = access.verb == "load" or access.returns
        if is_load:
            count = access.words * (2 if access.pair else 1)
            behind.append(f"note_written(w, {call.target}, {count});")
        stores = {"vs": "COUNTER_VECTOR"} if inst.format.family == "cdna" else {}  # RDNA counts stores apart
        for wait, counter in ({"vm": "COUNTER_VECTOR", "lgkm": "COUNTER_LDS"} | stores).items():
            if wait not in call.waits:
                continue
            behind.append(f"ISSUE({counter});")
            if is_load:
                self.block_registers.vectors.difference_update(range(call.target, call.target + count))
                behind.append(f"note_load(w, {call.target}, {count}, {counter});")
        return [*before, *lines, *behind]

    def lane_move(self, inst: Instruction) -> list[str]:
        f = inst.fields
        offset = f["offset0"] | f["offset1"] << 8
        target, address, data = f["vdst"], f["addr"], f["data0"]
        self.touch(range(max(target, address, data) + 1))
        parameters = "uint64_t m, uint32_t *d, const uint32_t *a, const uint32_t *x, uint32_t offset"
        name = inst.name
        if name == "ds_swizzle_b32":
            body = "    (void)x; swizzle(w, m, d, a, offset);"
        else:
            group = 64 if inst.format.family == "cdna" else 32  # RDNA's lanes are modulo 32 whatever the wave
            body = f"    {'bpermute' if 'bpermute' in name else 'permute'}(w, m, d, a, x, offset, {group});"
        symbol = self.table.special(name, f"void {{}}(struct wave *w, {parameters})", body)
        mask = "FULL" if name == "ds_bpermute_fi_b32" else "EXECUTE"
        lines = [
            f"w->pc = {inst.offset - self.base};",
            f"{symbol}(w, {mask}, V({target}), V({address}), V({data}), {offset});",
        ]
        if self.sanitize:
            self.block_registers.vectors.discard(target)
            lines += [
                "ISSUE(COUNTER_LDS);",
                f"note_written(w, {target}, 1);",
                f"note_load(w, {target}, 1, COUNTER_LDS);",
            ]
        return lines

    def matrix(self, inst: Instruction) -> list[str]:
        call = matrix_call(inst, self.lanes, self.table)
        self.touch(range(call.rows))
        return [call.text]

    # --- written out

    def readlane(self, inst: Instruction) -> list[str]:
        f = inst.fields
        if f["src0"] < 256:
            raise UnknownInstruction(f"{inst.name} of no vector register is not known")
        self.touch(range(f["src0"] - 256 + 1))
        lane = scalar_text(source(inst, f["src1"], None, self.lanes))
        return [f"S({f['vdst']}) = V({f['src0'] - 256})[{lane} & (LANES - 1)];"]

    def readfirstlane(self, inst: Instruction) -> list[str]:
        f = inst.fields
        if f["src0"] < 256:
            return [f"S({f['vdst']}) = {scalar_text(source(inst, f['src0'], None, self.lanes))};"]
        self.touch(range(f["src0"] - 256 + 1))
        return [f"S({f['vdst']}) = V({f['src0'] - 256})[first_lane(EXECUTE)];"]

    def writelane(self, inst: Instruction) -> list[str]:
        f = inst.fields
        self.touch(range(f["vdst"] + 1))
        value, lane = (scalar_text(source(inst, f[n], None, self.lanes)) for n in ("src0", "src1"))
        return [f"V({f['vdst']})[{lane} & (LANES - 1)] = {value};"]

    def swap(self, inst: Instruction) -> list[str]:
        f = inst.fields
        if f["src0"] < 256:
            raise UnknownInstruction(f"{inst.name} of no vector register is not known")
        d, s = f["vdst"], f["src0"] - 256
        self.touch(range(max(d, s) + 1))
        return [
            f"for (uint32_t l = 0; l < LANES; l++) if (EXECUTE >> l & 1) "
            f"{{ uint32_t t = V({d})[l]; V({d})[l] = V({s})[l]; V({s})[l] = t; }}"
        ]

    def permlane(self, inst: Instruction) -> list[str]:
        f = inst.fields
        if f["src0"] < 256:
            raise UnknownInstruction(f"{inst.name} of no vector register is not known")
        low, high = (scalar_text(source(inst, f[n], None, self.lanes)) for n in ("src1", "src2"))
        self.touch(range(max(f["vdst"], f["src0"] - 256) + 1))
        other = int("x16" in inst.name)
        return [
            f"permlane16(w, EXECUTE, V({f['vdst']}), V({f['src0'] - 256}), {low}, {high}, {other}, "
            f"{f['opsel'] & 1}, {f['opsel'] >> 1 & 1});"
        ]

    def trap(self, inst: Instruction) -> list[str]:
        return [f"w->pc = {inst.offset - self.base};", 'w->calls->report(w, 4, -1, 0, "");', "return WAVE_ERROR;"]

    def mode(self, inst: Instruction) -> list[str]:
        """s_round_mode and s_denorm_mode: only what HIP's kernels run with, nearest even and denormals kept."""
        if (inst.name == "s_round_mode" and inst.fields["simm16"] & 15 == 0) or (
            inst.name == "s_denorm_mode" and inst.fields["simm16"] & 15 == 15
        ):
            return []
        raise UnknownInstruction(f"{inst.name} {inst.fields['simm16']} is not known")

    def time(self, inst: Instruction) -> list[str]:
        return [f"set64(w->s + {inst.fields['sdata']}, (uint64_t)-w->fuel);"]


_SPECIAL = {
    "v_readlane_b32": _BodyWriter.readlane,
    "v_readfirstlane_b32": _BodyWriter.readfirstlane,
    "v_writelane_b32": _BodyWriter.writelane,
    "v_swap_b32": _BodyWriter.swap,
    "v_permlane16_b32": _BodyWriter.permlane,
    "v_permlanex16_b32": _BodyWriter.permlane,
    "s_set_gpr_idx_on": _BodyWriter.index_on,
    "s_set_gpr_idx_off": _BodyWriter.index_off,
    "s_trap": _BodyWriter.trap,
    "s_round_mode": _BodyWriter.mode,
    "s_denorm_mode": _BodyWriter.mode,
    "s_memtime": _BodyWriter.time,
    "s_memrealtime": _BodyWriter.time,
}


def kernel_body(
    code: KernelCode, lanes: int, table: FunctionTable, *, symbol: str, counters: bool, sanitize: bool
) -> KernelBody:
    """A kernel's function `int SYMBOL(struct wave *w)` in C. Raises UnknownInstruction and DecodeError."""
    reachable_code, entry = reached_code(code), code.entry
    instructions = reachable_code.instructions
    leaders = reachable_code.leaders(entry)
    writer = _BodyWriter(code.family, lanes, table, counters, sanitize)
    writer.base = entry
    resumes = [0]
    lines: list[str] = []
    numbers = {at: i for i, at in enumerate(leaders)}
    for at, inst in instructions.items():
        if at in numbers:
            if writer.index_mode is not None:
                raise UnknownInstruction(f"a jump into s_set_gpr_idx_on is not known (at {at - entry:#x})")
            lines.append(f"L{at}:;")
            writer.begin_block()
            if counters:
                lines.append(f"w->blocks[{numbers[at]}]++;")
        try:
            lines += writer.early_report(inst)
            lines += _instruction(writer, inst, reachable_code, resumes, entry)
        except UnknownInstruction as error:
            raise UnknownInstruction(f"{error.what} (at {at - entry:#x})") from None
        if inst.end not in instructions and not _ends(inst):
            lines += [f"w->pc = {inst.offset - entry};", 'w->calls->report(w, 6, -1, 0, "");', "return WAVE_ERROR;"]
    head = [f"int {symbol}(struct wave *w)", "{", "uint64_t to;", "switch (w->resume) {"]
    head += [f"case {i}: {f'goto R{i};' if i else 'break;'}" for i in resumes]
    tail = ["JUMP:;", "switch (to) {", *(f"case {at}: goto L{at};" for at in sorted(reachable_code.addresses)), "}"]
    tail += ['w->calls->report(w, 6, -1, to, "a jump to where no instruction is known");', "return WAVE_ERROR;"]
    return KernelBody([*head, "}", f"goto L{entry};", *lines, *tail, "}"], writer.rows, leaders, instructions)


def unknown_instructions(code: KernelCode, lanes: int, table: FunctionTable) -> tuple[Counter[str], int]:
    """Why instructions of a kernel are refused, each cause with its number, and how many instructions there are.

    Raises DecodeError.
    """
    reachable_code = reached_code(code)
    writer = _BodyWriter(code.family, lanes, table, counters=False, sanitize=False)
    writer.base = code.entry
    causes = Counter[str]()
    for inst in reachable_code.instructions.values():
        try:
            _instruction(writer, inst, reachable_code, [0], code.entry)
        except UnknownInstruction as error:
            causes[error.what] += 1
    return causes, len(reachable_code.instructions)


def _ends(inst: Instruction) -> bool:
    return inst.name in (
        "s_branch",
        "s_setpc_b64",
        "s_swappc_b64",
        "s_endpgm",
        "s_endpgm_saved",
        "s_trap",
        "s_code_end",
    )


def _instruction(
    writer: _BodyWriter, inst: Instruction, reachable_code: ReachedCode, resumes: list[int], entry: int
) -> list[str]:
    if inst.name in BRANCHES:
        target = branch_target(inst)
        if target not in reachable_code.instructions:
            jump = f'{{ w->pc = {inst.offset - entry}; w->calls->report(w, 6, -1, 0, ""); return WAVE_ERROR; }}'
        elif target <= inst.offset:
            jump = f"{{ w->pc = {inst.offset - entry}; if (ends_early(w)) return WAVE_ERROR; goto L{target}; }}"
        else:
            jump = f"goto L{target};"
        return [f"if ({BRANCHES[inst.name]}) {jump}"] if inst.name != "s_branch" else [jump]
    if inst.name in ("s_setpc_b64", "s_swappc_b64"):
        return _jump(inst, reachable_code, entry)
    if inst.name in ("s_endpgm", "s_endpgm_saved"):
        return ["return WAVE_END;"]
    if inst.name == "s_code_end":
        return [f"w->pc = {inst.offset - entry};", 'w->calls->report(w, 6, -1, 0, "");', "return WAVE_ERROR;"]
    if inst.name in ("s_barrier", "s_barrier_wait"):
        resumes.append(resumes[-1] + 1)
        number = resumes[-1]
        return [f"w->pc = {inst.offset - entry};", f"w->resume = {number};", "return WAVE_BARRIER;", f"R{number}:;"]
    if inst.name == "s_barrier_signal":
        return []
    return writer.write(inst)


def _jump(inst: Instruction, reachable_code: ReachedCode, entry: int) -> list[str]:
    """A jump to the address in two registers, one of those that the kernel itself makes."""
    if not reachable_code.addresses:
        raise UnknownInstruction(f"{inst.name} to an address that the kernel does not make is not known")
    lines = [f"to = get64(w->s + {inst.fields['ssrc0']}) - w->image;", f"w->pc = {inst.offset - entry};"]
    if inst.name == "s_swappc_b64":
        lines.append(f"set64(w->s + {inst.fields['sdst']}, w->image + {inst.end});")
    return [*lines, "if (ends_early(w)) return WAVE_ERROR;", "goto JUMP;"]
