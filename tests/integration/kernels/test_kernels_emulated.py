"""The device code for AMD, run on emulated waves (tests/emulation): nobody here has such a GPU.

The mutations below are what shows that the emulation can fail: each is a mistake that a CPU build or an NVIDIA GPU does not show.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from kernels_stack import KERNELS

EMULATION = Path(__file__).parents[2] / "emulation"
pytestmark = [
    pytest.mark.timeout(1500),
    pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++"),
]
OPERATORS = ("attention", "batch_norm", "conv", "group_norm", "leaky_relu")
TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1151", "gfx1200", "gfx1201")


def built(kernels: Path, target: str, out: Path, *operators: str) -> Path:
    only = [word for operator in operators for word in ("--only", operator)]
    command = [sys.executable, str(EMULATION / "build.py"), str(kernels), target, str(out), *only]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return out


def check(library: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(EMULATION / "check.py"), str(library), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def assert_right(done: subprocess.CompletedProcess[str], at_least: int) -> None:
    """Nothing wrong in as many runs as are known to fit the selection."""
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-2000:]}"
    assert " 0 wrong" in done.stdout
    assert int(done.stdout.split(": ", 1)[1].split(" runs", 1)[0]) >= at_least, done.stdout


def test_every_operator_on_waves_of_64(tmp_path: Path) -> None:
    library = built(KERNELS, "gfx942", tmp_path / "gfx942.so", *OPERATORS)
    assert_right(check(library, "--part", "3/12", "--work", "4e5"), 30)


def test_attention_and_norms_on_waves_of_32(tmp_path: Path) -> None:
    library = built(KERNELS, "gfx1100", tmp_path / "gfx1100.so", "attention", "group_norm")
    operators = ("--op", "Attention", "--op", "GroupNormalization")
    assert_right(check(library, *operators, "--part", "1/8", "--work", "2e6"), 10)


def test_float16_weights_outlive_matrix_units_that_flush(tmp_path: Path) -> None:
    """And queries that no key answers, for which AMD's tiles copy nothing."""
    library = built(KERNELS, "gfx90a", tmp_path / "gfx90a.so", "attention")
    words = ("sink", "lengths", "numbers")
    named = [word for name in words for word in ("--named", name)]
    assert_right(check(library, "--op", "Attention", *named, "--work", "6e6"), 20)


@dataclass(frozen=True)
class Mutation:
    """Text that stands in one file of the kernels, what becomes of it, and the cases that must find it."""

    name: str
    target: str
    file: str
    was: str
    becomes: str
    named: str
    killed: bool = False
    """Whether it ends the process (a page that faults), not in a wrong answer."""


TILES = "attention/attention_tiled_kernels.hpp"
QUICK = (
    Mutation(
        "mfma's rows",
        "gfx942",
        "common/mma.hpp",
        "return kValues * (lane_id() / 16) + s;",
        "return 4 * s + lane_id() / 16;",
        "T63 D64",
    ),
    Mutation("no barrier", "gfx942", TILES, "__syncthreads();", "", "T129 D64"),
)
NIGHTLY = (
    Mutation("wmma's rows", "gfx1100", "common/mma.hpp", "return 2 * s + lane_id() / 16;", "return 8 * (lane_id() / 16) + s;", "T63 D64"),
    Mutation(
        "a width of 32", "gfx942", "common/platform.hpp", "kWaveSize = __AMDGCN_WAVEFRONT_SIZE__;", "kWaveSize = 32;", "T63 D32"
    ),
    Mutation("subnormal weights", "gfx90a", TILES, "kLift = 14.0f", "kLift = 0.0f", "sink"),
    Mutation("a copy that never began", "gfx942", TILES, "if (tiles > 0) finish_tile();", "finish_tile();", "lengths", killed=True),
    Mutation(
        "LDS too small", "gfx942", "attention/attention_tiled.hip", "Shape::kShared, stream", "Shape::kShared - 2048, stream", "T63 D64", killed=True
    ),
)  # fmt: skip


def caught(mutation: Mutation, folder: Path) -> None:
    kernels = folder / "kernels"
    shutil.copytree(KERNELS, kernels, ignore=shutil.ignore_patterns("__pycache__", "ep", "bench", "customop"))
    text = (kernels / mutation.file).read_text()
    assert mutation.was in text, f"{mutation.file} no longer has {mutation.was!r}"
    (kernels / mutation.file).write_text(text.replace(mutation.was, mutation.becomes))
    library = built(kernels, mutation.target, folder / "mutated.so", "attention")
    done = check(library, "--op", "Attention", "--named", mutation.named, "--work", "6e6")
    said = done.stdout[-2000:] + done.stderr[-2000:]
    if mutation.killed:
        assert done.returncode < 0, said
    else:
        assert done.returncode == 1, said
        assert "WRONG Attention" in done.stdout, said


@pytest.mark.parametrize("mutation", QUICK, ids=lambda m: m.name)
def test_a_mistake_of_the_device_code_is_seen(mutation: Mutation, tmp_path: Path) -> None:
    caught(mutation, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("mutation", NIGHTLY, ids=lambda m: m.name)
def test_other_mistakes_of_the_device_code_are_seen(mutation: Mutation, tmp_path: Path) -> None:
    caught(mutation, tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("target", TARGETS)
def test_every_case_on_every_emulated_target(target: str, tmp_path: Path) -> None:
    """All that the CPU is checked with, then a part of it with memory that ends where a page faults."""
    library = built(KERNELS, target, tmp_path / f"{target}.so")
    assert_right(check(library, "--work", "2e7"), 500)
    assert_right(check(library, "--part", "2/5", "--work", "2e6", "--tight"), 50)
