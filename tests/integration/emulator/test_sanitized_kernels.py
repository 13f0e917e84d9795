"""The shipped kernels under the sanitizer: right answers and no finding."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("tinygrad")

from support.emulated_kernels import each_kernel_check, emulated_check, kernel_names
from support.kernels import every_target_stack

LIBRARY = "libstackbuild_kernels_hip.so"
SAMPLES = {
    "Attention": ("--op", "Attention", "--work", "2e4", "--part", "1/8"),
    "attention in tiles": ("--op", "Attention", "--named", "T63 D64", "--work", "6e6"),
    "BatchNormalization": ("--op", "BatchNormalization", "--work", "3e4", "--part", "1/6"),
    "GroupNormalization": ("--op", "GroupNormalization", "--work", "5e3", "--part", "1/12"),
    "LeakyRelu": ("--op", "LeakyRelu", "--work", "2e4", "--part", "1/8"),
}
FAMILIES = {
    "attention": ("--op", "Attention", "--op", "MultiHeadAttention"),
    "batch_norm": ("--op", "BatchNormalization"),
    "conv": ("--op", "Conv"),
    "group_norm": ("--op", "GroupNormalization"),
    "leaky_relu": ("--op", "LeakyRelu"),
}
"""The kernels' namespaces, and the operators whose cases launch them."""


@pytest.mark.sandbox
@pytest.mark.timeout(1500)  # the first one builds the kernels
def test_channels_that_fill_no_strip_read_no_lds_that_nobody_wrote(amd: Path, tmp_path: Path) -> None:
    """257 channels: of the second strip of 256 threads one has a channel. It once read what the others' would have been."""
    words = ("--op", "BatchNormalization", "--named", "257x9x9", "--work", "3e4", "--part", "0/2")
    found = emulated_check(amd / LIBRARY, "gfx1100", tmp_path, *words)
    assert found.findings == ()
    assert found.status == 0, found.said[-2000:]
    assert any("batch_norm_rows" in kernel for kernel in found.kernels)


@pytest.mark.sandbox
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("target", ["gfx1100", "gfx942"])
@pytest.mark.parametrize(
    "family", [pytest.param(name, marks=() if name == "leaky_relu" else pytest.mark.slow) for name in FAMILIES]
)
def test_every_kernel_of_the_library_has_no_finding(family: str, target: str, amd: Path, tmp_path: Path) -> None:
    """Each runs in its smallest case, and in up to two of four times the size and more."""
    kernels = {name for name in kernel_names(amd / LIBRARY, target) if f"{family}_detail" in name}
    checks = each_kernel_check(amd / LIBRARY, kernels, target, tmp_path, *FAMILIES[family], "--times", "3")
    for found in checks:
        assert found.findings == ()
        assert found.status == 0, found.said[-2000:]
    assert kernels and kernels - frozenset[str]().union(*(found.kernels for found in checks)) == set()


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("target", ["gfx1100", "gfx942", "gfx1201", "gfx90a"])
@pytest.mark.parametrize("sample", SAMPLES)
def test_a_sample_of_every_operator_has_no_finding(sample: str, target: str, tmp_path: Path) -> None:
    """Debian sid's clang adds row rotations (DPP) to attention in tiles, which no other run executes."""
    package = every_target_stack().built("amd") / "stackbuild_kernels"
    found = emulated_check(package / LIBRARY, target, tmp_path, *SAMPLES[sample])
    assert found.findings == ()
    assert found.status == 0, found.said[-2000:]
    assert found.runs > 0
