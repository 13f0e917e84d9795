"""Code objects: the metadata of their kernels, read in any way."""

from __future__ import annotations

import pytest

from stackbuild.inspection.readers.budget import ReadBudget
from stackbuild.inspection.readers.bundle import bundle as read_bundle
from stackbuild.inspection.readers.byte_parser import Feed, read_all
from support.binaries import bundle, code_object, fatbin, kernel
from support.inspected_files import walk


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


@pytest.mark.parametrize("step", [1, 7, 64, 4096, 100_000])
def test_streaming_and_random_access_agree(step: int):
    data = fatbin()
    anywhere = read_all(read_bundle(0, len(data), ReadBudget()), lambda at, size: data[at : at + size])
    feed = Feed(read_bundle(0, len(data), ReadBudget()))
    for at in range(0, len(data), step):
        if not feed.is_complete:
            feed.push(at, data[at : at + step])
    assert feed.is_complete and feed.result == anywhere
