"""A library is what the loader sees: the same without section headers, and with headers that lie."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from stackbuild.inspection import Facts, inspect, judge
from stackbuild.inspection.readers.elf import merge_spans
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
