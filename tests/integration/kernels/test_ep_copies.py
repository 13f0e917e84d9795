"""Whose memory the provider copies, and what it waits for when asked to: copy_orders.cpp and sync_orders.cpp ask it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.kernels import KERNELS, KernelStack, run

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(600)]
CORE = KERNELS / "ep" / "core"


@pytest.fixture(scope="module")
def compiler(stack: KernelStack) -> list[str]:
    headers = stack.built("source.headers") / "usr" / "include" / "onnxruntime"
    return ["g++", "-std=c++17", "-DRK_CPU=0", *(f"-I{folder}" for folder in (KERNELS / "ep", KERNELS, headers))]


@pytest.mark.parametrize(
    "platform", ("-DBUILT_FOR=0x1002", "-DBUILT_FOR=0x10DE -DSBK_CUDA_HOST"), ids=("amd", "nvidia")
)
def test_memory_of_another_vendor_is_left_to_its_own_plugin(platform: str, compiler: list[str], tmp_path: Path) -> None:
    program = tmp_path / "copy"
    asking = Path(__file__).with_name("copy_orders.cpp")
    run(*compiler, *platform.split(), asking, CORE / "memory" / "sync.cpp", "-o", program)
    assert run(program).strip() == "all hold"


def test_sync_waits_for_all_that_the_session_was_given(compiler: list[str], tmp_path: Path) -> None:
    program = tmp_path / "sync"
    asking = Path(__file__).with_name("sync_orders.cpp")
    sources = [CORE / name for name in ("provider/ep.cpp", "memory/pool.cpp", "memory/stream.cpp", "memory/sync.cpp")]
    # Kernels and graphs, which Sync has no use for.
    unlinked = ["-fno-pie", "-no-pie", "-Wl,--unresolved-symbols=ignore-all"]
    run(*compiler, *unlinked, asking, *sources, "-o", program)
    assert run(program).strip() == "all hold"
