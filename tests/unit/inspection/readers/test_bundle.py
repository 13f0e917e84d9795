"""Bundles and code objects: every format, several in a row, packed traps, and answers that do not depend on chunking."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from stackbuild.inspection import inspect
from stackbuild.inspection.facts import ProblemKind
from stackbuild.inspection.readers.bundle import target_of
from stackbuild.tables.targets import normal, of_e_flags
from support.binaries import GOOD, ccob, library, section
from support.inspected_files import ONE, looked, walk


def test_magic_inside_a_payload_is_not_a_bundle():
    """A skippable zstd frame that holds CCOB: whoever splits by the magic counts six bundles (llvm#205587)."""
    decoy = ccob(ONE)[:32] + b"__CLANG_OFFLOAD_BUNDLE__"
    skippable = struct.pack("<II", 0x184D2A50, len(decoy)) + decoy
    data = section([ccob(ONE, prefix=skippable)] * 3)
    assert data.count(b"CCOB") == 6
    found, stopped = walk(data)
    assert len(found) == 3 and not stopped and all(made.hash_ok for made in found)


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


@pytest.mark.parametrize("lie", [{"total": 1 << 40}, {"inflated": 7}, {"inflated": 1 << 31}, {"total": 3}])
def test_lying_headers_stop_the_walk(lie: dict[str, int]):
    found, stopped = walk(section([ONE, ccob(ONE, **lie)]))
    assert len(found) == 1 and len(stopped) == 1


def test_garbage_between_bundles_is_said():
    _, stopped = walk(section([ONE, b"not a bundle", ONE]))
    assert "neither a code-object bundle nor padding" in str(stopped[0])


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
