"""Scalar ALU instructions → C statements over the wave's scalar registers."""

from __future__ import annotations

from stackbuild.emulator.c_code import declarations, missing_functions, statements
from stackbuild.emulator.corrections import code_of
from stackbuild.emulator.decoder import Instruction
from stackbuild.emulator.operands import NULL, SourceOperand, UnknownInstruction, source
from stackbuild.emulator.pseudocode import PseudocodeError
from stackbuild.emulator.semantics import semantics
from stackbuild.emulator.typed_values import Semantics


def scalar_sources(inst: Instruction, lanes: int) -> list[SourceOperand]:
    """The scalar operands that are read, in order; of s_cmpk and the like the register in the target's field."""
    kinds, f = inst.operation.operands, inst.fields
    operands = [source(inst, f[name], kinds[name], lanes) for name in ("ssrc0", "ssrc1") if name in f and name in kinds]
    if inst.format.name == "SOPK" and "cmpk" in inst.name:
        operands = [SourceOperand("s", f["sdst"], 32, "B32")]
    return operands


def target_bits(inst: Instruction) -> int:
    """The width of the destination."""
    operand = inst.operation.operands.get("sdst")
    return operand.bits if operand else 32


def scalar_meaning(inst: Instruction, lanes: int) -> Semantics:
    """The statements of a scalar instruction. Raises UnknownInstruction."""
    code = code_of(inst.name, inst.operation.code)
    if not code:
        raise UnknownInstruction(f"{inst.name} is not known")
    widths = [64, 64, 64, max(32, target_bits(inst))]
    for i, operand in enumerate(scalar_sources(inst, lanes)):
        widths[i] = max(32, operand.bits)
    try:
        meaning = semantics(code, lanes, widths, {"SIMM16": inst.fields.get("simm16", 0), "SIMM32": inst.literal})
    except PseudocodeError as error:
        raise UnknownInstruction(f"{inst.name} is not known: {error.what}") from None
    unknown_names = (meaning.reads | meaning.writes) & {"LANE", "VCCL", "D0L", "EXECL", "SIMM32"}
    unknown_names |= {f"S{i}" for i in range(len(scalar_sources(inst, lanes)), 3)} & meaning.reads
    if unknown_names:
        raise UnknownInstruction(f"{inst.name} is not known: it uses {', '.join(sorted(unknown_names))}")
    return meaning


def scalar_text(operand: SourceOperand) -> str:
    """C text of a scalar operand, raw bits."""
    if operand.kind == "c":
        return f"{operand.number:#x}ull" if operand.bits > 32 else f"{operand.number & 0xFFFFFFFF:#x}u"
    if operand.kind == "s":
        return f"get64(w->s + {operand.number})" if operand.bits == 64 else f"S({operand.number})"
    if operand.name in ("shared_base", "private_base"):
        aperture = "SHARED_APERTURE" if operand.name == "shared_base" else "PRIVATE_APERTURE"
        return aperture if operand.bits == 64 else f"(uint32_t)({aperture} >> 32)"
    if operand.name == "vccz":
        return "(lane_mask(w->s + 106) == 0)"
    if operand.name == "execz":
        return "(EXECUTE == 0)"
    if operand.name == "scc":
        return "w->scc"
    raise UnknownInstruction(f"source {operand.name} is not known")


def c_scalar(inst: Instruction, lanes: int) -> list[str]:
    """The C block of a scalar instruction. Raises UnknownInstruction."""
    meaning = scalar_meaning(inst, lanes)
    lines = ["{"]
    for i, operand in enumerate(scalar_sources(inst, lanes)):
        kind = "uint64_t" if operand.bits > 32 else "uint32_t"
        lines.append(f"{kind} S{i} = {scalar_text(operand)};")
    registers = meaning.reads | meaning.writes
    if "SCC" in registers:
        lines.append("uint32_t SCC = w->scc;")
    if "EXEC" in registers:
        lines.append("uint64_t EXEC = EXECUTE;")
    if "VCC" in registers:
        lines.append("uint64_t VCC = lane_mask(w->s + 106);")
    if "M0" in registers:
        lines.append(f"uint32_t M0 = S({124 if inst.format.family == 'cdna' else 125});")
    bits, target = target_bits(inst), inst.fields.get("sdst", 0)
    wide = bits == 64
    if "D0" in registers:
        lines.append(f"uint{max(32, bits)}_t D0 = {f'get64(w->s + {target})' if wide else f'S({target})'};")
    lines += declarations(meaning)
    body = statements(meaning.statements)
    if missing := missing_functions(body):
        raise UnknownInstruction(f"{inst.name} is not known: C has no {', '.join(sorted(missing))}")
    lines += body
    if "SCC" in meaning.writes:
        lines.append("w->scc = SCC;")
    if "EXEC" in meaning.writes:
        lines.append("set_lane_mask(w->s + 126, EXEC);")
    if "VCC" in meaning.writes:
        lines.append("set_lane_mask(w->s + 106, VCC);")
    if "D0" in meaning.writes and not (target == NULL and inst.format.family != "cdna"):
        lines.append(f"set64(w->s + {target}, D0);" if wide else f"S({target}) = D0;")
    return [*lines, "}"]


def c_scalar_float(inst: Instruction, lanes: int) -> list[str]:
    """The C block of a transcendental of scalar registers, `v_s_rcp_f32` and the like. Raises UnknownInstruction."""
    f, name = inst.fields, inst.name
    if f["omod"] or f["clmp"] or f["neg"] or f["abs"] or not name.endswith("_f32"):
        raise UnknownInstruction(f"{name} in this form is not known")
    plain = name.replace("v_s_", "v_", 1)
    meaning = semantics(code_of(plain, ""), lanes, [64, 64, 64, 32])
    operand = source(inst, f["src0"], inst.operation.operands["src0"], lanes)
    body = statements(meaning.statements)
    return [
        "{", f"uint32_t S0 = {scalar_text(operand)};", "uint32_t D0 = 0;", *declarations(meaning), *body, f"S({f['vdst']}) = D0;", "}"
    ]  # fmt: skip
