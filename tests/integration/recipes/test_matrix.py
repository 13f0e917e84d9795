"""A matrix that really runs: Pythons, gfx targets and variants of one small recipe, with what is shared built once."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator

import pytest

from support.recipe_bench import RecipeBench, prepared

pytestmark = [pytest.mark.sandbox, pytest.mark.network, pytest.mark.slow, pytest.mark.timeout(1500)]

SHARED = """\
cmake_minimum_required(VERSION 3.20)
project(shared C)
file(WRITE ${CMAKE_BINARY_DIR}/shared.c "int shared(void) { return 1; }")
add_library(shared STATIC ${CMAKE_BINARY_DIR}/shared.c)
set_target_properties(shared PROPERTIES POSITION_INDEPENDENT_CODE ON)
install(TARGETS shared ARCHIVE DESTINATION lib)
install(FILES __init__.py DESTINATION pytool)
"""
DEVICE = """\
cmake_minimum_required(VERSION 3.20)
project(device C)
set(FLAVOUR "" CACHE STRING "")
string(REPLACE ";" " " targets "${GPU_TARGETS}")
file(WRITE ${CMAKE_BINARY_DIR}/told.txt "${targets} ${FLAVOUR}\\n")
install(FILES ${CMAKE_BINARY_DIR}/told.txt __init__.py DESTINATION tool)
"""
RECIPE = """\
schema: 1
name: matrix
summary: every axis at once
base:
  image: IMAGE
  extend: {packages: [], cmake: 3.31.10, ninja: 1.13.0}
gfx: [gfx90a, gfx1100]
python: ["3.12", "3.13"]
sources:
  tool: {path: tool}
components:
  shared: {kind: cmake, source: tool, subfolder: shared}
  device: {kind: cmake, source: tool, subfolder: device, needs: [shared], uses_gfx: GPU_TARGETS}
  wheel: {kind: wheel, needs: [device], distribution: tool, version: "1.0", summary: a tool, packages: [tool]}
  pywheel:
    {kind: wheel, needs: [shared], distribution: pytool, version: "1.0", summary: a tool, packages: [pytool], abi: cpython}
"""
MATRIX = "matrix: {per_gfx: PER, variants: {plain: {}, fast: {device: {FLAVOUR: fast}}}}\n"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RecipeBench]:
    made = prepared(tmp_path_factory.mktemp("bench"), "rocm-7.2")
    images = made.mirror / "images"
    (images / "team" / "two-pythons").mkdir(parents=True)  # AMD's has one, and a second is refused
    (images / "rocm" / "dev-ubuntu-24.04" / "7.2.4-complete").rename(images / "team" / "two-pythons" / "1")
    for name, text in (("shared", SHARED), ("device", DEVICE)):
        folder = made.folder / "tool" / name
        folder.mkdir(parents=True)
        (folder / "CMakeLists.txt").write_text(text)
        (folder / "__init__.py").touch()
    write(made, per_gfx=True)
    done = made.run("lock", "--recipe", str(made.folder / "matrix.yaml"))
    assert done.returncode == 0, done.stderr
    yield made
    made.remove()


def write(bench: RecipeBench, *, per_gfx: bool) -> None:
    matrix = MATRIX.replace("PER", str(per_gfx).lower())
    text = RECIPE.replace("IMAGE", "team/two-pythons:1").replace("components:", f"{matrix}components:")
    (bench.folder / "matrix.yaml").write_text(text)


def ran(bench: RecipeBench, *more: str) -> list[str]:
    """Steps that were really done. The wheels are then refused: they promise targets and hold no code object."""
    done = bench.run("build", "--recipe", str(bench.folder / "matrix.yaml"), "--json", *more)
    assert done.returncode == 5, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return sorted(r["step"] for r in rows if r["event"] == "StepFinished" and r["how"] == "run")


def test_each_axis_makes_what_depends_on_it_and_the_shared_part_is_built_once(bench: RecipeBench) -> None:
    points = [f"{gfx}.{variant}" for gfx in ("gfx1100", "gfx90a") for variant in ("fast", "plain")]
    expected = ["base", "source.tool", "shared", "pywheel.cp312", "pywheel.cp313"]
    expected += [f"{name}.{point}" for name in ("device", "wheel") for point in points]
    assert ran(bench) == sorted(expected)
    wheels = [p.name for p in (bench.store / "trees").glob("*/*/*.whl")]
    assert len(wheels) == len(set(wheels)) == 6
    assert told(bench, "tool_gfx90a_fast") == "gfx90a fast"


def test_fat_wheels_then_need_only_the_device_part_again(bench: RecipeBench) -> None:
    write(bench, per_gfx=False)
    assert ran(bench) == ["device.fast", "device.plain", "wheel.fast", "wheel.plain"]
    assert told(bench, "tool_plain") == "gfx90a gfx1100"


def test_a_narrowed_build_makes_its_point_and_nothing_else(bench: RecipeBench) -> None:
    write(bench, per_gfx=False)
    assert ran(bench, "--gfx", "gfx1100") == ["device.fast", "device.plain", "wheel.fast", "wheel.plain"]
    assert told(bench, "tool_fast", "gfx1100") == "gfx1100 fast"
    assert ran(bench, "--gfx", "gfx1100") == []


def told(bench: RecipeBench, stem: str, first: str = "") -> str:
    """What the device part was configured with, out of the wheel of that name."""
    texts = set()
    for path in (bench.store / "trees").glob(f"*/*/{stem}-*.whl"):
        with zipfile.ZipFile(path) as packed:
            texts.add(packed.read("tool/told.txt").decode().strip())
    (text,) = {t for t in texts if t.startswith(first)} if first else texts
    return text
