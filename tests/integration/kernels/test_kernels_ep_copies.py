"""Whose memory the provider copies (copy_orders.cpp asks it, built for each platform)."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernels_stack import KERNELS, Stack, run

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(600)]


@pytest.mark.parametrize(
    "platform", ("-DBUILT_FOR=0x1002", "-DBUILT_FOR=0x10DE -DSBK_CUDA_HOST"), ids=("amd", "nvidia")
)
def test_memory_of_another_vendor_is_left_to_its_own_plugin(platform: str, stack: Stack, tmp_path: Path) -> None:
    headers = stack.built("source.headers") / "usr" / "include" / "onnxruntime"
    includes = [f"-I{folder}" for folder in (KERNELS / "ep", KERNELS, headers)]
    program = tmp_path / "copy"
    sources = [Path(__file__).with_name("copy_orders.cpp"), KERNELS / "ep" / "core" / "sync.cpp"]
    run("g++", "-std=c++17", "-DRK_CPU=0", *platform.split(), *includes, *sources, "-o", program)
    assert run(program).strip() == "all hold"
