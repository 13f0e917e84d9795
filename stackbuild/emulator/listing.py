"""Instructions as text in the syntax of LLVM's disassembler, as findings show them.

The operation's name has no suffix of its encoding (`_e32`, `_e64`, `_dpp`, `_sdwa`).
"""

from __future__ import annotations

from collections.abc import Iterator

from stackbuild.emulator.corrections import EIGHT_BITS
from stackbuild.emulator.decoder import LITERAL, MODIFIER_VARIANTS, SCALAR_FORMATS, VOP3_FORMATS, Instruction
from stackbuild.emulator.encodings import OperandType
from stackbuild.emulator.hardware_registers import register_operands
from stackbuild.emulator.memory import is_load_into_lds
from stackbuild.emulator.operands import truth_table

_SPECIAL = {
    104: "flat_scratch_lo", 105: "flat_scratch_hi", 235: "src_shared_base", 236: "src_shared_limit", 237: "src_private_base",
    238: "src_private_limit", 251: "src_vccz", 252: "src_execz", 253: "src_scc",
}  # fmt: skip
_PAIRS = {104: "flat_scratch", 106: "vcc", 126: "exec"}
_FLOATS = ("0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0")
_WORDS = {
    16: (0x3800, 0xB800, 0x3C00, 0xBC00, 0x4000, 0xC000, 0x4400, 0xC400, 0x3118),
    32: (0x3F000000, 0xBF000000, 0x3F800000, 0xBF800000, 0x40000000, 0xC0000000, 0x40800000, 0xC0800000, 0x3E22F983),
    64: (),
}
_HIGH_WORDS = (0x3FE00000, 0xBFE00000, 0x3FF00000, 0xBFF00000, 0x40000000, 0xC0000000, 0x40100000, 0xC0100000)
"""Those of _FLOATS and of 1/2π in each width, and the high halves of doubles."""
_INVERSE_TAU = {16: "0.1591", 32: "0.15915494", 64: "0.15915494309189532"}
_SELECTS = ("BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD", "RESERVED")
_UNUSED_MODES = ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE", "UNUSED_RESERVED")
_DATA = ("data0", "data1", "data", "vdata", "vsrc")
_NAMES = {
    "v_accvgpr_write": "v_accvgpr_write_b32", "v_accvgpr_read": "v_accvgpr_read_b32", "v_mad_mix_f32": "v_fma_mix_f32",
    "v_mad_mixlo_f16": "v_fma_mixlo_f16", "v_mad_mixhi_f16": "v_fma_mixhi_f16",
}  # fmt: skip
"""The tables' name to LLVM's where they differ. Of GFX90A's matrix instructions LLVM leaves out the last underscore."""
_DELAYS = (
    "NO_DEP", *(f"VALU_DEP_{i}" for i in range(1, 5)), *(f"TRANS32_DEP_{i}" for i in range(1, 4)), "FMA_ACCUM_CYCLE_1",
    *(f"SALU_CYCLE_{i}" for i in range(1, 4)),
)  # fmt: skip
_ATOMIC_HINTS = {1: "TH_ATOMIC_RETURN", 2: "TH_ATOMIC_NT", 3: "TH_ATOMIC_NT_RETURN"}
_SKIPS = ("SAME", "NEXT", *(f"SKIP_{i}" for i in range(1, 5)))
_FACTORS = ("", " mul:2", " mul:4", " div:2")
_ROWS = {0x130: "wave_shl:1", 0x134: "wave_rol:1", 0x138: "wave_shr:1", 0x13C: "wave_ror:1", 0x140: "row_mirror",
         0x141: "row_half_mirror", 0x142: "row_bcast:15", 0x143: "row_bcast:31"}  # fmt: skip


def text_of(inst: Instruction) -> str:
    """One instruction, e.g. "v_add_f32 v1, s2, v3"."""
    name = inst.format.name
    if inst.second is not None:
        return _dual(inst)
    if name == "SOPP":
        return _program(inst)
    if name in SCALAR_FORMATS:
        return _join(inst.name, _scalar(inst))
    if name == "SMEM":
        return _join(inst.name, _scalar_memory(inst))
    if name == "DS":
        return _join(inst.name, _local(inst)) + _local_offset(inst)
    if name in ("FLAT", "GLOBAL", "SCRATCH", "VFLAT", "VGLOBAL", "VSCRATCH"):
        return _join(inst.name, _global(inst)) + _offset(inst) + _cache(inst)
    if name in ("MUBUF", "VBUFFER"):
        return (
            _join(inst.name, _buffer(inst))
            + _buffer_ends(inst)
            + _cache(inst)
            + (" lds" if inst.fields.get("lds") else "")
        )
    return _join(inst.name, _vector(inst)) + "".join(_modifiers(inst))


def _join(name: str, operands: Iterator[str]) -> str:
    return f"{_NAMES.get(name, name)} {', '.join(operands)}".strip()


# --- registers and constants


def register(letter: str, first: int, bits: int) -> str:
    """Vector registers, or scalar ones below 104, e.g. "v1" and "s[2:3]"."""
    words = max(1, bits // 32)
    return f"{letter}{first}" if words == 1 else f"{letter}[{first}:{first + words - 1}]"


def scalar(inst: Instruction, code: int, bits: int) -> str:
    """A scalar register or special value by its number."""
    cdna = inst.format.family == "cdna"
    if code in (124, 125):
        return "m0" if (code == 124) == cdna else "null"
    if code < (102 if cdna else 106):
        return register("s", code, bits)
    if 108 <= code < 124:
        return register("ttmp", code - 108, bits)
    if code in (102, 103):
        return "xnack_mask" if bits == 64 else ("xnack_mask_lo", "xnack_mask_hi")[code - 102]
    if bits == 64 and code in _PAIRS:
        return _PAIRS[code]
    names = {106: "vcc_lo", 107: "vcc_hi", 126: "exec_lo", 127: "exec_hi"}
    return names.get(code) or _SPECIAL.get(code, f"source {code}")


def _source(inst: Instruction, code: int, operand: OperandType | None, *, acc: bool = False) -> str:
    """A 9-bit source, without modifiers."""
    bits, form = (operand.bits, operand.form.removeprefix("FMT_NUM_")) if operand else (32, "B32")
    if form == "M64":
        bits = 64 if inst.format.family == "cdna" else 32
    if code >= 256:
        return register("a" if acc else "v", code - 256, bits)
    if code == LITERAL:
        return _literal(inst.literal, bits, form)
    if 128 <= code <= 192:
        return str(code - 128)
    if 193 <= code <= 208:
        return str(192 - code)
    if 240 <= code < 248:
        return _FLOATS[code - 240]
    if code == 248:
        return _INVERSE_TAU[
            16 if form in ("F16", "PK2_F16") or bits == 16 else 64 if bits == 64 and form == "F64" else 32
        ]
    return scalar(inst, code, bits)


def _literal(value: int, bits: int, form: str) -> str:
    """A constant behind the instruction. One that has a code of its own as a source is written as that one is."""
    width = 16 if form == "F16" else 64 if bits == 64 else 32
    if width == 16:
        value &= 0xFFFF
    words = _HIGH_WORDS if form == "F64" else _WORDS[width]  # a literal is the high half of a double
    if value in words:
        return (*_FLOATS, _INVERSE_TAU[32])[words.index(value)]
    number = value if width == 64 or not value >> width - 1 else value - (1 << width)
    if -16 <= number <= (0 if form == "F64" else 64):
        return str(number)
    return f"{value:#x}"


# --- scalar


def _program(inst: Instruction) -> str:
    value, name = inst.fields["simm16"], inst.name
    if name.startswith(("s_branch", "s_cbranch")):
        return f"{name} {value}"
    if name == "s_waitcnt":
        return f"{name} {_counters(value, inst.format.family)}"
    if name == "s_delay_alu":
        return f"{name} {_delay(value)}"
    if name == "s_sendmsg" and value == 3 and inst.format.family != "cdna":
        return f"{name} sendmsg(MSG_DEALLOC_VGPRS)"
    if name in ("s_nop", "s_sleep", "s_setprio", "s_trap"):
        return f"{name} {value}"
    if name in (
        "s_endpgm",
        "s_barrier",
        "s_code_end",
        "s_endpgm_saved",
        "s_icache_inv",
        "s_wakeup",
        "s_wait_idle",
        "s_set_gpr_idx_off",
    ):
        return name
    return f"{name} {value:#x}"


def _counters(value: int, family: str) -> str:
    """What s_waitcnt waits for: counters below their largest value."""
    if family == "cdna":
        rows = (
            ("vmcnt", value & 15 | value >> 14 << 4, 63),
            ("expcnt", value >> 4 & 7, 7),
            ("lgkmcnt", value >> 8 & 15, 15),
        )
    else:
        rows = (("vmcnt", value >> 10, 63), ("expcnt", value & 7, 7), ("lgkmcnt", value >> 4 & 63, 63))
    waits = [f"{name}({count})" for name, count, most in rows if count != most]
    return " ".join(waits) or " ".join(f"{name}({count})" for name, count, _ in rows)


def _delay(value: int) -> str:
    first, skip, second = value & 15, value >> 4 & 7, value >> 7 & 15
    parts = [f"instid0({_DELAYS[first]})"] if first else []
    parts += [f"instskip({_SKIPS[skip]})"] if skip else []
    parts += [f"instid1({_DELAYS[second]})"] if second else []
    return " | ".join(parts) or "0"


def _scalar(inst: Instruction) -> Iterator[str]:
    f, kinds = inst.fields, inst.operation.operands
    if inst.name.startswith(("s_getreg", "s_setreg")):
        yield from register_operands(inst, scalar(inst, f["sdst"], 32))
        return
    if "sdst" in f and "sdst" in kinds:
        yield scalar(inst, f["sdst"], kinds["sdst"].bits)
    sources = [_source(inst, f[name], kinds[name]) for name in ("ssrc0", "ssrc1") if name in f and name in kinds]
    if inst.name in ("s_fmaak_f32", "s_fmamk_f32"):
        sources.insert(2 if inst.name == "s_fmaak_f32" else 1, f"{inst.literal:#x}")
    if inst.name == "s_set_gpr_idx_on":
        sources[1] = _index_mode(f["ssrc1"])
    yield from sources
    if inst.format.name == "SOPK":
        yield hex(f["simm16"])
        if inst.format.variant == "LIT":
            yield f"{inst.literal:#x}"


def _index_mode(bits: int) -> str:
    return f"gpr_idx({','.join(name for i, name in enumerate(('SRC0', 'SRC1', 'SRC2', 'DST')) if bits >> i & 1)})"


def _signed_field(inst: Instruction, name: str) -> int:
    field, value = inst.format.fields[name], inst.fields[name]
    width = field.high - field.low + 1
    return value - (1 << width) if value >> width - 1 else value


def _scalar_memory(inst: Instruction) -> Iterator[str]:
    f, kinds = inst.fields, inst.operation.operands
    if "sdata" in kinds:
        yield scalar(inst, f["sdata"], kinds["sdata"].bits)
    if "sbase" not in kinds:
        return
    yield scalar(inst, f["sbase"] * 2, kinds["sbase"].bits)
    offset = _signed_field(inst, "ioffset" if "ioffset" in f else "offset")
    text = f"-{-offset:#x}" if offset < 0 else hex(offset)
    if inst.format.family == "cdna":
        number = f["soffset"] if f["soffset_en"] else f["offset"] & 127
        register_offset = scalar(inst, number, 32) if f["soffset_en"] or not f["imm"] else ""
        if register_offset and f["imm"]:
            yield f"{register_offset} offset:{text}"
        else:
            yield register_offset or text
    elif f["soffset"] == 124:
        yield text if offset else "null" if inst.format.family == "rdna3" else text
    else:
        yield scalar(inst, f["soffset"], 32) + (f" offset:{text}" if offset else "")


# --- vector memory


def _letter(inst: Instruction) -> str:
    return "a" if inst.fields.get("acc") else "v"


def _local(inst: Instruction) -> Iterator[str]:
    f, kinds = inst.fields, inst.operation.operands
    if "vdst" in kinds:
        yield register(_letter(inst), f["vdst"], kinds["vdst"].bits)
    if "addr" in kinds:
        yield register("v", f["addr"], 32)
    for name in ("data0", "data1"):
        if name in kinds:
            yield register(_letter(inst), f[name], kinds[name].bits)


def _local_offset(inst: Instruction) -> str:
    f = inst.fields
    if inst.name.startswith(
        ("ds_read2", "ds_write2", "ds_load_2addr", "ds_store_2addr", "ds_storexchg_2addr", "ds_wrxchg2")
    ):
        first, second = (f" {name}:{f[name]}" if f[name] else "" for name in ("offset0", "offset1"))
        return first + second
    offset = f["offset0"] | f["offset1"] << 8
    if inst.name == "ds_swizzle_b32":
        return f" offset:{offset:#x}"
    return f" offset:{offset}" if offset else ""


def _global(inst: Instruction) -> Iterator[str]:
    f, kinds = inst.fields, inst.operation.operands
    rdna4 = inst.format.family == "rdna4"
    data = next((name for name in _DATA if name in f and name in kinds), None)
    none = 127 if inst.format.family == "cdna" else 124
    if not data and "vdst" not in kinds:  # global_inv and the like
        return
    space = inst.name.partition("_")[0]
    returns = "atomic" not in inst.name or bool(f.get("glc") or f.get("sc0") or f.get("th", 0) & 1)
    if "vdst" in kinds and returns and not is_load_into_lds(inst):
        yield register(_letter(inst), f["vdst"], kinds["vdst"].bits)
    address = f["vaddr" if rdna4 else "addr"]
    scalar_base = f["saddr"] != none and not (space == "flat" and inst.format.family == "cdna")
    if space == "scratch":
        with_vector = bool(f["sve"]) if "sve" in f else not scalar_base
        yield register("v", address, 32) if with_vector else "off"
    else:
        yield register("v", address, 32 if scalar_base else 64)
    if data:
        yield register(_letter(inst), f[data], kinds[data].bits)
    if space == "flat" and not scalar_base:
        return
    yield scalar(inst, f["saddr"], 32 if space == "scratch" else 64) if scalar_base else "off"


def _offset(inst: Instruction) -> str:
    name = "ioffset" if "ioffset" in inst.fields else "offset"
    offset = (
        inst.fields[name] if inst.format.name == "FLAT" and inst.format.family == "cdna" else _signed_field(inst, name)
    )
    return f" offset:{offset}" if offset else ""


def _buffer(inst: Instruction) -> Iterator[str]:
    f, kinds = inst.fields, inst.operation.operands
    if not kinds:
        return
    data = next((name for name in ("vdata", "vdst", "data") if name in f and name in kinds), None)
    if data and not is_load_into_lds(inst):
        yield register(_letter(inst), f[data], kinds[data].bits)
    index_bits = f["idxen"] + f["offen"]
    yield register("v", f["vaddr" if "vaddr" in f else "addr"], 32 * index_bits) if index_bits else "off"
    yield scalar(inst, f["rsrc"] if inst.format.name == "VBUFFER" else f["srsrc"] * 4, 128)
    yield _source(inst, f["soffset"], None)


def _buffer_ends(inst: Instruction) -> str:
    f = inst.fields
    if not inst.operation.operands:
        return ""
    offset = f["ioffset" if "ioffset" in f else "offset"]
    ends = "".join(f" {word}" for word in ("idxen", "offen") if f[word])
    return ends + (f" offset:{offset}" if offset else "")


def _cache(inst: Instruction) -> str:
    """Cache policies as LLVM names them."""
    f = inst.fields
    if inst.format.family == "rdna4":
        hint = f" th:{f['th']}" if f.get("th") else ""
        if hint and "atomic" in inst.name:
            hint = f" th:{_ATOMIC_HINTS.get(f['th'], f['th'])}"
        return hint + (
            f" scope:{('SCOPE_CU', 'SCOPE_SE', 'SCOPE_DEV', 'SCOPE_SYS')[f['scope']]}" if f.get("scope") else ""
        )
    return "".join(f" {word}" for word in ("sc0", "nt", "sc1", "glc", "slc", "dlc") if f.get(word))


# --- vector ALU


def _dual(inst: Instruction) -> str:
    f = inst.fields
    second = inst.second or inst.operation
    y = f["vdsty"] << 1 | ((f["vdstx"] & 1) ^ 1)
    parts = []
    for operation, first, other, target in (
        (inst.operation, "srcx0", "vsrcx1", f["vdstx"]), (second, "srcy0", "vsrcy1", y)
    ):  # fmt: skip
        operands = [f"v{target}", _source(inst, f[first], None)]
        if "fmamk" in operation.name:
            operands.append(f"{inst.literal:#x}")
        if "mov" not in operation.name:
            operands.append(f"v{f[other]}")
        if "fmaak" in operation.name:
            operands.append(f"{inst.literal:#x}")
        parts.append(f"{operation.name} {', '.join(operands)}")
    return " :: ".join(parts)


def _mask(inst: Instruction, code: int) -> str:
    return scalar(inst, code, 64 if inst.format.family == "cdna" else 32)


def _vector(inst: Instruction) -> Iterator[str]:
    f, kinds, name, form = inst.fields, inst.operation.operands, inst.name, inst.format.name
    cdna = inst.format.family == "cdna"
    if form == "VOPC":
        if not name.startswith("v_cmpx") or cdna:
            yield _mask(inst, f["sdst"] if f.get("sd") else 106)
    elif form in ("VOP3", "VOP3_SDST") and name.startswith("v_cmp"):
        if not name.startswith("v_cmpx") or cdna:
            yield _mask(inst, f["vdst"])
    elif name.startswith(("v_readlane", "v_readfirstlane")):
        yield scalar(inst, f["vdst"], 32)
    elif "vdst" in f and "vdst" in kinds:
        yield _target(inst, kinds["vdst"])
    if form == "VOP3SD":
        yield _mask(inst, f["sdst"])
    carries = "_co_" in name and form == "VOP2"
    if carries:
        yield _mask(inst, 106)
    sources = list(_sources(inst))
    if "fmamk" in name or "madmk" in name:
        sources.insert(1, f"{inst.literal:#x}")
    if "fmaak" in name or "madak" in name:
        sources.append(f"{inst.literal:#x}")
    yield from sources
    if form == "VOP2" and ("cndmask" in name or (carries and ("ci" in name or "addc" in name or "subb" in name))):
        yield _mask(inst, 106)


def _true16(inst: Instruction) -> bool:
    """Whether a 16-bit operand of the ALU names one half of a register."""
    if inst.name in EIGHT_BITS:
        return False
    return inst.format.family != "cdna" and inst.format.name in ("VOP1", "VOP2", "VOPC", "VOP3", "VOP3_SDST")


def _target(inst: Instruction, operand: OperandType) -> str:
    f, number = inst.fields, inst.fields["vdst"]
    if operand.bits == 16 and _true16(inst):
        if inst.format.name in ("VOP3", "VOP3_SDST"):
            return f"v{number}.{'lh'[f['opsel'] >> 3 & 1]}"
        return f"v{number & 127}.{'lh'[number >> 7]}"
    if operand.place == "OPR_SREG":
        return scalar(inst, number, operand.bits)
    acc = bool(f.get("acc_cd")) or operand.place == "OPR_ACCVGPR"
    return register("a" if acc else "v", number, operand.bits)


def _sources(inst: Instruction) -> Iterator[str]:
    f, kinds = inst.fields, inst.operation.operands
    variant = inst.format.variant
    for i, names in enumerate((("src0",), ("src1", "vsrc1"), ("src2",))):
        name = next((n for n in names if n in f), None)
        operand = kinds.get(f"src{i}") or kinds.get(f"vsrc{i}")
        if name is None or operand is None:
            continue
        code = f[name] + 256 if name == "vsrc1" else f[name]
        if i == 0 and variant:
            code = f["vsrc0"] + (0 if f.get("s0") else 256) if "vsrc0" in f else code
        if name == "vsrc1" and f.get("s1"):
            code = f[name]
        yield _signs(inst, i, _one(inst, i, code, operand))


def _one(inst: Instruction, i: int, code: int, operand: OperandType) -> str:
    f = inst.fields
    if code >= 256 and operand.bits == 16 and _true16(inst):
        if inst.format.name in ("VOP3", "VOP3_SDST"):
            return f"v{code - 256}.{'lh'[f['opsel'] >> i & 1]}"
        return f"v{code - 256 & 127}.{'lh'[code - 256 >> 7]}"
    acc = operand.place in ("OPR_ACCVGPR", "OPR_SRC_ACCVGPR")
    if "acc_cd" in f:
        acc = bool(f["acc_cd"] if i == 2 else f["acc"] >> i & 1)
    return _source(inst, code, operand, acc=acc)


def _signs(inst: Instruction, i: int, text: str) -> str:
    f, form = inst.fields, inst.format.name
    negate, absolute = 0, 0
    if inst.name.startswith("v_bitop3"):  # its truth table lies in these bits
        return text
    if form in VOP3_FORMATS:
        negate, absolute = f["neg"] >> i & 1, f.get("abs", 0) >> i & 1
    elif form == "VOP3P" and "_mix" in inst.name:
        negate, absolute = f["neg"] >> i & 1, f["neg_hi"] >> i & 1
    if i < 2 and inst.format.variant in MODIFIER_VARIANTS:
        negate |= f[f"src{i}_neg"]
        absolute |= f[f"src{i}_abs"]
    if i < 2 and inst.format.variant.startswith("SDWA") and f[f"src{i}_sext"]:
        return f"sext({text})"
    text = f"|{text}|" if absolute else text
    if not negate:
        return text
    return f"neg({text})" if text[0].isdigit() else f"-{text}"


def _modifiers(inst: Instruction) -> Iterator[str]:
    f, form = inst.fields, inst.format.name
    if inst.name.startswith("v_bitop3"):
        yield f" bitop3:{truth_table(inst):#x}"
        return
    count = sum(1 for _ in _sources(inst))
    if form == "VOP3P":
        yield from _packed_modifiers(inst, count)
    elif form.startswith("VOP3P"):
        yield from (f" {word}:{f[word]}" for word in ("cbsz", "abid", "blgp") if f.get(word))
    elif form in ("VOP3", "VOP3_SDST") and f.get("opsel") and not _halves_are_named(inst):
        # The bit of the destination stands behind those of the sources.
        bits = [f["opsel"] >> i & 1 for i in range(count)] + ([f["opsel"] >> 3 & 1] if form == "VOP3" else [])
        yield f" op_sel:[{','.join(map(str, bits))}]"
    if f.get("clmp") and "acc_cd" not in f:
        yield " clamp"
    if form != "VOP3P":
        yield _FACTORS[f.get("omod", 0)]
    if inst.format.variant == "DPP16":
        yield _dpp(inst)
    elif inst.format.variant == "DPP8":
        yield f" dpp8:[{','.join(str(f[f'lane_sel_{i}']) for i in range(8))}]" + (" fi:1" if f["src0"] == 234 else "")
    elif inst.format.variant.startswith("SDWA"):
        yield from _sdwa(inst, count)


def _halves_are_named(inst: Instruction) -> bool:
    kinds = inst.operation.operands
    return _true16(inst) and any(kinds[name].bits == 16 for name in kinds if name in ("vdst", "src0", "src1", "src2"))


def _packed_modifiers(inst: Instruction, count: int) -> Iterator[str]:
    f = inst.fields
    if count < 1:
        return
    low = [f["opsel"] >> i & 1 for i in range(count)]
    high = [(f["opsel_hi"] | f["opsel_hi2"] << 2) >> i & 1 for i in range(count)]
    mixed = "_mix" in inst.name
    if any(low):
        yield f" op_sel:[{','.join(map(str, low))}]"
    if any(high) if mixed else not all(high):
        yield f" op_sel_hi:[{','.join(map(str, high))}]"
    for name, field in () if mixed else (("neg_lo", "neg"), ("neg_hi", "neg_hi")):
        bits = [f[field] >> i & 1 for i in range(count)]
        if any(bits):
            yield f" {name}:[{','.join(map(str, bits))}]"


def _dpp(inst: Instruction) -> str:
    f, control = inst.fields, inst.fields["dpp"]
    if control < 0x100:
        how = f"quad_perm:[{','.join(str(control >> 2 * i & 3) for i in range(4))}]"
    elif control in _ROWS:
        how = _ROWS[control]
    else:
        names = {0x10: "row_shl", 0x11: "row_shr", 0x12: "row_ror", 0x15: "row_share", 0x16: "row_xmask"}
        if inst.format.family == "cdna":
            names[0x15] = "row_newbcast"
        how = f"{names.get(control >> 4, 'dpp_ctrl')}:{control & 15}"
    return (f" {how} row_mask:{f['row_mask']:#x} bank_mask:{f['bank_mask']:#x}" + (" bound_ctrl:1" if f["bc"] else "")
            + (" fi:1" if f.get("fi") else ""))  # fmt: skip


def _sdwa(inst: Instruction, count: int) -> Iterator[str]:
    f = inst.fields
    if "dst_sel" in f and inst.name not in EIGHT_BITS:
        yield f" dst_sel:{_SELECTS[f['dst_sel']]} dst_unused:{_UNUSED_MODES[f['dst_unused']]}"
    for i in range(min(count, 2)):
        yield f" src{i}_sel:{_SELECTS[f[f'src{i}_sel']]}"
