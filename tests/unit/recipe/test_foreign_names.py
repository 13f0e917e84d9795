"""Values in another tool's words: each is found with its place and its name here, and right ones are left alone."""

from __future__ import annotations

import pytest

from stackbuild.recipe.foreign_names import foreign_names
from stackbuild.recipe.load import parse
from stackbuild.tables.foreign_names import known_options, meanings
from support.paths import TESTS

IMAGE = (TESTS / "seeded-recipes/edits/image.yaml").read_text()
DEBIAN = (TESTS / "seeded-recipes/edits/debian.yaml").read_text()


def rows(text: str, old: str, new: str) -> list[tuple[str, str, str]]:
    assert old in text
    return [(f.subject, f.rule, f.fix) for f in foreign_names(parse(text.replace(old, new, 1), "r.yaml"))]


@pytest.mark.parametrize("text", [IMAGE, DEBIAN], ids=["image", "debian"])
def test_a_right_recipe_has_none(text: str) -> None:
    assert list(foreign_names(parse(text, "r.yaml"))) == []


@pytest.mark.parametrize(
    ("text", "old", "new", "subject", "rule", "fix"),
    [
        (IMAGE, "MIGRAPHX_USE_COMPOSABLEKERNEL: false", "GPU_TARGETS: gfx90a", "components.migraphx.options.GPU_TARGETS", "SB-STACK-OPTION-KEY", "gfx"),
        (DEBIAN, "BUILD_TESTING: false", "AMDGPU_TARGETS: gfx90a", "components.saxpy.options.AMDGPU_TARGETS", "SB-STACK-OPTION-KEY", "uses_gfx: AMDGPU_TARGETS"),
        (DEBIAN, "BUILD_TESTING: false", "CMAKE_INSTALL_PREFIX: /usr", "components.saxpy.options.CMAKE_INSTALL_PREFIX", "SB-STACK-OPTION-KEY", "`/out`"),
        (IMAGE, "MIGRAPHX_USE_COMPOSABLEKERNEL: false", "ROCM_PATH: /opt/r", "components.migraphx.options.ROCM_PATH", "SB-STACK-OPTION-KEY", "`rocm_home: /opt/r`"),
        (IMAGE, 'CMAKE_POLICY_VERSION_MINIMUM: "3.5"', "onnxruntime_USE_CUDA: true", "components.onnxruntime.options.onnxruntime_USE_CUDA", "SB-STACK-OPTION-KEY", "remove"),
        (IMAGE, 'CMAKE_POLICY_VERSION_MINIMUM: "3.5"', "onnxruntime_USE_ROCM: ON", "components.onnxruntime.options.onnxruntime_USE_ROCM", "SB-STACK-OPTION-KEY", "[migraphx, rocm]"),
        (IMAGE, 'CMAKE_POLICY_VERSION_MINIMUM: "3.5"', "onnxruntime_USE_MIGRAPHX: OFF", "components.onnxruntime.options.onnxruntime_USE_MIGRAPHX", "SB-STACK-OPTION-KEY", "providers: []"),
        (IMAGE, "CMAKE_BUILD_TYPE: RelWithDebInfo", "CMAKE_BUILD_TYPE: Relase", "matrix.variants.debug.onnxruntime.CMAKE_BUILD_TYPE", "SB-STACK-OPTION-NAME", "`Release`"),
        (IMAGE, "MIGRAPHX_USE_COMPOSABLEKERNEL: false", "MIGRAPHX_USE_COMPOSABLEKERNELS: false", "components.migraphx.options.MIGRAPHX_USE_COMPOSABLEKERNELS", "SB-STACK-OPTION-NAME", "`MIGRAPHX_USE_COMPOSABLEKERNEL`"),
        (DEBIAN, "uses_gfx: GPU_TARGETS", "uses_gfx: GPU_TARGET", "components.saxpy.uses_gfx", "SB-STACK-OPTION-NAME", "`GPU_TARGETS`"),
        (DEBIAN, "CXXFLAGS: -O2", "MAKEFLAGS: -j8", "components.saxpy.env.MAKEFLAGS", "SB-STACK-ENV", "--jobs"),
        (DEBIAN, "      - g++\n", "      - gcc-c++\n", "base.debian.packages.1", "SB-STACK-PACKAGE", "`g++`"),
        (DEBIAN, "      - g++\n", "      - foo-devel\n", "base.debian.packages.1", "SB-STACK-PACKAGE", "`foo-dev`"),
        (IMAGE, "      - json\n", "      - nlohmann-json3-dev\n", "components.migraphx.from_base.0", "SB-STACK-FROM-BASE", "`json`"),
        (IMAGE, "    - numpy\n    - onnx\n", "    - numpy\n    - onnxruntime-gpu\n", "verify.runtime.2", "SB-STACK-RUNTIME-TWICE", "onnxruntime"),
        (IMAGE, "      - numpy>=1.21.6\n", "      - onnxruntime>=1.20\n", "components.onnxruntime-wheel.requires.0", "SB-STACK-RUNTIME-TWICE", "remove"),
        (IMAGE, "      - numpy>=1.21.6\n", "      - nunpy>=1.21.6\n", "components.onnxruntime-wheel.requires.0", "SB-STACK-REQUIREMENT", "`numpy`"),
        (IMAGE, "      - numpy>=1.21.6\n", "      - sklearn>=1.2\n", "components.onnxruntime-wheel.requires.0", "SB-STACK-REQUIREMENT", "`scikit-learn>=1.2`"),
    ],
)  # fmt: skip
def test_another_tools_name_is_found(text: str, old: str, new: str, subject: str, rule: str, fix: str) -> None:
    ((at, identifier, step),) = rows(text, old, new)
    assert (at, identifier) == (subject, rule)
    assert fix in step


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (IMAGE, "MIGRAPHX_USE_COMPOSABLEKERNEL: false", "GPU_TARGETS: gfx1100;gfx942"),
        (IMAGE, "MIGRAPHX_USE_COMPOSABLEKERNEL: false", "ROCM_PATH: /opt/rocm"),
        (IMAGE, 'CMAKE_POLICY_VERSION_MINIMUM: "3.5"', "onnxruntime_USE_MIGRAPHX: true"),
        (IMAGE, "      - git\n", "      - rocm-dev\n"),
        (IMAGE, "    - numpy\n    - onnx\n", "    - numpy\n    - onnxsim\n"),
    ],
)
def test_a_name_that_agrees_is_left_alone(text: str, old: str, new: str) -> None:
    assert rows(text, old, new) == []


def test_no_name_stands_in_two_sections_of_options() -> None:
    sections = [set(meanings(section)) for section in ("option_keys", "option_steps", "providers")]
    assert sum(map(len, sections)) == len(set().union(*sections))
    assert not set(known_options()) & set().union(*sections)
