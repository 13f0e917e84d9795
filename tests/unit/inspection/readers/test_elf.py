"""A library is what the loader sees: the same without section headers, and with headers that lie."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from stackbuild.inspection import Facts, inspect, judge
from stackbuild.inspection.readers.byte_parser import LimitError
from stackbuild.inspection.readers.elf import line_rows, merge_spans
from support.binaries import GOOD, TARGETS, bundle, code_object, fatbin, library, section, without_sections

PROVIDER = library(
    exports=["GetProvider"], undefined=["malloc", "hipMalloc"], soname="libonnxruntime_providers_rocm.so", isa=3,
    versions={"libc.so.6": ["GLIBC_2.17", "GLIBC_2.36"], "libm.so.6": ["GLIBC_2.27"]}, needed=["libc.so.6", "libm.so.6"],
    fatbin=fatbin(), rodata=b"\0/home/builder/x.cc\0",
)  # fmt: skip


def looked(tmp_path: Path, data: bytes, name: str = "libonnxruntime_providers_rocm.so") -> Facts:
    path = tmp_path / name
    path.write_bytes(data)
    return inspect(path)


def test_without_sections_the_same_is_known(tmp_path: Path):
    whole, bare = looked(tmp_path, PROVIDER), looked(tmp_path, without_sections(PROVIDER))
    (one,), (two,) = whole.libraries, bare.libraries
    assert two.sections == () and two.exports == ("GetProvider",) and two.isa == 3
    assert replace(two, size=one.size, sections=one.sections) == one
    assert bare.policy == whole.policy and whole.policy.name == "manylinux_2_36_x86_64"
    assert [d.bundles for d in bare.device] == [d.bundles for d in whole.device] and len(bare.targets) == 2
    assert [h.kind for h in bare.texts] == [h.kind for h in whole.texts] == ["home-path"]
    assert {f.rule for f in judge(bare)} == {f.rule for f in judge(whole)}


def test_sections_that_lie_change_nothing(tmp_path: Path):
    """A section header claims that the symbol table is twice as long, and another that there are no needs."""
    made = bytearray(PROVIDER)
    (headers,) = struct.unpack_from("<Q", made, 40)
    count, strings = struct.unpack_from("<HH", made, 60)
    assert strings < count
    for number in range(count):
        at = headers + 64 * number
        kind, size = struct.unpack_from("<I", made, at + 4)[0], struct.unpack_from("<Q", made, at + 32)[0]
        if kind == 11:
            struct.pack_into("<Q", made, at + 32, 2 * size)
        if kind == 0x6FFFFFFE:
            struct.pack_into("<I", made, at + 44, 0)
    (lying,), (honest,) = looked(tmp_path, bytes(made)).libraries, looked(tmp_path, PROVIDER).libraries
    assert (lying.exports, lying.undefined, lying.versions) == (honest.exports, honest.undefined, honest.versions)


def test_every_section_of_gpu_code_is_read(tmp_path: Path):
    """Two of one name: a dictionary by name would show the last alone."""
    more = section([bundle({"gfx942": code_object("gfx942")})])
    made = library(fatbin=fatbin(), more={".hip_fatbi2": more}).replace(b".hip_fatbi2", b".hip_fatbin")
    facts = looked(tmp_path, made)
    assert [t.target for t in facts.targets] == ["gfx90a", "gfx942", "gfx1100"]
    (device,) = facts.device
    assert len(device.bundles) == 3 and device.size == len(fatbin()) + len(more)


def test_gpu_code_under_another_name_is_read(tmp_path: Path):
    facts = looked(tmp_path, library(more={".hip_fatbi2": fatbin()}))
    assert {t.target for t in facts.targets} == set(TARGETS) and facts.device[0].section == "elsewhere"


def test_what_no_loader_takes_is_no_library(tmp_path: Path):
    made = bytearray(PROVIDER)
    struct.pack_into("<H", made, 56, 0)  # no program headers
    facts = looked(tmp_path, bytes(made))
    assert facts.libraries == () and "PT_DYNAMIC" in facts.problems[0].what


@pytest.mark.parametrize(
    ("tag", "said"),
    [(5, "not loaded"), (6, "not loaded"), (0x6FFFFFFE, "not loaded"), (4, "not loaded")],
)
def test_tables_that_lead_nowhere_are_told(tag: int, said: str, tmp_path: Path):
    made = PROVIDER.replace(entry(tag), struct.pack("<QQ", tag, 1 << 40))
    assert made != PROVIDER
    assert any(said in p.what for p in looked(tmp_path, made).problems)


def entry(tag: int) -> bytes:
    """The dynamic tag of a kind in PROVIDER."""
    at = PROVIDER.index(struct.pack("<QQ", 11, 24)) & ~15
    start = next(a for a in range(at - 320, at + 160, 8) if PROVIDER[a : a + 8] == struct.pack("<Q", tag))
    return PROVIDER[start : start + 16]


def test_version_needs_in_a_ring_end(tmp_path: Path):
    """vn_next that leads back would be followed for ever."""
    at = struct.unpack("<Q", entry(0x6FFFFFFE)[8:])[0]
    made = bytearray(PROVIDER)
    struct.pack_into("<I", made, at + 12, 0)  # the first has no next: what follows is not asked for
    assert [name for name, _ in looked(tmp_path, bytes(made)).libraries[0].versions] == ["libc.so.6"]
    struct.pack_into("<I", made, at + 16 + 12, 0x7FFFFFFF)
    assert looked(tmp_path, bytes(made)).problems


def test_overlapping_stretches_are_one():
    assert merge_spans([(10, 5), (0, 4), (12, 9), (4, 2), (11, 1)]) == [(0, 4), (4, 2), (10, 11)]


def test_the_good_wheel_s_library_is_read_by_its_hash_table(tmp_path: Path):
    (lib,) = looked(tmp_path, GOOD.contents()["onnxruntime_ep_forge/libonnxruntime_ep_forge.so"], "x.so").libraries
    assert lib.exports == ("CreateEpFactories", "ReleaseEpFactory") and "hipMalloc" in lib.undefined


def test_units_that_share_a_line_table_have_a_bound_of_rows() -> None:
    """Each unit gives all rows of its table: 300 units of 16 bytes on a table of 10,000 rows are three million."""
    data = shared_line_table(300, 10_000)
    assert len(data) < 20_000
    with pytest.raises(LimitError, match="over 1000000 rows"):
        line_rows(data)
    assert len(line_rows(shared_line_table(3, 100))) == 300


def shared_line_table(units: int, rows: int) -> bytes:
    """An ELF file of so many compilation units of DWARF 4 with one line program of special opcodes."""
    head = struct.pack("<BBBbBB", 1, 1, 1, -5, 14, 13) + bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1])
    head += b"\0" + b"a.c\0\0\0\0" + b"\0"
    program = struct.pack("<HI", 4, len(head)) + head + b"\x20" * rows
    unit = struct.pack("<HIB", 4, 0, 8) + b"\x01" + struct.pack("<I", 0)
    names = b"\0.debug_line\0.debug_info\0.debug_abbrev\0.shstrtab\0"
    sections = {
        b"": b"",
        b".debug_line": struct.pack("<I", len(program)) + program,
        b".debug_info": (struct.pack("<I", len(unit)) + unit) * units,
        b".debug_abbrev": bytes([1, 0x11, 0, 0x10, 0x17, 0, 0, 0]),
        b".shstrtab": names,
    }
    image, table = bytearray(64), b""
    for name, content in sections.items():
        kind = {b"": 0, b".shstrtab": 3}.get(name, 1)
        at = names.index(name + b"\0")
        table += struct.pack("<IIQQQQIIQQ", at, kind, 0, 0, len(image), len(content), 0, 0, 1, 0)
        image += content
    head = struct.pack("<HHIQQQIHHHHHH", 3, 224, 1, 0, 0, len(image), 0x41, 64, 0, 0, 64, len(sections), len(sections) - 1)
    image[:64] = b"\x7fELF\x02\x01\x01\x40\x03" + bytes(7) + head
    return bytes(image + table)
