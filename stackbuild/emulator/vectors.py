"""Vector ALU instructions → C functions over the lanes of a wave, one function for each form that a code object uses.

A function takes the mask of active lanes, rows of registers and scalars by value. Two instructions that differ in their
registers alone share a function.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from stackbuild.emulator.c_code import declarations, missing_functions, statements
from stackbuild.emulator.corrections import EIGHT_BITS, code_of
from stackbuild.emulator.decoder import Instruction
from stackbuild.emulator.encodings import OperandType, Operation
from stackbuild.emulator.operands import (
    VCC,
    SourceOperand,
    TargetOperand,
    UnknownInstruction,
    form_of,
    source,
    truth_table,
    vector_sources,
)
from stackbuild.emulator.pseudocode import PseudocodeError
from stackbuild.emulator.saturation import saturated_code
from stackbuild.emulator.semantics import semantics
from stackbuild.emulator.typed_values import Semantics

LANE_MASKS = ("VCCL", "D0L", "EXECL")
"""The masks that an instruction writes a lane at a time."""
SUPPORTED_ENCODINGS = (
    "VOP1",
    "VOP2",
    "VOP3",
    "VOP3SD",
    "VOP3P",
    "VOPC",
    "VOP3_SDST",
    "VOP1_SDST",
    "VOPD",
    "VOP3P_MFMA",
)
_SIGN = {16: 0x8000, 32: 0x80000000, 64: 0x8000000000000000}
_ZERO_HIGH = ("VOP1", "VOP2")
_NO_OUTPUT_MODIFIER = ("cdna", "rdna3")
"""Families whose output modifiers (`mul:2`) have no effect where denormals are kept, which they always are here (RDNA3's guide,
"VALU Instructions"; LLVM's SIFoldOperands::isOMod)."""
_DWORD = 6
_BYTE_PARTS = (0, 1, 2, 3, 4, _DWORD)
_WORD_PARTS = (4, 5, _DWORD)
"""Values of `src0_sel` for which a conversion of one byte, and of two, reads what the guide of CDNA3 says (its pseudocode tests
for BYTE_1 to BYTE_3, and compares two bits with WORD_1). It has another meaning than SDWA's for the other values."""
_UNCLAMPED_OPERATIONS = ("v_dot2_f32_f16", "v_dot2_f32_bf16")
"""Operations whose clamp bit has no effect. The guides do not say so; bitsandbytes' 4-bit products set it on sums far outside of
0 to 1, and are right on a gfx1100 (bitsandbytes-foundation/bitsandbytes#1979, #2089)."""


@dataclass(frozen=True)
class VectorForm:
    """A vector operation with its modifiers, registers left out: what one C function, or one Python function, does.

    `mask_source` says where `VCC` is read, "" where it is not. `result_half` writes the upper 16 bits, `zero_high` clears
    them. `output` is "vector" or "mask".
    """

    name: str
    code: str
    lanes: int
    sources: tuple[SourceOperand, ...]
    bits: int
    constants: tuple[tuple[str, int], ...]
    literal: bool
    output_modifier: int
    clamp: bool
    result_half: bool
    zero_high: bool
    select: int
    unused_mode: int

    def meaning(self) -> Semantics:
        """The operation's statements. Raises PseudocodeError."""
        widths = [64, 64, 64, self.bits]
        for i, operand in enumerate(self.sources):
            widths[i] = max(operand.bits, 32)
        return semantics(self.code, self.lanes, widths, dict(self.constants))


@dataclass(frozen=True)
class VectorCall:
    """One vector instruction: its form and its registers.

    `mask_in` is the scalar register (or None) that holds the mask read, `mask_out` the one that is written. `executes` is
    whether EXEC is written (v_cmpx).
    """

    form: VectorForm
    sources: tuple[SourceOperand, ...]
    target: TargetOperand | None
    mask_in: int | None
    mask_out: int | None
    writes_exec: bool
    literal: int


def vector_calls(inst: Instruction, lanes: int) -> tuple[VectorCall, ...]:
    """The one operation of an instruction, or the two of a dual one. Raises UnknownInstruction."""
    if inst.format.name == "VOPD":
        return _dual(inst, lanes)
    return (_single(inst, lanes),)


def _single(inst: Instruction, lanes: int) -> VectorCall:
    f = inst.fields
    sources = tuple(vector_sources(inst, lanes))
    kinds = inst.operation.operands
    place = kinds.get("vdst")
    name, code = inst.name, code_of(inst.name, inst.operation.code)
    constants: tuple[tuple[str, int], ...] = ()
    if not code and not name.startswith("v_nop"):
        raise UnknownInstruction(f"{name} is not known: the tables do not say what it does")
    if "_mix" in name:
        sources, code = _mixed_operands(inst, sources)
    elif inst.format.name == "VOP3P" and inst.format.variant.startswith("DPP"):
        raise UnknownInstruction(f"{name} with DPP is not known")
    elif inst.format.name == "VOP3P":
        if name == "v_pk_mov_b32":
            constants = (("OPSEL", f["opsel"]),)
            sources = tuple(replace(s, swizzle=None) for s in sources)
        elif name.startswith(("v_dot4_i32_iu8", "v_dot8_i32_iu4")):  # the signs say which factors are signed
            constants = (("NEG", f["neg"]),)
            sources = tuple(replace(s, swizzle=None) for s in sources)
        elif "OPSEL" in code:
            raise UnknownInstruction(f"{name} is not known")
    has_modifier = inst.format.name != "VOP3P" and inst.format.family not in _NO_OUTPUT_MODIFIER
    omod = f.get("omod", 0) if has_modifier else 0
    clamp = bool(f.get("clmp", 0)) and not name.startswith(_UNCLAMPED_OPERATIONS)
    if clamp and (clamp_code := saturated_code(name, code)):
        code, clamp = clamp_code, False
    if name.startswith("v_bitop3"):
        constants, omod = (("TTBL", truth_table(inst)),), 0
        sources = tuple(replace(s, negate=False, absolute=False) for s in sources)
    mask_in = mask_out = None
    if inst.format.name == "VOP3SD":
        mask_out = f["sdst"]
        if len(sources) == 3 and sources[2].form == "M64":
            mask_in, sources = _mask_register(name, sources[2]), sources[:2]
        elif "VCC" in code and "div_scale" not in name:
            mask_in = VCC
    elif inst.format.name == "VOP3_SDST" or (inst.format.name == "VOP3" and name.startswith("v_cmpx")):
        mask_out = f["vdst"]
    elif inst.format.name == "VOPC":
        mask_out = f["sdst"] if f.get("sd") else VCC
    elif len(sources) == 3 and sources[2].form == "M64":
        mask_in, sources = _mask_register(name, sources[2]), sources[:2]
    elif "VCC" in code:
        mask_in = VCC
        if inst.format.name == "VOP2" and re.search(r"VCC\S* =", code):
            mask_out = VCC
    target = None
    if name.startswith("v_dot2") and "bf16" in name and name != "v_dot2_f32_bf16":
        raise UnknownInstruction(f"{name} is not known")
    writes_vector = inst.format.name not in ("VOPC", "VOP3_SDST", "VOP1_SDST")
    if writes_vector:
        target = TargetOperand(
            "v",
            f["vdst"] + (256 if place and place.place == "OPR_ACCVGPR" else 0),
            place.bits if place else 32,
            form_of(place),
        )
    short = inst.format.name in ("VOP1", "VOP2") and inst.format.family != "cdna"
    half = (
        bool(f.get("opsel", 0) >> 3 & 1)
        and inst.format.name == "VOP3"
        and bool(place)
        and (place.bits == 16 if place else False)
    )
    if target and short and target.bits == 16 and target.number >= 128:
        target, half = replace(target, number=target.number - 128), True
    if name in ("v_accvgpr_read", "v_accvgpr_mov_b32"):
        if sources[0].kind != "v":
            raise UnknownInstruction(f"{name} of no accumulation register is not known")
        sources = (replace(sources[0], number=sources[0].number + 256),)
    eight_bits = inst.name in EIGHT_BITS
    if eight_bits and sources[0].bits == 8 and f.get("opsel"):
        raise UnknownInstruction(f"{name} of another byte is not known")
    if eight_bits and inst.format.variant.startswith("SDWA"):
        _refuse_other_parts(inst)
    if (
        inst.format.variant.startswith("SDWA")
        and not eight_bits
        and max([target.bits if target else 32, *(s.bits for s in sources)]) > 32
    ):
        raise UnknownInstruction(f"{name} with SDWA is not known")
    if target and target.bits > 64:
        raise UnknownInstruction(f"{name} is not known")
    form = VectorForm(
        name, code, lanes, tuple(_shape(s) for s in sources), max(target.bits, 32) if target else 32, constants,
        "SIMM32" in code, omod, clamp, half,
        bool(target and target.bits == 16 and inst.format.family == "cdna" and inst.format.name in _ZERO_HIGH)
        or bool(target and target.bits == 16 and inst.format.family == "cdna" and inst.format.name == "VOP3" and _is_short(name)),
        f.get("dst_sel", 6), f.get("dst_unused", 0),
    )  # fmt: skip
    literal = inst.literal
    return VectorCall(form, sources, target, mask_in, mask_out, "v_cmpx" in name, literal)


def _refuse_other_parts(inst: Instruction) -> None:
    """Raise UnknownInstruction for a field of SDWA that LLVM's assembler does not have in conversions from eight bits: a part
    of the result, or a modifier of the operand. The same for a part of the operand that is not a byte or a word of the guide."""
    f = inst.fields
    parts = _WORD_PARTS if "_pk_" in inst.name else _BYTE_PARTS
    others = [name for name in ("src0_sext", "src0_neg", "src0_abs") if f[name]]
    others += [name for name, values in (("dst_sel", (_DWORD,)), ("src0_sel", parts)) if f[name] not in values]
    if others:
        raise UnknownInstruction(f"{inst.name} with {others[0]} = {f[others[0]]} is not known")


def _mask_register(name: str, operand: SourceOperand) -> int:
    """The scalar register of a mask. Raises UnknownInstruction for a constant."""
    if operand.kind != "s":
        raise UnknownInstruction(f"{name} with a constant mask is not known")
    return operand.number


def _is_short(name: str) -> bool:
    """Whether an operation of CDNA has a short encoding too: those clear the upper half of a 16-bit result, as do the
    older forms of long ones (LLVM's GCNSubtarget::zeroesHigh16BitsOfDest)."""
    return "_legacy_" in name or not name.startswith(
        (*EIGHT_BITS, "v_mad_", "v_fma_", "v_div_fixup", "v_med3", "v_max3", "v_min3", "v_pack", "v_interp", "v_bitop3")
    )


def _shape(source: SourceOperand) -> SourceOperand:
    """A source without its register: "v" or a scalar."""
    return replace(source, kind="v" if source.kind == "v" else "s", number=0, name="")


def _mixed_operands(inst: Instruction, sources: tuple[SourceOperand, ...]) -> tuple[tuple[SourceOperand, ...], str]:
    """v_fma_mix: each operand is float32, or one half of a register as float16."""
    operands, terms = [], []
    for i, operand in enumerate(sources):
        low, high, negate, absolute = operand.swizzle or (0, 0, 0, 0)
        bits = 16 if high else 32
        operands.append(
            replace(
                operand,
                swizzle=None,
                bits=bits,
                form=f"F{bits}",
                half=bool(high and low),
                negate=bool(negate),
                absolute=bool(absolute),
            )
        )
        terms.append(f"f16_to_f32(S{i}.f16)" if high else f"S{i}.f32")
    value = f"fma({', '.join(terms)})"
    if "mixlo" in inst.name:
        return tuple(operands), f"D0[15 : 0].f16 = f32_to_f16({value})"
    if "mixhi" in inst.name:
        return tuple(operands), f"D0[31 : 16].f16 = f32_to_f16({value})"
    return tuple(operands), f"D0.f32 = {value}"


def _dual(inst: Instruction, lanes: int) -> tuple[VectorCall, ...]:
    f = inst.fields
    calls = []
    y = f["vdsty"] << 1 | ((f["vdstx"] & 1) ^ 1)
    rows = ((inst.operation, "srcx0", "vsrcx1", f["vdstx"]), (inst.second or inst.operation, "srcy0", "vsrcy1", y))
    for operation, first, second, target in rows:
        calls.append(_half(inst, operation, f[first], f[second], target, lanes))
    return tuple(calls)


def _half(inst: Instruction, operation: Operation, first: int, second: int, target: int, lanes: int) -> VectorCall:
    name = operation.name
    if name in ("v_dual_dot2acc_f32_f16", "v_dual_dot2acc_f32_bf16"):
        raise UnknownInstruction(f"{name} is not known")
    code = code_of(name, operation.code)
    operand_type = OperandType("FMT_NUM_F32" if "f32" in name else "FMT_NUM_B32", 32, "")
    sources = [source(inst, first, operand_type, lanes)]
    if "mov" not in name:
        sources.append(source(inst, second + 256, operand_type, lanes))
    form = VectorForm(
        name, code, lanes, tuple(_shape(s) for s in sources), 32, (), "SIMM32" in code, 0, False, False, False, 6, 0
    )
    mask_in = VCC if "VCC" in code else None
    return VectorCall(form, tuple(sources), TargetOperand("v", target, 32, "B32"), mask_in, None, False, inst.literal)


# --- C


def c_function(form: VectorForm, symbol: str) -> str:
    """The definition of a form's function. Raises UnknownInstruction."""
    try:
        meaning = form.meaning()
    except PseudocodeError as error:
        raise UnknownInstruction(f"{form.name} is not known: {error.what}") from None
    unknown_names = (meaning.reads | meaning.writes) & {"SCC", "M0", "VCC", "EXEC", "SIMM16"}
    unknown_names |= {f"S{i}" for i in range(len(form.sources), 3)} & meaning.reads
    if unknown_names:
        raise UnknownInstruction(f"{form.name} is not known: it uses {', '.join(sorted(unknown_names))}")
    body = _body(form, meaning)
    if missing := missing_functions(body):
        raise UnknownInstruction(f"{form.name} is not known: C has no {', '.join(sorted(missing))}")
    mask = [name for name in LANE_MASKS if name in meaning.writes]
    lines = [f"{signature(form, symbol, meaning)}\n{{"]
    if mask:
        lines.append("    uint32_t bits[LANES] = {0};")
        body += [f"bits[l] = {mask[0]};"]
    inner = "\n".join(f"        {line}" for line in body)
    if "D0" in meaning.writes:
        lines += [f"    if (m == FULL) {{ EACH_LANE {{\n{inner}\n    }} }} else {{ EACH_LANE {{"]
        lines += [f"        if (!(m >> l & 1)) continue;\n{inner}\n    }} }}"]
    else:
        lines += [f"    EACH_LANE {{\n{inner}\n    }}"]
    lines.append("    return pack_lanes(bits) & m;\n}" if mask else "}")
    return "\n".join(lines)


def signature(form: VectorForm, symbol: str, meaning: Semantics | None = None) -> str:
    """The C declaration, without a semicolon."""
    meaning = meaning or form.meaning()
    parameters = ["uint64_t m"]
    if "D0" in meaning.writes:
        parameters.append("uint32_t *d")
    for i, operand in enumerate(form.sources):
        parameters.append(f"const uint32_t *a{i}" if operand.kind == "v" else f"uint64_t a{i}")
    if "VCCL" in meaning.reads:
        parameters.append("uint64_t vcc")
    if form.literal:
        parameters.append("uint32_t SIMM32")
    returns = "uint64_t" if any(name in meaning.writes for name in LANE_MASKS) else "void"
    return f"{returns} {symbol}({', '.join(parameters)})"


def _body(form: VectorForm, meaning: Semantics) -> list[str]:
    lines = ["uint32_t LANE = l; (void)LANE;"]
    for i, operand in enumerate(form.sources):
        lines += _fetch(i, operand)
    wide = form.bits == 64
    kind = "uint64_t" if wide else "uint32_t"
    if "D0" in meaning.writes:
        old = "d[l] | (uint64_t)d[LANES + l] << 32" if wide else "d[l]"
        lines.append(f"{kind} D0 = {old if 'D0' in meaning.reads or _keeps(form, meaning) else '0'};")
        if _keeps(form, meaning):
            lines.append(f"{kind} before = D0;")
    if "VCCL" in meaning.reads or "VCCL" in meaning.writes:
        lines.append("uint32_t VCCL = " + ("vcc >> l & 1;" if "VCCL" in meaning.reads else "0;"))
    lines += [f"uint32_t {name} = 0;" for name in ("D0L", "EXECL") if name in meaning.writes]
    lines += declarations(meaning)
    lines += statements(meaning.statements)
    if "D0" in meaning.writes:
        lines += _store(form, meaning)
    return lines


def _keeps(form: VectorForm, meaning: Semantics) -> bool:
    """Whether a part of the destination stays as it was."""
    if form.select != 6:
        return form.unused_mode == 2
    return meaning.result.bits == 16 and (form.result_half or not form.zero_high)


def _fetch(i: int, source: SourceOperand) -> list[str]:
    name = f"S{i}"
    wide = source.bits > 32
    kind = "uint64_t" if wide else "uint32_t"
    if source.kind == "v":
        text = f"a{i}[l] | (uint64_t)a{i}[LANES + l] << 32" if wide else f"a{i}[l]"
    else:
        text = f"({kind})a{i}"
    lines = [f"{kind} {name} = {text};"]
    return lines + [f"{name} = {step};" for step in modifier_steps(name, source)]


def modifier_steps(name: str, source: SourceOperand) -> list[str]:
    """What modifiers make of a raw operand, each an expression that C and Python understand alike."""
    steps = []
    if source.select != 6:
        low, width = (source.select * 8, 8) if source.select < 4 else ((source.select - 4) * 16, 16)
        mask = (1 << width) - 1
        steps.append(f"({name} >> {low}) & {mask}")
        if source.extend:
            top = 1 << width - 1
            steps.append(f"({name} ^ {top}) - {top} & 0xffffffff")
    if source.half:
        steps.append(f"{name} >> 16")
    bits = source.bits if source.select == 6 else (16 if source.form in ("F16",) else 32)
    sign = _SIGN.get(bits, 0x80000000)
    suffix = "ull" if bits == 64 else "u"
    if source.absolute:
        steps.append(f"{name} & {sign - 1:#x}{suffix}")
    if source.negate:
        steps.append(f"{name} ^ {sign:#x}{suffix}")
    if source.swizzle is not None:
        steps += _swizzle(name, source)
    return steps


def _swizzle(name: str, source: SourceOperand) -> list[str]:
    low, high, negate, negate_high = source.swizzle or (0, 1, 0, 0)
    steps = []
    if source.bits == 64 and source.form.startswith("PK2"):
        if (low, high) != (0, 1):
            picks = [f"({name} >> {32 * bit} & 0xffffffffull)" for bit in (low, high)]
            steps.append(f"{picks[0]} | {picks[1]} << 32")
        flips = (0x80000000 if negate else 0) | (0x8000000000000000 if negate_high else 0)
        if flips:
            steps.append(f"{name} ^ {flips:#x}ull")
    elif source.form.startswith("PK2") and source.bits == 32:
        if (low, high) != (0, 1):
            picks = [f"({name} >> {16 * bit} & 0xffffu)" for bit in (low, high)]
            steps.append(f"{picks[0]} | {picks[1]} << 16")
        flips = (0x8000 if negate else 0) | (0x80000000 if negate_high else 0)
        if flips:
            steps.append(f"{name} ^ {flips:#x}u")
    elif negate or negate_high or (low and source.bits == 16):
        if low and source.bits == 16:
            steps.append(f"{name} >> 16")
        if negate:
            steps.append(f"{name} ^ {_SIGN.get(source.bits, 0x80000000):#x}u")
    return steps


def _store(form: VectorForm, meaning: Semantics) -> list[str]:
    lines = []
    result = meaning.result
    if (form.output_modifier or form.clamp) and result.kind != "f":
        raise UnknownInstruction(f"{form.name} with a clamp of integers is not known")
    if form.output_modifier or form.clamp:
        lines += _modified_result(form, result.bits)
    if form.select != 6:
        low, width = (form.select * 8, 8) if form.select < 4 else ((form.select - 4) * 16, 16)
        mask = (1 << width) - 1
        rest = "0"
        if form.unused_mode == 2:
            rest = f"before & {~(mask << low) & 0xFFFFFFFF:#x}u"
        elif form.unused_mode == 1:
            top = 1 << width - 1
            lines.append(f"D0 = D0 & {mask:#x}u;")
            lines.append(f"D0 = ((D0 ^ {top}u) - {top}u) << {low};")
            return [*lines, "d[l] = D0;"]
        lines.append(f"D0 = (D0 & {mask:#x}u) << {low} | ({rest});")
    elif result.bits == 16:
        if form.result_half:
            lines.append("D0 = (D0 & 0xffffu) << 16 | (before & 0xffffu);")
        else:
            lines.append("D0 = D0 & 0xffffu;" if form.zero_high else "D0 = (D0 & 0xffffu) | (before & 0xffff0000u);")
    if form.bits == 64:
        return [*lines, "d[l] = (uint32_t)D0; d[LANES + l] = (uint32_t)(D0 >> 32);"]
    return [*lines, "d[l] = D0;"]


def _modified_result(form: VectorForm, bits: int) -> list[str]:
    name = f"f{bits}"
    kind = "double" if bits == 64 else "float"
    factor = {0: "1", 1: "2", 2: "4", 3: "0.5"}[form.output_modifier]
    value = f"bits_{name}(D0) * ({kind}){factor}"
    if form.clamp:
        return [
            f"{{ {kind} y = {value}; y = y > 0 ? y : 0; y = y < 1 ? y : 1; D0 = {name}_bits(y); }}",
        ]
    text = f"{name}_bits({value})"
    return [f"D0 = canonical_{name}({text});" if bits > 16 else f"D0 = {text};"]
