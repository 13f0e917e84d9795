"""Moves whose register is a number in the instruction plus M0: v_movrel*, s_movrel*, and v_mov_b32 under s_set_gpr_idx_on."""

from __future__ import annotations

from stackbuild.emulator.decoder import Instruction
from stackbuild.emulator.encodings import OperandType
from stackbuild.emulator.operands import M0_CDNA, M0_RDNA, UnknownInstruction, source
from stackbuild.emulator.scalars import scalar_text

RELATIVE_MOVES = {"v_movrels_b32": 1, "v_movreld_b32": 8, "v_movrelsd_b32": 9, "v_movrelsd_2_b32": 9}
"""Which operands the index is added to: 1 the source, 8 the destination, as in s_set_gpr_idx_on."""
_FAILURE = 'w->calls->report(w, 4, -1, 0, "an index in M0 leads beyond the registers"); return WAVE_ERROR;'
_SCALARS = 106


def _m0(inst: Instruction) -> str:
    return f"S({M0_CDNA if inst.format.family == 'cdna' else M0_RDNA})"


def vector_relative_move(
    inst: Instruction, operand: str | None, index_mode: int | None, pc: int, *, sanitize: bool
) -> list[str]:
    """The C block of a move. `operand` is a scalar source, `index_mode` that of s_set_gpr_idx_on.

    An index beyond the registers ends the kernel as a trap.
    """
    f, name = inst.fields, inst.name
    mode = RELATIVE_MOVES[name] if index_mode is None else index_mode
    index = _m0(inst) if index_mode is None else f"({_m0(inst)} & 0xffu)"
    low, high = (f"({index} & 0x3ffu)", f"({index} >> 16 & 0x3ffu)") if name == "v_movrelsd_2_b32" else (index, index)
    target = f"{f['vdst']}u" + (f" + {high}" if mode & 8 else "")
    lines = [f"uint32_t target = {target};"]
    limits = ["target >= w->rows"]
    value = operand
    if operand is None:
        lines.append(f"uint32_t from = {f['src0'] - 256}u" + (f" + {low};" if mode & 1 else ";"))
        limits.append("from >= w->rows")
        value = "V(from)[l]"
    elif mode & 1:
        raise UnknownInstruction(f"{name} with an index of no vector register is not known")
    lines.append(f"if ({' || '.join(limits)}) {{ w->pc = {pc}; {_FAILURE} }}")
    if sanitize:
        lines += [
            f"check_vectors(w, {pc}, {row}, 1);" for row in (["target", "from"] if operand is None else ["target"])
        ]
    lines.append(f"for (uint32_t l = 0; l < LANES; l++) if (EXECUTE >> l & 1) V(target)[l] = {value};")
    if sanitize:
        lines.append("note_written(w, target, 1);")
    return ["{", *lines, "}"]


def scalar_relative_move(inst: Instruction, lanes: int, pc: int) -> list[str]:
    """The C block of s_movrels or s_movreld. Raises UnknownInstruction for other forms.

    The index of s_movrels is added to a plain register, s_movreld moves any source.
    """
    f, name, index = inst.fields, inst.name, _m0(inst)
    words = 2 if name.endswith("64") else 1
    if name in ("s_movrels_b32", "s_movrels_b64") and f["ssrc0"] < _SCALARS:
        lines = [f"uint32_t target = {f['sdst']}u, from = {f['ssrc0']}u + {index};"]
        wrong, value = f"from > {_SCALARS - words}", "get64(w->s + from)" if words == 2 else "S(from)"
    elif name in ("s_movreld_b32", "s_movreld_b64"):
        lines = [f"uint32_t target = {f['sdst']}u + {index};"]
        wrong, value = "0", scalar_text(source(inst, f["ssrc0"], OperandType(f"FMT_NUM_B{32 * words}", 32 * words, ""), lanes))
    else:
        raise UnknownInstruction(f"{name} is not known")
    lines.append(f"if (target > {_SCALARS - words} || {wrong}) {{ w->pc = {pc}; {_FAILURE} }}")
    lines.append(f"set64(w->s + target, {value});" if words == 2 else f"S(target) = {value};")
    return ["{", *lines, "}"]
