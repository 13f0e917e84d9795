"""Two parts of a recipe that say different things of one: the place, and what to write."""

from __future__ import annotations

import pytest

from stackbuild.recipe.coherence import contradictions
from stackbuild.recipe.load import bundled_recipes, parse
from support.paths import TESTS

BASES = TESTS / "seeded-recipes/bases"
SPARE = "  spare:\n    kind: cmake\n    source: fmt\ncomponents:"


def text(name: str, old: str, new: str) -> str:
    whole = (BASES / f"{name}.yaml").read_text()
    assert old in whole, old
    return whole.replace(old, new, 1)


@pytest.mark.parametrize("name", sorted(p.stem for p in BASES.glob("*.yaml")))
def test_a_right_recipe_has_no_finding(name: str) -> None:
    assert list(contradictions(parse((BASES / f"{name}.yaml").read_text(), name))) == []


@pytest.mark.parametrize("name", sorted(bundled_recipes()))
def test_a_bundled_recipe_has_no_finding(name: str) -> None:
    assert list(contradictions(parse(bundled_recipes()[name].read_text(), name))) == []


@pytest.mark.parametrize(
    ("base", "old", "new", "subject", "fix"),
    [
        ("lab", "    needs:\n      - fmt\n", "", "components.fmt", "`needs: [fmt]`"),
        ("lab", "[cmake, -S, /src/engine,", "[cmake, -S, /src/other,", "components.engine.run.0.2", "`/src/engine`"),
        ("lab", "-B, .]", "-B, ., -DX=/deps/convv]", "components.engine.run.0.5", "did you mean `/deps/conv`?"),
        ("lab", "-B, .]", "-B, ., -DX=/deps/kernels]", "components.engine.run.0.5", "add `kernels` to the component's `needs:`"),
        ("lab", "-B, .]", "-B, ., -DX=/src/zzz/include]", "components.engine.run.0.5", "`/src/engine`"),
        ("lab", "-B, .]", "-B, /src/engine/build]", "components.engine.run.0", "write `-B .`"),
        ("lab", "[make, install]", "[make, -j16, install]", "components.engine.run.1", "remove `-j16`"),
        ("lab", "[make, install]", "[cp, -r, lib, /usr/local/lib]", "components.engine.run.1", "`/out/usr/local/lib`"),
        ("lab", "[make, install]", "[cp, -r, lib, /output]", "components.engine.run.1", "`/out/`"),
        ("lab", "[cmake, -S", "[camke, -S", "components.engine.run.0.0", "did you mean `cmake`?"),
        (
            "lab",
            "      - [cmake, -S, /src/engine, -B, .]\n      - [make, install]",
            "      - [make, install]\n      - [cmake, -S, /src/engine, -B, .]",
            "components.engine.run.1",
            "before that of `make`",
        ),
        ("lab", "distribution: lab-engine", "distribution: numpy", "components.engine-wheel.distribution", "`distribution: lab-engine`"),
        ("lab", "      engine: fast", '      exclude: ["*.cu"]', "components.conv.hipify.exclude.0", "remove it"),
        ("lab", "engine: fast", "headers: [/opt/rocm/include/hip/hip_runtime.h]", "components.conv.hipify.headers.0", "`/opt/rocm/include`"),
        ("lab", "debian: hipify-perl", "debian: libamdhip64-dev", "components.conv.hipify.tool", "`debian: hipify-perl`"),
        ("lab", "uses_gfx: CMAKE_HIP", "uses_gfx: CMAKE_CUDA", "components.conv.uses_gfx", "CMAKE_HIP_ARCHITECTURES"),
        ("lab", "      - libonnxruntime-dev", "      - cmake", "base.debian.extract.0", "remove it from `extract`"),
        ("lab", "    extract:", "    areas: [contrib]\n    extract:", "base.debian.areas", "`areas: [main, contrib]`"),
        ("lab", "    extract:", "    pin: {trixie: [hipcc]}\n    extract:", "base.debian.pin.trixie", "such as `sid`"),
        ("lab", "suite: trixie\n    packages", "suite: stable\n    packages", "base.debian.suite", "`suite: trixie`"),
        ("night", "memory: 14G", "migraphx_home: opt/rocm", "components.ort.migraphx_home", "`migraphx_home: /opt/rocm`"),
        ("night", "memory: 14G", "rocm_home: /opt/rocm-7.2.4", "components.ort.rocm_home", "`rocm_home: /opt/rocm-6.4.4`"),
        ("night", "memory: 14G", "compiler: /opt/rocm/bin/hipcc", "components.ort.compiler", "`compiler: /opt/rocm/bin`"),
        ("night", "memory: 14G", 'options: {A: 1, "A:STRING": 2}', "components.ort.options.A:STRING", "remove `A:STRING`"),
        ("night", "        onnxruntime_ENABLE_LTO: true", "        {}", "matrix.variants.fast", "or remove it"),
        ("night", "exclude: [js/*]", "patches: migraphx/2.15.0", "sources.ort.patches", "`patches: onnxruntime/1.21.1`"),
        ("night", "ref: rocm-6.4.4", "ref: rocm-6.4.4\n    patches: migraphx/2.15.0", "sources.graph.patches", "migraphx/2.12.0"),
        ("night", "exclude: [js/*]", "exclude: [cmake/*]", "sources.ort.exclude.0", "remove it"),
        ("night", "numpy==2.2.6,", "numpy==2.2.6, numpy==1.26.4,", "base.extend.pip.1", "remove `numpy==1.26.4`"),
        ("night", "numpy==2.2.6,", "cmake==3.28,", "base.extend.pip.0", "`cmake: 3.28`"),
        ("night", "numpy==2.2.6,", "numpy==latest,", "base.extend.pip.0", "`numpy==1.2.3`"),
        ("night", "cmake: 3.31.10", "cmake: 3..31", "base.extend.cmake", "`cmake: 3.31`"),
        ("night", "gfx942, gfx1100]", 'gfx942, "gfx1100:xnack+"]', "gfx.2", "write `gfx1100`"),
        ("night", "gfx942, gfx1100]", 'gfx942, "gfx90a:xnack+"]', "gfx.2", "remove `gfx90a` or `gfx90a:xnack+`"),
        ("night", "libamdhip64.so.6]", 'libamdhip64.so.6, "libamdhip64.so.*"]', "components.ort-wheel.external.1", "remove one"),
        ("night", "libamdhip64.so.6]", "libc.so.6]", "components.ort-wheel.external.1", "remove it"),
    ],
)
def test_a_contradiction_is_at_its_place_with_what_to_write(base: str, old: str, new: str, subject: str, fix: str) -> None:
    findings = list(contradictions(parse(text(base, old, new), "recipe.yaml")))
    assert [finding.subject for finding in findings] == [subject]
    assert fix in findings[0].fix


def test_a_target_may_have_the_features_that_llvm_gives_it() -> None:
    recipe = parse(text("night", "gfx90a, gfx942", '"gfx90a:sramecc+:xnack-", "gfx942:xnack+"'), "recipe.yaml")
    assert list(contradictions(recipe)) == []


def test_a_step_sees_what_its_needs_need() -> None:
    recipe = parse(text("lab", "-B, .]", "-B, ., -DCMAKE_PREFIX_PATH=/deps/conv;/deps/fmt]"), "recipe.yaml")
    assert list(contradictions(recipe)) == []


def test_a_path_below_another_folder_is_not_the_steps_own() -> None:
    recipe = parse(text("lab", "-B, .]", "-B, ., -DX=$ORIGIN/deps/json, -DY=/src/engine/deps/json, -DZ=$(TOP)/src/x]"), "r.yaml")
    assert [f for f in contradictions(recipe) if "/json" in f.found or "/src/x" in f.found] == []


def test_the_source_that_an_option_names_is_meant_with_the_tail_of_the_path() -> None:
    text = """schema: 1
name: x
summary: x
base: {debian: {suite: sid, packages: [cmake]}}
sources: {kernels: {bundled: kernels}, onnxruntime: {debian: libonnxruntime-dev, suite: sid}}
gfx: [gfx1100]
components:
  ep: {kind: kernels-ep, source: kernels, headers: onnxruntime, options: {ONNXRUNTIME_INCLUDE_DIR: /src/ort/include}}
"""
    fixes = [finding.fix for finding in contradictions(parse(text, "x"))]
    assert "write `/src/onnxruntime/include`" in fixes
    right = contradictions(parse(text.replace("/src/ort/", "/src/onnxruntime/"), "x"))
    assert not [finding for finding in right if finding.rule == "SB-STACK-STEP-PATH"]
