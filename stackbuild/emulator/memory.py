"""Vector memory instructions: which bytes move where.

The names of both vocabularies, `global_load_b64` (RDNA) and `global_load_dwordx2` (CDNA), are read into one `Access`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from stackbuild.emulator.decoder import Instruction
from stackbuild.emulator.operands import UnknownInstruction

NULL = 124
OFF_CDNA = 127
LANE_MOVES = ("ds_bpermute_b32", "ds_permute_b32", "ds_swizzle_b32", "ds_bpermute_fi_b32")
"""Instructions of LDS that move values between lanes and touch no memory."""
_SIZES = {
    "b8": 1, "u8": 1, "i8": 1, "b16": 2, "u16": 2, "i16": 2, "b32": 4, "b64": 8, "b96": 12, "b128": 16,
    "byte": 1, "ubyte": 1, "sbyte": 1, "short": 2, "ushort": 2, "sshort": 2, "dword": 4, "dwordx2": 8, "dwordx3": 12,
    "dwordx4": 16,
}  # fmt: skip
_MOVE = re.compile(
    r"(?P<space>global|flat|scratch|ds|buffer)_(?P<verb>load|store|read|write)(?P<pair>_2addr_stride64|_2addr|2st64|2)?"
    r"(?P<d16a>_d16_hi|_d16)?_(?P<size>[a-z]+\d*x?\d?)(?P<d16b>_d16_hi|_d16)?$"
)
_ATOMIC = re.compile(r"(?P<space>global|flat|ds|buffer)(?:_atomic)?_(?P<rest>[a-z_0-9]+)$")
_OPERATIONS = {
    "add": "add", "sub": "sub", "smin": "smin", "umin": "umin", "smax": "smax", "umax": "umax", "and": "and", "or": "or", "xor": "xor",
    "inc": "inc", "dec": "dec", "swap": "swap", "cmpswap": "cmpswap", "add_f32": "fadd32", "add_f64": "fadd64", "pk_add_f16": "pkadd16",
    "add_u32": "add", "sub_u32": "sub", "min_i32": "smin", "min_u32": "umin", "max_i32": "smax", "max_u32": "umax", "and_b32": "and",
    "or_b32": "or", "xor_b32": "xor", "inc_u32": "inc", "dec_u32": "dec", "swap_b32": "swap", "cmpswap_b32": "cmpswap", "rsub_u32": "rsub",
    "min_f32": "fmin32", "max_f32": "fmax32", "wrxchg_b32": "swap", "cmpst_b32": "dscmp", "cmpstore_b32": "cmpswap2", "storexchg_b32": "swap",
    "min_num_f32": "fmin32", "max_num_f32": "fmax32", "min_f64": "fmin64", "max_f64": "fmax64",
}  # fmt: skip
_SPACES = {
    "global": "SPACE_GLOBAL",
    "flat": "SPACE_FLAT",
    "scratch": "SPACE_SCRATCH",
    "ds": "SPACE_LDS",
    "buffer": "SPACE_GLOBAL",
}


@dataclass(frozen=True)
class Access:
    """One vector memory instruction, registers left out.

    `bytes` each lane moves at once; `pair` is the distance factor of a two-address LDS access, 0 for one address. `half` is
    "" for whole registers, "low" or "high" for D16. `operation` of an atomic; `returns` whether it gives the old value.
    """

    space: str
    verb: str
    bytes: int
    signed: bool = False
    half: str = ""
    pair: int = 0
    operation: str = ""
    returns: bool = False

    @property
    def words(self) -> int:
        """Registers of data for one address."""
        return max(1, self.bytes // 4)


@dataclass(frozen=True)
class BufferAddress:
    """How a buffer instruction makes its address: the first scalar register of the descriptor (V#), the encoding of the
    scalar offset, and whether the vector address has a record's index, an offset, or both in this order."""

    descriptor: int
    scalar_offset: int
    indexed: bool
    offset: bool


@dataclass(frozen=True)
class AddressForm:
    """Which addresses an access adds: a vector one, of 64 bits where `wide`, and a scalar one."""

    wide: bool
    vector: bool
    scalar: bool


@dataclass(frozen=True)
class MemoryCall:
    """An access and its registers. `data` holds what is stored, `second` the second value. `base` is the scalar address
    or None, `address` the vector address or None, `wide` whether that is 64 bits."""

    access: Access
    target: int
    address: int | None
    wide: bool
    base: int | None
    data: int
    second: int
    offsets: tuple[int, int]
    waits: tuple[str, ...]
    """Counters that the access raises: "vm", "vs", "lgkm"."""
    buffer: BufferAddress | None = None


def access_of(inst: Instruction) -> Access:
    """What an instruction moves. Raises UnknownInstruction."""
    name = inst.name.replace("_load_lds_", "_load_")
    match = _MOVE.match(name)
    if match and match["size"] in _SIZES:
        half = (match["d16a"] or match["d16b"] or "").removeprefix("_")
        pair = {"_2addr": 1, "2": 1, "_2addr_stride64": 64, "2st64": 64}.get(match["pair"] or "", 0)
        size = match["size"]
        verb = "load" if match["verb"] in ("load", "read") else "store"
        return Access(
            _SPACES[match["space"]], verb, _SIZES[size], size[0] in "is" and not size.startswith("short"),
            {"": "", "d16": "low", "d16_hi": "high"}[half], pair,
        )  # fmt: skip
    return _atomic(inst)


def _atomic(inst: Instruction) -> Access:
    match = _ATOMIC.match(inst.name)
    if not match:
        raise UnknownInstruction(f"{inst.name} is not known")
    space, rest = match["space"], match["rest"]
    returns = bool(inst.fields.get("glc") or inst.fields.get("sc0")) or bool(inst.fields.get("th", 0) & 1)
    if space == "ds":
        returns = "_rtn" in rest
        rest = rest.replace("_rtn", "")
    size = 4
    if rest.endswith("_x2"):
        rest, size = rest.removesuffix("_x2"), 8
    elif rest.endswith("64"):
        size = 8
        if not rest.endswith("f64"):
            rest = rest.removesuffix("64") + "32"
    if rest not in _OPERATIONS:
        raise UnknownInstruction(f"{inst.name} is not known")
    return Access(_SPACES[space], "atomic", size, operation=_OPERATIONS[rest], returns=returns)


def is_load_into_lds(inst: Instruction) -> bool:
    """Whether a load's words go to LDS, at M0, and not to registers."""
    return "_load_lds_" in inst.name or bool(inst.fields.get("lds"))


def is_coherent(inst: Instruction) -> bool:
    """Whether an access goes past the caches of one compute unit, as those do by which workgroups wait for each other."""
    return any(inst.fields.get(name) for name in ("glc", "sc0", "sc1", "scope"))


def memory_call(inst: Instruction) -> MemoryCall:
    """The access of an instruction and its registers. Raises UnknownInstruction."""
    access, f = access_of(inst), inst.fields
    acc = 256 if f.get("acc") else 0
    if inst.format.name == "DS":
        if f.get("gds"):
            raise UnknownInstruction(f"{inst.name} in GDS is not known")
        offsets = (f["offset0"], f["offset1"]) if access.pair else (f["offset0"] | f["offset1"] << 8, 0)
        scale = access.pair * access.bytes if access.pair else 1
        return MemoryCall(
            access, f["vdst"] + acc, f["addr"], False, None, f["data0"] + acc, f["data1"] + acc,
            (offsets[0] * scale, offsets[1] * scale), ("lgkm",),
        )  # fmt: skip
    if inst.format.name in ("MUBUF", "VBUFFER"):
        return _buffer_call(inst, access)
    rdna4 = inst.format.family == "rdna4"
    data = f.get("vsrc", f.get("data", 0)) + acc
    address = f.get("vaddr", f.get("addr", 0))
    field = inst.format.fields["ioffset" if rdna4 else "offset"]
    offset = f[field.name]
    width = field.high - field.low + 1
    if access.space == "SPACE_FLAT" and inst.format.family == "cdna":
        width = 13  # never negative: one bit more than there is
    if offset >> width - 1:
        offset -= 1 << width
    flat = access.space == "SPACE_FLAT"
    none = OFF_CDNA if inst.format.family == "cdna" else NULL
    scalar = None if f["saddr"] == none or (flat and inst.format.family == "cdna") else f["saddr"]
    vector: int | None = address
    if access.space == "SPACE_SCRATCH":
        has_vector = f["sve"] == 1 if "sve" in f else scalar is None
        if not has_vector:
            vector = None
    wide = access.space != "SPACE_SCRATCH" and scalar is None
    waits: tuple[str, ...] = ("lgkm",) if flat else ()
    waits += ("vm",) if access.verb == "load" or access.returns else ("vs",)
    return MemoryCall(access, f["vdst"] + acc, vector, wide, scalar, data, data, (offset, 0), waits)


def _buffer_call(inst: Instruction, access: Access) -> MemoryCall:
    """A buffer instruction's registers. The vector address is one register, or two where it has an index and an offset."""
    f = inst.fields
    if f.get("tfe"):
        raise UnknownInstruction(f"{inst.name} with a status word is not known")
    data = f["vdata"] + (256 if f.get("acc") else 0)
    indexed, offset = bool(f["idxen"]), bool(f["offen"])
    buffer = BufferAddress(f["rsrc"] if "rsrc" in f else f["srsrc"] * 4, f["soffset"], indexed, offset)
    waits = ("vm",) if access.verb == "load" or access.returns else ("vs",)
    constant = f["ioffset"] if "ioffset" in f else f["offset"]
    address = f["vaddr"] if indexed or offset else None
    return MemoryCall(
        access, data, address, indexed and offset, None, data, data, (constant, 0), waits, buffer
    )  # fmt: skip


# --- C


def c_memory(access: Access, form: AddressForm, symbol: str) -> str:
    """The definition of an access's function: address, data and result rows, offsets by value."""
    lines = [f"{c_memory_signature(form, symbol)}\n{{"]
    lines.append("    (void)d; (void)x; (void)y; (void)second;")
    address = []
    if form.scalar:
        address.append("base")
    if form.vector:
        address.append("((uint64_t)a[LANES + l] << 32 | a[l])" if form.wide else "a[l]")
    whole = " + ".join(address) or "0"
    kind = "uint32_t" if access.space in ("SPACE_LDS", "SPACE_SCRATCH") else "uint64_t"
    places = ["offset"] + (["second"] if access.pair else [])
    lines += _c_counts(access, kind, whole)
    lines.append("    for (uint32_t l = 0; l < LANES; l++) {\n        if (!(m >> l & 1)) continue;")
    for i, offset in enumerate(places):
        lines.append(f"        {kind} p{i} = ({kind})({whole} + (int64_t){offset});")
    if access.verb == "atomic":
        lines += _c_atomic(access)
    else:
        for i in range(len(places)):
            use = "USE_READ" if access.verb == "load" else "USE_WRITE"
            lines.append(f"        uint8_t *at{i} = place(w, {access.space}, l, p{i}, {access.bytes}, {use});")
        for i in range(len(places)):
            lines += _c_load(access, i) if access.verb == "load" else _c_store(access, i)
    lines.append("    }")
    return "\n".join([*lines, "}"])


def _c_counts(access: Access, kind: str, whole: str) -> list[str]:
    """Counts of an access, before a load can write over its own addresses."""
    lines = ["#if COUNTERS", "    uint64_t addresses[LANES];"]
    for offset in ["offset"] + (["second"] if access.pair else []):
        lines.append(
            f"    for (uint32_t l = 0; l < LANES; l++) addresses[l] = m >> l & 1 ? ({kind})({whole} + (int64_t){offset}) : 0;"
        )
        lines.append(f"    count_access(w, m, addresses, {access.bytes}, {access.space});")
    return [*lines, "#endif"]


def c_memory_signature(form: AddressForm, symbol: str) -> str:
    """The C declaration, without a semicolon."""
    parameters = [
        "struct wave *w",
        "uint64_t m",
        "uint32_t *d",
        "const uint32_t *x",
        "const uint32_t *y",
        "int32_t offset",
        "int32_t second",
    ]
    if form.vector:
        parameters.append("const uint32_t *a")
    if form.scalar:
        parameters.append("uint64_t base")
    return f"void {symbol}({', '.join(parameters)})"


def c_buffer(access: Access, symbol: str, buffer: BufferAddress, *, rdna: bool) -> str:
    """The definition of a buffer access's function.

    The address is base + scalar offset + offset + stride · index. Each word of several is inside the buffer or outside on
    its own. Outside, loads give 0, stores and atomics do nothing.
    """
    lines = [f"{c_buffer_signature(symbol)}\n{{", "    (void)x; (void)a;", "    struct buffer b;"]
    lines.append(f"    int known = buffer_of(w, &b, resource, {int(rdna)}, &soffset);")
    index = "a[l]" if buffer.indexed else "0"
    offset = ("a[LANES + l]" if buffer.indexed else "a[l]") if buffer.offset else "0"
    step = min(access.bytes, 4) if access.verb != "atomic" else access.bytes
    place = f"        uint64_t index = {index}, inner = (uint64_t)offset + {offset}, whole = inner + b.stride * index;"
    inside = f"known && buffer_inside(&b, index, inner + {{0}}, whole + {{0}}, soffset, {step})"
    lines += [
        "#if COUNTERS", "    uint64_t addresses[LANES], counted = 0;", "    for (uint32_t l = 0; l < LANES; l++) {",
        "        if (!(m >> l & 1)) continue;", place, f"        if (!({inside.format(0)})) continue;",
        "        addresses[l] = b.base + soffset + whole;", "        counted |= 1ull << l;", "    }",
        f"    count_access(w, counted, addresses, {access.bytes}, b.space == SPACE_GLOBAL ? SPACE_GLOBAL : SPACE_SCRATCH);", "#endif",
    ]  # fmt: skip
    lines += ["    for (uint32_t l = 0; l < LANES; l++) {", "        if (!(m >> l & 1)) continue;", place]
    lines.append("        uint64_t p0 = b.base + soffset + whole;")
    for at in range(0, access.bytes, step):
        lines += [f"        if ({inside.format(at)}) {{", *_c_buffer_part(access, at), "        }"]
        if access.verb == "load" or access.returns:
            lines += ["        else {", *_c_buffer_zero(access, at), "        }"]
    return "\n".join([*lines, "    }", "}"])


def _c_buffer_part(access: Access, at: int) -> list[str]:
    """One word of a buffer access, `at` bytes behind its start."""
    if access.verb == "atomic":
        return _c_atomic(replace(access, space="b.space"))
    part = replace(access, bytes=min(access.bytes, 4))
    use = "USE_READ" if access.verb == "load" else "USE_WRITE"
    lines = [f"        uint8_t *at0 = place(w, b.space, l, p0 + {at}, {part.bytes}, {use});"]
    if part.bytes == 4:
        row = at // 4
        move = (
            f"d[{row} * LANES + l] = load32(at0);" if access.verb == "load" else f"store32(at0, x[{row} * LANES + l]);"
        )
        return [*lines, f"        {move}"]
    return lines + (_c_load(part, 0) if access.verb == "load" else _c_store(part, 0))


def _c_buffer_zero(access: Access, at: int) -> list[str]:
    """What a load outside of its buffer gives."""
    if access.half:
        return [f"        d[l] &= {'0xffff0000u' if access.half == 'low' else '0xffffu'};"]
    rows = range(access.words) if access.verb == "atomic" else (at // 4,)
    return [f"        d[{row} * LANES + l] = 0;" for row in rows]


def c_buffer_signature(symbol: str) -> str:
    """The C declaration, without a semicolon."""
    return (
        f"void {symbol}(struct wave *w, uint64_t m, uint32_t *d, const uint32_t *x, uint32_t offset, const uint32_t *resource, "
        "uint32_t soffset, const uint32_t *a)"
    )


def _c_load(access: Access, i: int) -> list[str]:
    row = i * access.words
    if access.bytes >= 4:
        return [f"        d[{row + k} * LANES + l] = load32(at{i} + {4 * k});" for k in range(access.words)]
    value = f"*at{i}" if access.bytes == 1 else f"load16(at{i})"
    if access.signed:
        value = f"(uint32_t)(int32_t)(int{8 * access.bytes}_t)({value})"
    if access.half == "low":
        value = f"(d[l] & 0xffff0000u) | (({value}) & 0xffffu)"
    elif access.half == "high":
        value = f"(d[l] & 0xffffu) | ({value}) << 16"
    return [f"        d[{row} * LANES + l] = {value};"]


def _c_store(access: Access, i: int) -> list[str]:
    data = "y" if i else "x"
    if access.bytes >= 4:
        return [f"        store32(at{i} + {4 * k}, {data}[{k} * LANES + l]);" for k in range(access.words)]
    value = f"{data}[l] >> 16" if access.half == "high" else f"{data}[l]"
    return [f"        *at{i} = (uint8_t)({value});" if access.bytes == 1 else f"        store16(at{i}, {value});"]


_C_OPERATIONS = {
    "add": "old + v", "sub": "old - v", "rsub": "v - old", "and": "old & v", "or": "old | v", "xor": "old ^ v", "swap": "v",
    "umin": "v < old ? v : old", "umax": "v > old ? v : old", "smin": "(S)v < (S)old ? v : old", "smax": "(S)v > (S)old ? v : old",
    "inc": "old >= v ? 0 : old + 1", "dec": "old == 0 || old > v ? v : old - 1", "cmpswap": "old == u ? v : old", "dscmp": "old == v ? u : old",
    "cmpswap2": "old == u ? v : old",
    "fadd32": "canonical_f32(f32_bits(bits_f32(old) + bits_f32(v)))", "fadd64": "canonical_f64(f64_bits(bits_f64(old) + bits_f64(v)))",
    "fmin32": "f32_bits(atomic_min_f32(bits_f32(old), bits_f32(v)))", "fmax32": "f32_bits(atomic_max_f32(bits_f32(old), bits_f32(v)))",
    "fmin64": "f64_bits(atomic_min_f64(bits_f64(old), bits_f64(v)))", "fmax64": "f64_bits(atomic_max_f64(bits_f64(old), bits_f64(v)))",
    "pkadd16": "f16_bits(bits_f16(old & 0xffff) + bits_f16(v & 0xffff)) | f16_bits(bits_f16(old >> 16) + bits_f16(v >> 16)) << 16",
}  # fmt: skip


def _c_atomic(access: Access) -> list[str]:
    kind, signed = ("uint64_t", "int64_t") if access.bytes == 8 else ("uint32_t", "int32_t")
    words = access.words

    def read(name: str, row: int) -> str:
        low = f"{name}[{row} * LANES + l]"
        return f"(uint64_t){name}[{row + 1} * LANES + l] << 32 | {low}" if words == 2 else low

    value = _C_OPERATIONS[access.operation]
    other = (
        read("y", 0)
        if access.operation in ("dscmp", "cmpswap2")
        else read("x", words)
        if access.operation == "cmpswap"
        else "0"
    )
    lines = [
        f"        {kind} *at = ({kind} *)(void *)place(w, {access.space}, l, p0, {access.bytes}, USE_ATOMIC);",
        f"        {kind} v = {read('x', 0)}, u = {other}, old = __atomic_load_n(at, __ATOMIC_RELAXED), fresh;",
        "        (void)u;",
        f"        do fresh = {value.replace('(S)', f'({signed})')}; while (!__atomic_compare_exchange_n(at, &old, fresh, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));",
    ]
    if access.returns:
        lines.append("        d[l] = (uint32_t)old;")
        if words == 2:
            lines.append("        d[LANES + l] = (uint32_t)(old >> 32);")
    return lines
