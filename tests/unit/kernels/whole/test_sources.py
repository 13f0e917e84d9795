"""Rules for the kernels' sources that a compiler does not hold them to."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

KERNELS = Path(__file__).parents[4] / "kernels"
OPERATORS = ("attention", "batch_norm", "conv", "group_norm", "leaky_relu")
SOURCES = sorted(p for p in KERNELS.rglob("*") if p.suffix in {".hip", ".hpp"} and "ep" not in p.relative_to(KERNELS).parts)


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_has_the_same_files(operator: str) -> None:
    for name in (f"{operator}.hpp", f"{operator}.hip", f"{operator}_cpu.cpp", "reference.py", "cases.py"):
        assert (KERNELS / operator / name).is_file(), f"{operator}/{name}"


def test_the_wave_width_is_the_compilers_and_the_devices() -> None:
    """The narrowest of any target is written once; nothing else is measured in a number of lanes, the provider included."""
    sources = [p for p in KERNELS.rglob("*") if p.suffix in {".hip", ".hpp", ".cpp"} and p.parent.name != "naive"]
    width = r"\b(?:32|64)\b"
    name = r"\b(?:\w*(?:wave|warp)(?:size|width)?|WARP_SIZE|WAVEFRONT_SIZE)\b"
    written = rf"(?i){name}\s*(?:[=!<>]=?|[*/%])\s*{width}|{width}\s*(?:[=!<>]=|[*/%<>])\s*{name}|\b(?:out_bytes|parts|waves_m)\({width}"
    found = [f"{path.relative_to(KERNELS)}: {line.strip()}" for path in sources for line in path.read_text().splitlines()
             if re.search(written, re.sub(r"//.*", "", line))]
    assert found == ["common/platform.hpp: constexpr int kNarrowestWave = 32;"]


def test_launchers_ask_the_device_in_one_place() -> None:
    """Wave width, compute units and LDS: common/limits.hpp asks once a device, so that no launcher has a number of its own."""
    asked = re.compile(r"hipDeviceAttribute(?:WarpSize|MultiprocessorCount|MaxSharedMemoryPerBlock|SharedMemPerBlockOptin)\b")
    found = {str(p.relative_to(KERNELS)) for p in KERNELS.rglob("*") if p.suffix in {".hip", ".hpp", ".cpp"} and asked.search(p.read_text())}
    assert found == {"common/limits.hpp", "common/hip_on_cuda.hpp"}


def test_launchers_neither_allocate_nor_wait() -> None:
    for path in SOURCES:
        if path.parent.name in OPERATORS:
            words = re.findall(r"\b(?:hipMalloc|hipFree|hipDeviceSynchronize|hipStreamSynchronize|hipMemcpy)\w*", path.read_text())
            assert not words, f"{path.name}: {words}"


def unchecked(text: str) -> list[str]:
    """The launches after which, but for the other ways to make the same one (`else …`), something is done before their error is asked for."""
    text = re.sub(r"//.*", "", text)
    found = []
    for launch in re.finditer(r"<<<", text):
        rest = text[text.index(";", launch.end()) + 1 :].lstrip(" \n}")
        while rest.startswith("else"):
            end = "\n  }" if rest.startswith("else {") else ";"
            rest = rest[rest.index(end) + len(end) :].lstrip(" \n}")
        if not re.match(r"return check_launch\(\);|SBK_TRY\(check_launch\(\)\);|check_launched\(\);", rest):
            found.append(text[text.rindex("\n", 0, launch.start()) : text.index("\n", launch.end())].strip())
    return found


def test_every_launch_is_followed_by_its_check() -> None:
    """By its own: before ROCm 7.0 the next one that succeeds would take the error's place."""
    sources = [p for p in KERNELS.rglob("*") if p.suffix in {".hip", ".hpp", ".cpp"}]
    assert sum(path.read_text().count("<<<") for path in sources) > 20
    assert {str(p.relative_to(KERNELS)): lines for p in sources if (lines := unchecked(p.read_text()))} == {}


def test_a_check_behind_two_launches_is_not_the_first_ones() -> None:
    first, second = "  first<<<grid, block>>>(p);", "  second<<<grid, block>>>(p);"
    check, choice = "  return check_launch();", "  if (plain) plain<<<grid, block>>>(p);\n  else other<<<grid, block>>>(p);"
    assert unchecked("\n".join(["{", first, second, check, "}"])) == [first.strip()]
    assert unchecked("\n".join(["{", first, "}", "Status next() {", check, "}"])) == [first.strip()]
    assert unchecked("\n".join(["{", first, choice, check, "}"])) == [first.strip()]
    assert unchecked("\n".join(["{", first, "  SBK_TRY(check_launch());", choice, check, "}"])) == []


def test_interfaces_need_no_gpu_and_no_onnxruntime_header() -> None:
    for operator in OPERATORS:
        included = re.findall(r'#include [<"]([^>"]+)', (KERNELS / operator / f"{operator}.hpp").read_text())
        assert set(included) <= {"common/status.hpp", "common/types.hpp", "cmath"}, operator


def test_presets_cover_the_platforms_and_all_targets() -> None:
    text = (KERNELS / "CMakePresets.json").read_text()
    for word in ("gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1151", "gfx1200", "gfx1201", "nvidia", '"cpu"'):
        assert word in text


def test_every_kernel_for_amd_has_a_register_budget() -> None:
    budgets = tomllib.loads((KERNELS / "budgets.toml").read_text())
    found = set()
    for path in (p for ending in ("hip", "hpp", "cpp") for p in KERNELS.rglob(f"*.{ending}")):
        if path.parent.name not in {"naive"} and not re.search(r"_(hopper|tma|wgmma)_kernels", path.name):  # baselines; Hopper's own
            text = re.sub(r"__launch_bounds__\((?:[^()]|\([^()]*\))*\)", "", path.read_text())
            found |= set(re.findall(r"__global__\s+(?:static\s+)?void\s+(\w+)\(", text))
    assert len(found) > 15
    assert found == set(budgets)
    assert all({"wave32", "wave64"} <= set(b) for b in budgets.values())
