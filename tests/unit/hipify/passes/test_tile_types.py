"""Tiles that are declared with auto have a type of their own before ROCm 6.0."""

from __future__ import annotations

import pytest

from stackbuild.hipify.model import Target
from support.hipify import hip


@pytest.mark.parametrize(
    ("tile", "converted"),
    [
        ("auto t = cg::tiled_partition<32>(block);", "cg::thread_block_tile<32> t = cg::tiled_partition<32>(block);"),
        ("const auto t = tiled_partition< N >(block);", "const thread_block_tile<N> t = tiled_partition< N >(block);"),
        ("auto const t(cg::tiled_partition<N / 2>(b));", "cg::thread_block_tile<N / 2> const t(cg::tiled_partition<N / 2>(b));"),
        ("auto t = cg::tiled_partition(block, 32);", ""),
        ("auto& t = tiles[0]; cg::tiled_partition<32>(block);", ""),
        ("cg::thread_block_tile<32> t = cg::tiled_partition<32>(block);", ""),
    ],
)
def test_a_tile_declared_with_auto_has_its_type(tile: str, converted: str) -> None:
    text = f"namespace cg = cooperative_groups;\n__device__ void f() {{\n  {tile}\n}}\n"
    made = hip(text, target=Target(rocm="5.7")).text
    assert f"  {converted or tile}\n" in made
    assert hip(made, target=Target(rocm="5.7")).text == made
    assert f"  {tile}\n" in hip(text, target=Target(rocm="6.4")).text
