"""Bundles and code objects: every format, several in a row, packed traps, and answers that do not depend on chunking."""

from __future__ import annotations

import struct
from pathlib import Path

import msgpack
import pytest

from stackbuild.inspection import inspect, judge
from stackbuild.inspection.facts import Bundle, Kind, ProblemKind
from stackbuild.inspection.readers.budget import ReadBudget
from stackbuild.inspection.readers.bundle import bundle as read_bundle
from stackbuild.inspection.readers.bundle import bundles, target_of
from stackbuild.inspection.readers.byte_parser import Feed, MalformedError, read_all
from stackbuild.inspection.readers.ccob import header
from stackbuild.tables.targets import normal, of_e_flags
from support.binaries import GOOD, bundle, ccob, code_object, fatbin, kernel, library, section

ONE = bundle({"gfx90a": code_object("gfx90a"), "gfx1100": code_object("gfx1100", [kernel("big", 99)])})


def walk(data: bytes) -> tuple[list[Bundle], list[MalformedError]]:
    return read_all(bundles(0, len(data), ReadBudget(len(data)), lambda at: None), lambda at, size: data[at : at + size])


def looked(path: Path, data: bytes) -> object:
    path.write_bytes(data)
    return inspect(path)


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("method", [0, 1])
def test_every_compressed_form(version: int, method: int):
    packed = ccob(ONE, version, method)
    found, stopped = walk(section([packed, packed, packed]))
    assert not stopped and len(found) == 3
    for made in found:
        assert (made.format, made.compression, made.hash_ok) == (version, ("zlib", "zstd")[method], True)
        assert made.size == len(packed) and made.inflated == len(ONE)
        assert [(o.target, len(o.kernels)) for o in made.objects] == [("gfx90a", 3), ("gfx1100", 1)]


def test_magic_inside_a_payload_is_not_a_bundle():
    """A skippable zstd frame that holds CCOB: whoever splits by the magic counts six bundles (llvm#205587)."""
    decoy = ccob(ONE)[:32] + b"__CLANG_OFFLOAD_BUNDLE__"
    skippable = struct.pack("<II", 0x184D2A50, len(decoy)) + decoy
    data = section([ccob(ONE, prefix=skippable)] * 3)
    assert data.count(b"CCOB") == 6
    found, stopped = walk(data)
    assert len(found) == 3 and not stopped and all(made.hash_ok for made in found)


def test_metadata_of_kernels():
    spoken = [
        kernel("f", 200, **{".agpr_count": 64, ".vgpr_spill_count": 7, ".private_segment_fixed_size": 128}),
        kernel("e", 0, **{".sgpr_spill_count": 3, ".uses_dynamic_stack": True}),
    ]
    found, _ = walk(bundle({"gfx90a": code_object("gfx90a", spoken, abi=4)}))
    (code,) = found[0].objects
    assert (code.version, code.metadata) == (6, (1, 2))
    full, empty = code.kernels
    assert (full.name, full.vgprs, full.agprs, full.vgpr_spills, full.scratch, full.wave) == ("f", 200, 64, 7, 128, 64)
    assert empty.empty and not full.empty
    assert (full.sgpr_spills, full.dynamic_stack, empty.sgpr_spills, empty.dynamic_stack) == (0, False, 3, True)


def test_target_ids():
    assert target_of("hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-") == "gfx90a:sramecc+:xnack-"
    assert target_of("hip-amdgcn-amd-amdhsa-gfx906") == ""  # a missing environment is a malformed ID, not a target
    assert target_of("host-x86_64-unknown-linux-gnu-") == ""
    assert target_of("hipv4-amdgcn-amd-amdhsa--gfx9-4-generic") == "gfx9-4-generic"
    assert normal("gfx90a:xnack-:sramecc+") == "gfx90a:sramecc+:xnack-"
    assert of_e_flags(0x3F | 0x200 | 0xC00) == "gfx90a:sramecc+:xnack-"
    assert of_e_flags(0x3F | 0x100 | 0x400) == "gfx90a"
    assert of_e_flags(0x30 | 0x100, version=3) == "gfx908:xnack+"
    assert of_e_flags(0xFE).startswith("unknown")


@pytest.mark.parametrize("step", [1, 7, 64, 4096, 100_000])
def test_streaming_and_random_access_agree(step: int):
    data = fatbin()
    anywhere = read_all(read_bundle(0, len(data), ReadBudget()), lambda at, size: data[at : at + size])
    feed = Feed(read_bundle(0, len(data), ReadBudget()))
    for at in range(0, len(data), step):
        if not feed.is_complete:
            feed.push(at, data[at : at + step])
    assert feed.is_complete and feed.result == anywhere


@pytest.mark.parametrize("lie", [{"total": 1 << 40}, {"inflated": 7}, {"inflated": 1 << 31}, {"total": 3}])
def test_lying_headers_stop_the_walk(lie: dict[str, int]):
    found, stopped = walk(section([ONE, ccob(ONE, **lie)]))
    assert len(found) == 1 and len(stopped) == 1


def test_unknown_ccob_versions_are_named():
    with pytest.raises(MalformedError, match="version 9"):
        header(b"CCOB" + struct.pack("<HH", 9, 1) + bytes(40))
    with pytest.raises(MalformedError, match="method 5"):
        header(b"CCOB" + struct.pack("<HH", 3, 5) + bytes(40))


def test_garbage_between_bundles_is_said():
    _, stopped = walk(section([ONE, b"not a bundle", ONE]))
    assert "neither a code-object bundle nor padding" in str(stopped[0])


def test_a_code_object_by_itself(tmp_path: Path):
    facts = looked(tmp_path / "k.hsaco", code_object("gfx942:xnack-"))
    assert facts.kind is Kind.FILE
    assert [o.target for d in facts.device for o in d.objects] == ["gfx942:xnack-"]


def test_tensile_file_that_is_a_compressed_bundle(tmp_path: Path):
    facts = looked(tmp_path / "TensileLibrary_gfx90a.co", ccob(ONE))
    assert len(facts.device[0].objects) == 2 and not facts.problems


def test_a_tensile_library_and_its_lazy_index(tmp_path: Path):
    """The layout is that of rocBLAS 6.4's files."""
    leaf = {"type": "Matching", "table": [{"key": [64, 64], "value": 0, "index": 7}]}
    lazy = {
        "type": "Hardware",
        "rows": [
            {"predicate": {"type": "AMDGPU"}, "library": {"type": "Placeholder", "value": "TensileLibrary_SS_gfx90a"}}
        ],
    }
    (tmp_path / "TensileLibrary_SS_gfx90a.dat").write_bytes(
        msgpack.packb({"solutions": [{"name": "a"}, {"name": "b"}], "library": leaf})
    )
    (tmp_path / "TensileLibrary_lazy_gfx90a.dat").write_bytes(msgpack.packb({"solutions": [], "library": lazy}))
    (tmp_path / "TensileLibrary_SS_gfx90a.co").write_bytes(ccob(ONE))
    facts = inspect(tmp_path)
    assert [(e.target, e.solutions, e.refers) for e in facts.extras] == [
        ("gfx90a", 2, ()), ("gfx90a", 0, ("TensileLibrary_SS_gfx90a",)),
    ]  # fmt: skip
    assert not facts.problems and not [f for f in judge(facts) if "TENSILE" in f.rule]


def test_the_wheel_the_folder_and_the_library_agree(tmp_path: Path):
    wheel = inspect(GOOD.write(tmp_path))
    for path, data in GOOD.contents().items():
        (tmp_path / "tree" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / path).write_bytes(data)
    folder = inspect(tmp_path / "tree")
    alone = inspect(tmp_path / "tree" / "onnxruntime_ep_forge" / "libonnxruntime_ep_forge.so")
    assert [d.bundles for d in wheel.device] == [d.bundles for d in folder.device] == [d.bundles for d in alone.device]
    assert wheel.libraries == folder.libraries
    assert wheel.policy == folder.policy and wheel.providers == folder.providers


def test_bundles_that_were_not_foreseen_are_read_all_the_same(tmp_path: Path):
    """A section that does not start on a page: nothing is recognised while streaming, everything is found by the walk."""
    data = library(fatbin=section([ONE, ccob(ONE)])).replace(b"nothing to see", b"nothing to see")
    shifted = bytearray(data)
    at = data.index(b"__CLANG_OFFLOAD_BUNDLE__")
    assert at % 4096 == 0
    facts = looked(tmp_path / "lib.so", bytes(shifted))
    assert len(facts.device[0].bundles) == 2


def test_too_many_entries_are_not_followed():
    data = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", 1 << 60) + bytes(4096)
    _, stopped = walk(data)
    assert "entries" in str(stopped[0]) and type(stopped[0]).__name__ == "LimitError"


def test_problem_kinds(tmp_path: Path):
    facts = looked(tmp_path / "x.co", ccob(ONE, inflated=1 << 50))
    assert [p.trouble for p in facts.problems] == [ProblemKind.LIMIT]
