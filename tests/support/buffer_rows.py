"""What buffer instructions do, written out by hand from the chapters on buffers of AMD's ISA guides (CDNA2, CDNA3, RDNA3, RDNA4).

A row is as in `instruction_rows.py`. The descriptor lies in s[8:11]: the address of the 512 bytes with a record's size above
it, the number of records or bytes, and the rule of what lies outside. The scalar offset is s4.

Outside the buffer loads give 0, stores and atomics do nothing; each 32-bit word of several counts on its own. A raw buffer
ends at its number of bytes less the scalar offset. RDNA chooses the rule by bits 28 and 29 of the last word; CDNA has that of
raw buffers where records are not swizzled.
"""

from __future__ import annotations

from support.instruction_rows import InstructionRow

RDNA, CDNA = "gfx1", "gfx9"
_LAST = {"raw": 0x31004000, "record": 0x01004000, "records": 0x11004000, "empty": 0x21004000, "cdna": 0x00020000}
_STORED = "v4=0x11121314 v5=0x21222324 v6=0x31323334 v7=0x41424344"
_BYTES = ("14131211", "24232221", "34333231", "44434241")
_SIZES = (("b32", "dword", 1), ("b64", "dwordx2", 2), ("b96", "dwordx3", 3), ("b128", "dwordx4", 4))


def _given(rule: str, records: int, *, stride: int = 0) -> str:
    """The registers of a descriptor."""
    return f"s[8:9]=MEM+{stride << 48} s10={records} s11={_LAST[rule]:#x}"


def _words(at: int, count: int, first: int = 2) -> str:
    return " ".join(f"v{first + i}={_word(at + 4 * i):#x}" for i in range(count))


def _word(at: int) -> int:
    return int.from_bytes(bytes((at + k) % 256 for k in range(4)), "little")


def _registers(first: int, count: int) -> str:
    return f"v{first}" if count == 1 else f"v[{first}:{first + count - 1}]"


def _whole_words() -> list[InstructionRow]:
    rows = []
    for new, old, count in _SIZES:
        for suffix, rule, only in ((new, "raw", RDNA), (old, "cdna", CDNA)):
            load = f"buffer_load_{suffix} {_registers(2, count)}"
            store = f"buffer_store_{suffix} {_registers(4, count)}"
            rows += [
                InstructionRow(f"{load}, off, s[8:11], s4 offset:8", f"{_given(rule, 512)} s4=100", _words(108, count), only),
                InstructionRow(f"{load}, v0, s[8:11], s4 offen offset:4", f"{_given(rule, 512)} v0=16", _words(20, count), only),
                InstructionRow(f"{store}, v0, s[8:11], s4 offen offset:4", f"{_given(rule, 512)} v0=16 s4=8 {_STORED}",
                    f"mem[28]={''.join(_BYTES[:count])}", only),
            ]  # fmt: skip
    return rows


def _into_lds() -> list[InstructionRow]:
    """CDNA3's guide, "Memory Buffer Load to LDS": lane l's word goes to M0's low half + the constant offset + 4 l, whatever its size;
    of CDNA4's loads of 12 and 16 bytes to 12 l and 16 l behind it. Bytes and shorts are extended. Lanes that EXEC leaves out have a
    place and write nothing."""
    given, set_base = _given("cdna", 512), "s_mov_b32 m0, s5"
    rows = [
        (f"{set_base}; buffer_load_dword v0, s[8:11], s4 offen offset:8 lds", f"{given} s5=64 v0=LANE*4", "lds[72]=08090a0b0c0d0e0f lds[68]=44454647"),
        (f"{set_base}; buffer_load_dword v0, s[8:11], s4 offen lds", f"{given} s5=0x70040 v0=LANE*4 exec=0x2", "lds[68]=04050607 lds[64]=40414243 lds[72]=48494a4b"),
        (f"{set_base}; buffer_load_ubyte v0, s[8:11], s4 offen lds", f"{given} s5=0 v0=LANE+200 exec=0x3", "lds[0]=c8000000c9000000"),
        (f"{set_base}; buffer_load_sbyte v0, s[8:11], s4 offen lds", f"{given} s5=0 v0=LANE+200 exec=0x3", "lds[0]=c8ffffffc9ffffff"),
        (f"{set_base}; buffer_load_ushort v0, s[8:11], s4 offen lds", f"{given} s5=8 v0=LANE*2 exec=0x3", "lds[8]=0001000002030000"),
        (f"{set_base}; buffer_load_dwordx4 v0, s[8:11], s4 offen lds", f"{given} s5=64 v0=LANE*16 exec=0x5",
         "lds[64]=000102030405060708090a0b0c0d0e0f lds[80]=50515253 lds[96]=202122232425262728292a2b2c2d2e2f"),
        (f"{set_base}; global_load_lds_dword v[0:1], off offset:4", "v[0:1]=MEM16 s5=128 exec=0x3", "lds[132]=1415161714151617"),
        (f"{set_base}; global_load_lds_dword v0, s[8:9]", "s[8:9]=MEM v0=LANE*8 s5=0 exec=0x7", "lds[0]=0001020308090a0b10111213"),
        (f"{set_base}; global_load_lds_dwordx3 v0, s[8:9]", "s[8:9]=MEM v0=LANE*16 s5=0 exec=0x3", "lds[0]=000102030405060708090a0b101112131415161718191a1b"),
    ]  # fmt: skip
    return [InstructionRow(text, before, after, CDNA) for text, before, after in rows]


def _addresses() -> list[InstructionRow]:
    rows = []
    for load, rule, only in (("buffer_load_b32", "raw", RDNA), ("buffer_load_dword", "cdna", CDNA)):
        given = _given(rule, 512, stride=16)
        rows += [
            InstructionRow(f"{load} v2, v0, s[8:11], s4 idxen offset:4", f"{given} v0=3", _words(52, 1), only),
            InstructionRow(f"{load} v2, v[0:1], s[8:11], s4 idxen offen offset:4", f"{given} v0=3 v1=8 s4=40", _words(100, 1), only),
            InstructionRow(f"{load} v2, off, s[8:11], m0", f"{given} s124=8 s125=8", _words(8, 1), only),
            # An unaligned address is right.
            InstructionRow(f"{load} v2, v0, s[8:11], s4 offen", f"{given} v0=17", _words(17, 1), only),
        ]  # fmt: skip
    return rows


def _outside() -> list[InstructionRow]:
    """Raw buffers: the last word, the word behind it, the scalar offset, offsets that must not wrap round."""
    rows = []
    for b32, b128, store, rule, only in (
        ("b32", "b128", "b64", "raw", RDNA), ("dword", "dwordx4", "dwordx2", "cdna", CDNA),
    ):  # fmt: skip
        load = f"buffer_load_{b32} v2, v0, s[8:11], s4 offen"
        rows += [
            InstructionRow(load, f"{_given(rule, 24)} v0=20", _words(20, 1), only),
            InstructionRow(load, f"{_given(rule, 24)} v0=24 v2=7", "v2=0", only),
            InstructionRow(load, f"{_given(rule, 24)} v0=22 v2=7", "v2=0", only),
            InstructionRow(load, f"{_given(rule, 24)} v0=4 s4=16", _words(20, 1), only),
            InstructionRow(load, f"{_given(rule, 24)} v0=8 s4=16 v2=7", "v2=0", only),
            InstructionRow(load, f"{_given(rule, 24)} v0=0 s4=25 v2=7", "v2=0", only),
            InstructionRow(f"{load} offset:8", f"{_given(rule, 24)} v0=0xfffffffc v2=7", "v2=0", only),
            InstructionRow(load, f"{_given(rule, 0)} v0=0 v2=7", "v2=0", only),
            InstructionRow(f"buffer_load_{b128} v[2:5], v0, s[8:11], s4 offen", f"{_given(rule, 24)} v0=16 v4=7 v5=7",
                f"{_words(16, 2)} v4=0 v5=0", only),
            InstructionRow(f"buffer_store_{store} v[4:5], v0, s[8:11], s4 offen", f"{_given(rule, 24)} v0=20 {_STORED}",
                f"mem[20]={_BYTES[0]}18191a1b", only),
            InstructionRow(f"buffer_store_{b32} v4, v0, s[8:11], s4 offen", f"{_given(rule, 24)} v0=24 {_STORED}", "mem[24]=18191a1b", only),
            # 40 bytes hold two records of 16 bytes and the half of a third: only bytes count.
            InstructionRow(f"buffer_load_{b32} v2, v0, s[8:11], s4 idxen offset:4", f"{_given(rule, 40, stride=16)} v0=2", _words(36, 1), only),
            InstructionRow(f"buffer_load_{b32} v2, v0, s[8:11], s4 idxen offset:8", f"{_given(rule, 40, stride=16)} v0=2 v2=7", "v2=0", only),
        ]  # fmt: skip
    return rows


def _structured() -> list[InstructionRow]:
    """RDNA's other rules: index and offset in the record, the index alone, none but for an empty buffer."""
    load = "buffer_load_b32 v2, v[0:1], s[8:11], s4 idxen offen"
    wide = "buffer_load_b64 v[2:3], v[0:1], s[8:11], s4 idxen offen"
    record, records, empty = (_given(rule, 4, stride=16) for rule in ("record", "records", "empty"))
    return [
        InstructionRow(load, f"{record} v0=3 v1=12", _words(60, 1), RDNA),
        InstructionRow(load, f"{record} v0=4 v1=0 v2=7", "v2=0", RDNA),
        InstructionRow(load, f"{record} v0=1 v1=13 v2=7", "v2=0", RDNA),
        InstructionRow(load, f"{record} v0=3 v1=12 s4=64", _words(124, 1), RDNA),
        InstructionRow(wide, f"{record} v0=2 v1=12 v3=7", f"{_words(44, 1)} v3=0", RDNA),
        InstructionRow(load, f"{records} v0=3 v1=40", _words(88, 1), RDNA),
        InstructionRow(load, f"{records} v0=4 v1=0 v2=7", "v2=0", RDNA),
        InstructionRow(load, f"{empty} v0=9 v1=40", _words(184, 1), RDNA),
        InstructionRow(load, f"{_given('empty', 0, stride=16)} v0=0 v1=0 v2=7", "v2=0", RDNA),
    ]  # fmt: skip


def _narrow() -> list[InstructionRow]:
    rows = []
    for name, value, outside, only in (
        ("u8", "0xc8", "0", RDNA), ("i8", "0xffffffc8", "0", RDNA), ("u16", "0xc9c8", "0", RDNA), ("i16", "0xffffc9c8", "0", RDNA),
        ("d16_u8", "0xaaaa00c8", "0xaaaa0000", RDNA), ("d16_i8", "0xaaaaffc8", "0xaaaa0000", RDNA), ("d16_b16", "0xaaaac9c8", "0xaaaa0000", RDNA),
        ("d16_hi_u8", "0x00c8bbbb", "0xbbbb", RDNA), ("d16_hi_i8", "0xffc8bbbb", "0xbbbb", RDNA), ("d16_hi_b16", "0xc9c8bbbb", "0xbbbb", RDNA),
        ("ubyte", "0xc8", "0", CDNA), ("sbyte", "0xffffffc8", "0", CDNA), ("ushort", "0xc9c8", "0", CDNA), ("sshort", "0xffffc9c8", "0", CDNA),
        ("ubyte_d16", "0xaaaa00c8", "0xaaaa0000", CDNA), ("sbyte_d16", "0xaaaaffc8", "0xaaaa0000", CDNA), ("short_d16", "0xaaaac9c8", "0xaaaa0000", CDNA),
        ("ubyte_d16_hi", "0x00c8bbbb", "0xbbbb", CDNA), ("sbyte_d16_hi", "0xffc8bbbb", "0xbbbb", CDNA), ("short_d16_hi", "0xc9c8bbbb", "0xbbbb", CDNA),
    ):  # fmt: skip
        rule = "raw" if only == RDNA else "cdna"
        text = f"buffer_load_{name} v2, v0, s[8:11], s4 offen"
        rows.append(InstructionRow(text, f"{_given(rule, 202)} v0=200 v2=0xaaaabbbb", f"v2={value}", only))
        rows.append(InstructionRow(text, f"{_given(rule, 200)} v0=200 v2=0xaaaabbbb", f"v2={outside}", only))
    for name, value, only in (
        ("b8", "14", RDNA), ("b16", "1413", RDNA), ("d16_hi_b8", "12", RDNA), ("d16_hi_b16", "1211", RDNA),
        ("byte", "14", CDNA), ("short", "1413", CDNA), ("byte_d16_hi", "12", CDNA), ("short_d16_hi", "1211", CDNA),
    ):  # fmt: skip
        rule = "raw" if only == RDNA else "cdna"
        text = f"buffer_store_{name} v4, v0, s[8:11], s4 offen"
        rows.append(
            InstructionRow(
                text,
                f"{_given(rule, 19)} v0=17 {_STORED}",
                f"mem[17]={value}{bytes(range(17 + len(value) // 2, 20)).hex()}",
                only,
            )
        )
        rows.append(InstructionRow(text, f"{_given(rule, 17)} v0=17 {_STORED}", "mem[17]=111213", only))
    return rows


def _atomics() -> list[InstructionRow]:
    """One lane is active. The memory has 0x13121110 at byte 16, the whole of an atomic access is inside or outside."""
    rows = []
    for new, old, value, after in (
        ("add_u32", "add", 1, "11111213"), ("sub_u32", "sub", 1, "0f111213"), ("and_b32", "and", 0xFF, "10000000"), ("or_b32", "or", 0xFF, "ff111213"),
        ("xor_b32", "xor", 0xFF, "ef111213"), ("swap_b32", "swap", 5, "05000000"), ("min_u32", "umin", 5, "05000000"), ("max_u32", "umax", 5, "10111213"),
        ("min_i32", "smin", 0xFFFFFFFF, "ffffffff"), ("max_i32", "smax", 0xFFFFFFFF, "10111213"), ("inc_u32", "inc", 0x13121110, "00000000"),
        ("dec_u32", "dec", 5, "05000000"),
    ):  # fmt: skip
        for name, rule, only in ((new, "raw", RDNA), (old, "cdna", CDNA)):
            text = f"buffer_atomic_{name} v4, v0, s[8:11], s4 offen"
            rows.append(InstructionRow(text, f"{_given(rule, 20)} exec=1 v0=16 v4={value:#x}", f"mem[16]={after}", only))
            rows.append(InstructionRow(text, f"{_given(rule, 19)} exec=1 v0=16 v4={value:#x}", "mem[16]=10111213", only))
    for name, ends, rule, only in (
        ("add_u32", " glc", "raw", "gfx11"), ("add_u32", " th:TH_ATOMIC_RETURN", "raw", "gfx12"), ("add", " sc0", "cdna", "gfx94 gfx95"),
    ):  # fmt: skip
        text = f"buffer_atomic_{name} v4, v0, s[8:11], s4 offen{ends}"
        rows.append(
            InstructionRow(
                text, f"{_given(rule, 20)} exec=1 v0=16 v4=1", {"v4": lambda lane: 0x13121110 if lane == 0 else 1}, only
            )
        )
        rows.append(
            InstructionRow(text, f"{_given(rule, 16)} exec=1 v0=16 v4=1", {"v4": lambda lane: 0 if lane == 0 else 1}, only)
        )
    for name, rule, only in (("cmpswap_b32", "raw", RDNA), ("cmpswap", "cdna", CDNA)):
        text = f"buffer_atomic_{name} v[4:5], v0, s[8:11], s4 offen"
        rows.append(InstructionRow(text, f"{_given(rule, 20)} exec=1 v0=16 v4=5 v5=0x13121110", "mem[16]=05000000", only))
        rows.append(InstructionRow(text, f"{_given(rule, 20)} exec=1 v0=16 v4=5 v5=0x13121111", "mem[16]=10111213", only))
    for name, rule, only in (("add_u64", "raw", RDNA), ("add_x2", "cdna", CDNA)):
        text = f"buffer_atomic_{name} v[4:5], v0, s[8:11], s4 offen"
        rows.append(InstructionRow(text, f"{_given(rule, 24)} exec=1 v0=16 v4=0xf0 v5=1", "mem[16]=0012121315151617", only))
        rows.append(InstructionRow(text, f"{_given(rule, 23)} exec=1 v0=16 v4=0xf0 v5=1", "mem[16]=1011121314151617", only))
    for name, rule, only in (("add_f32", "raw", RDNA), ("add_f32", "cdna", CDNA)):
        rows.append(
            InstructionRow(
                f"buffer_atomic_{name} v4, v0, s[8:11], s4 offen",
                f"{_given(rule, 20)} exec=1 v0=16 v4=1.0",
                "mem[16]=0000803f",
                only,
            )
        )
    return rows


def _scratch() -> list[InstructionRow]:
    """CDNA2's scratch: a descriptor with swizzled records that adds the lane. Each of 64 lanes has 8 bytes, scalar offsets are those
    of 64 lanes. LDS stands for scratch: lane l has its bytes from 8 * l on."""
    given = "s8=0 s9=0x80008000 s10=0xffffffff s11=0x00800000"
    word = {"v2": lambda lane: _word(8 * lane % 256 + 4)}
    return [
        InstructionRow("buffer_load_dword v2, off, s[8:11], 0 offset:4", given, word, "gfx90a"),
        InstructionRow("buffer_load_dword v2, off, s[8:11], s4", f"{given} s4=256", word, "gfx90a"),
        InstructionRow("buffer_load_dword v2, v0, s[8:11], 0 offen", f"{given} v0=4", word, "gfx90a"),
        InstructionRow("buffer_load_ubyte v2, v0, s[8:11], s4 offen offset:1", f"{given} v0=2 s4=256", {"v2": lambda lane: (8 * lane + 7) % 256}, "gfx90a"),
        InstructionRow("buffer_load_dword v2, off, s[8:11], 0 offset:8", f"{given} v2=7", "v2=0", "gfx90a"),
        InstructionRow("buffer_store_dword v4, off, s[8:11], 0 offset:4", f"{given} v4=LANE", "lds[0]=0001020300000000 lds[8]=08090a0b01000000 lds[508]=3f000000", "gfx90a"),
        InstructionRow("buffer_store_dwordx2 v[4:5], v0, s[8:11], 0 offen", f"{given} v0=0 v4=LANE v5=5", "lds[0]=0000000005000000 lds[504]=3f00000005000000", "gfx90a"),
        InstructionRow("buffer_store_byte v4, off, s[8:11], s4 offset:3", f"{given} v4=LANE+16 s4=256", "lds[4]=04050610 lds[508]=fcfdfe4f", "gfx90a"),
    ]  # fmt: skip


def _scalar() -> list[InstructionRow]:
    """s_buffer_load. A word beyond the end is 0; the end is counted in records where the descriptor has their size."""
    rows = []
    for rule, only, two, one, eight, by_register in (
        ("raw", RDNA, "b64", "b32", "b256", "s4 offset:0x10"), ("cdna", CDNA, "dwordx2", "dword", "dwordx8", "s4"),
    ):  # fmt: skip
        text = f"s_buffer_load_{two} s[6:7], s[8:11], 0x10"
        rows.append(InstructionRow(text, _given(rule, 24), f"s6={_word(16):#x} s7={_word(20):#x}", only))
        rows.append(InstructionRow(text, _given(rule, 23), f"s6={_word(16):#x} s7=0", only))
        rows.append(InstructionRow(text, _given(rule, 3, stride=8), f"s6={_word(16):#x} s7={_word(20):#x}", only))
        rows.append(InstructionRow(text, _given(rule, 2, stride=8), "s6=0 s7=0", only))
        at = 24 if only == RDNA else 8
        rows.append(
            InstructionRow(f"s_buffer_load_{one} s6, s[8:11], {by_register}", f"{_given(rule, 64)} s4=8", f"s6={_word(at):#x}", only)
        )
        rows.append(
            InstructionRow(f"s_buffer_load_{eight} s[12:19], s[8:11], 0x20", _given(rule, 60), f"s12={_word(32):#x} s18={_word(56):#x} s19=0", only)
        )
    rows.append(InstructionRow("s_load_dword s6, s[8:9], s4", f"{_given('cdna', 0)} s4=8", f"s6={_word(8):#x}", CDNA))
    return rows


BUFFERS = (*_into_lds(), *_scalar(), *_scratch(), *_whole_words(), *_addresses(), *_outside(), *_structured(), *_narrow(), *_atomics())
