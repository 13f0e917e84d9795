"""Expectations belong to the wheel they are about: what each wheel of a recipe must have, and what is said of nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stackbuild.cli import app, load_commands
from stackbuild.core.errors import RecipeError, UsageError
from stackbuild.inspection import NOTHING, Expectations, inspect, judge
from stackbuild.model.recipe import Recipe
from stackbuild.recipe.load import bundled_recipes, load, parse
from stackbuild.recipe.wheels import NAMES, narrow, wheels_of
from stackbuild.tables.providers import BRIDGE_NAMES
from stackbuild.verification.expectations import expectations_of
from support.binaries import GOOD, library


@pytest.mark.parametrize(
    ("name", "distribution", "held"),
    [
        ("rocm-6.4", "onnxruntime-rocm", True),
        ("rocm-6.4", "stackbuild-kernels", True),
        ("rocm-7.2", "onnxruntime-migraphx", False),
        ("rocm-7.2", "stackbuild-kernels", True),
        ("rocm-10.1", "onnxruntime-ep-migraphx", False),
        ("rocm-10.1", "onnxruntime-ep-hipdnn", False),
        ("rocm-10.1", "onnxruntime-ep-rockernels", True),
    ],
)
def test_only_wheels_with_device_code_are_held_to_the_recipes_targets(name: str, distribution: str, held: bool) -> None:
    """MIGraphX and hipDNN compile at run time: their providers hold no code object, and a rule that asks for one is wrong."""
    recipe = load(name).recipe
    assert expectations_of(recipe, distribution).gfx == (recipe.gfx if held else ())


EPS = {"migraphx": "MIGraphXExecutionProvider", "rocm": "ROCMExecutionProvider"}


def recipe(component: dict[str, Any], verify: dict[str, Any] | None = None, **more: Any) -> Recipe:
    wheel = {
        "kind": "wheel",
        "needs": ["c"],
        "distribution": "a-wheel",
        "version": "1.0",
        "summary": "s",
        "packages": ["p"],
    }
    said = {
        "schema": 1, "name": "t", "summary": "s", "base": {"debian": {"suite": "trixie", "packages": ["g++"]}},
        "gfx": ["gfx90a", "gfx942"], "sources": {"s": {"path": "."}}, "components": {"c": component, "w": wheel},
    }  # fmt: skip
    return Recipe.model_validate(said | ({"verify": verify} if verify else {}) | more)


SCRIPT = {"kind": "script", "run": [["true"]]}
CMAKE = {"kind": "cmake", "source": "s"}
ORT = {"kind": "onnxruntime", "source": "s", "version": "1.22.0"}


def test_names_of_providers_are_those_that_inspect_tells() -> None:
    assert {name: BRIDGE_NAMES[name] for name in NAMES} == NAMES == EPS


@pytest.mark.parametrize(
    ("component", "gfx", "providers", "custom_ops"),
    [
        ({"kind": "kernels", "source": "s"}, True, (), True),
        ({"kind": "kernels-ep", "source": "s"}, True, ("RocKernelsExecutionProvider",), False),
        (ORT, False, (EPS["migraphx"],), False),
        (ORT | {"providers": ["migraphx", "rocm"]}, True, tuple(EPS.values()), False),
        (ORT | {"providers": []}, False, (), False),
        ({"kind": "migraphx-ep", "source": "s"}, False, (EPS["migraphx"],), False),
        ({"kind": "amdgpu-ep", "source": "s"}, False, ("AMDGPUExecutionProvider",), False),
        ({"kind": "hipdnn-ep", "source": "s", "onnxruntime": "s"}, False, ("HipDNN",), False),
        (CMAKE | {"uses_gfx": "GPU_TARGETS"}, True, (), False),
        (CMAKE | {"hipify": {}}, True, (), False),
        (CMAKE, False, (), False),
        (SCRIPT, False, (), False),
    ],
)
def test_what_follows_from_the_component(
    component: dict[str, Any], gfx: bool, providers: tuple[str, ...], custom_ops: bool
) -> None:
    made = recipe(component, {"kernels_floor": 7})
    found = expectations_of(made, "A_Wheel")
    assert found.gfx == (made.gfx if gfx else ()) and found.kernels_floor == (7 if gfx else 0)
    assert (found.providers, found.custom_ops) == (providers, custom_ops)


def test_what_the_recipe_says_of_one_wheel_wins() -> None:
    said = {
        "size_budget": "60M",
        "wheels": {"w": {"gfx": ["gfx942"], "providers": ["X"], "kernels_floor": 3, "size_budget": "1M"}},
    }
    found = expectations_of(recipe(SCRIPT, said), "a-wheel")
    assert (found.gfx, found.providers, found.kernels_floor, found.size_budget) == (("gfx942",), ("X",), 3, 1 << 20)
    found = expectations_of(recipe({"kind": "kernels", "source": "s"}, {"wheels": {"w": {"gfx": []}}}), "a-wheel")
    assert found.gfx == ()


def test_providers_of_the_whole_recipe_are_owed_by_wheels_of_commands() -> None:
    assert expectations_of(recipe(SCRIPT, {"providers": ["X"]}), "a-wheel").providers == ("X",)


def test_a_wheel_of_another_making_owes_nothing() -> None:
    assert expectations_of(load("debian-13").recipe, "packaging") == NOTHING


def test_what_is_no_wheel_owes_only_what_holds_for_every_file() -> None:
    found = expectations_of(load("rocm-7.2").recipe)
    assert (found.gfx, found.providers, found.version, found.size_budget, found.excludes) == ((), (), "", 0, ())
    assert found.rocm == "7.2.4" and {"libmigraphx_c.so.3", "libamdhip64.so.7"} == set(found.external)


def test_a_wheel_per_target_owes_that_target() -> None:
    made = recipe({"kind": "kernels", "source": "s"}, matrix={"per_gfx": True})
    assert expectations_of(made, "a-wheel-gfx90a").gfx == ("gfx90a",)
    assert expectations_of(made, "a-wheel") == NOTHING


def test_each_bundled_recipe_demands_of_each_wheel_what_it_can_bring() -> None:
    for name in bundled_recipes():
        made = load(name).recipe
        for packed in wheels_of(made):
            found = expectations_of(made, packed.wheel.distribution)
            brings = getattr(packed.component, "providers", ())
            assert {EPS[b] for b in brings} <= set(found.providers), (name, packed.name)
            assert not (packed.component.kind == "kernels" and found.providers), (name, packed.name)  # type: ignore[attr-defined]


def test_the_locks_commit_is_that_of_the_source_the_wheel_is_made_from(tmp_path: Path) -> None:
    expected = expectations_of(recipe(ORT), "a-wheel", {"s": "0123456789abcdef" * 2, "other": "f" * 40})
    assert expected.commit == "0123456789abcdef" * 2
    assert expectations_of(recipe(SCRIPT), "a-wheel", {"s": "f" * 40}).commit == ""

    def found(commit: str) -> bool:
        data = f"\0ORT Build Info: git-branch=HEAD, git-commit-id={commit}, x\0".encode()
        path = GOOD.but(lib={"rodata": data}).write(tmp_path)
        return "SB-WHEEL-BUILD-INFO" in [f.rule for f in judge(inspect(path), Expectations(commit=expected.commit))]

    assert not found("0123456789") and found("f217402897")


def test_unused_options_of_the_recipe_are_no_finding_in_a_log(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_text(
        "CMake Warning:\n  Manually-specified variables were not used by the project:\n\n"
        "    MY_OPTION\n    FETCHCONTENT_SOURCE_DIR_BOOST\n\n\n"
    )
    facts = inspect(log)

    def said(component: dict[str, Any]) -> list[str]:
        return [f.found for f in judge(facts, expectations_of(recipe(component)))]

    assert said(ORT) == ["1 option not used: MY_OPTION"] and said(ORT | {"unused_ok": ["MY_OPTION"]}) == []
    assert [f.rule for f in judge(facts)] == ["SB-LOG-UNUSED-OPTION"]


@pytest.mark.parametrize("name", ["log", "library"])
def test_demands_on_wheels_say_nothing_of_other_files(name: str, tmp_path: Path) -> None:
    path = tmp_path / ("x.log" if name == "log" else "libx.so")
    path.write_bytes(b"fine\n" if name == "log" else library(soname="libx.so"))
    expected = Expectations(
        gfx=("gfx90a",), kernels_floor=1, providers=("X",), custom_ops=True, version="1", size_budget=1, excludes=("y",)
    )
    assert judge(inspect(path), expected) == ()


def test_the_command_says_where_a_wheel_is_not_the_recipes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And judges it as any other, without a demand."""
    load_commands()
    assert not app(["inspect", str(GOOD.write(tmp_path)), "--recipe", "debian-13"], standalone_mode=False)
    shown = capsys.readouterr()
    assert "SB-RECIPE" not in shown.out and "debian-13 makes no wheel of onnxruntime-ep-forge" in shown.err


FEWER = """\
schema: 1
name: fewer
summary: s
base: {debian: {suite: trixie, packages: [g++]}}
gfx: [gfx90a, gfx1100, gfx1201]
sources: {s: {path: .}}
components:
  c: {kind: kernels-ep, source: s}
  w: {kind: wheel, needs: [c], distribution: onnxruntime-ep-forge, version: "1.0", summary: s, packages: [p]}
"""


def test_a_wheel_built_for_fewer_targets_is_judged_with_the_same_narrowing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The forged wheel has code for gfx90a and gfx1100; the recipe promises gfx1201 too."""
    (tmp_path / "r.yaml").write_text(FEWER)
    load_commands()
    wheel, judged = str(GOOD.write(tmp_path)), ["--recipe", str(tmp_path / "r.yaml")]
    app(["inspect", wheel, *judged], standalone_mode=False)
    assert "no code object for gfx1201" in capsys.readouterr().out
    app(["inspect", wheel, *judged, "--gfx", "gfx90a", "--gfx", "gfx1100"], standalone_mode=False)
    assert "SB-RECIPE-GFX" not in capsys.readouterr().out
    for words, said in (([*judged, "--gfx", "gfx942"], "not in the recipe"), (["--gfx", "gfx90a"], "--recipe")):
        with pytest.raises(UsageError) as caught:
            app(["inspect", wheel, *words], standalone_mode=False)
        assert said in str(caught.value)


BASE = """\
schema: 1
name: t
summary: s
base: {debian: {suite: trixie, packages: [g++]}}
gfx: [gfx90a]
components:
  c: {kind: script, run: [["true"]]}
  w: {kind: wheel, needs: [c], distribution: d, version: "1.0", summary: s, packages: [p]}
"""


@pytest.mark.parametrize(
    ("verify", "where", "what"),
    [
        ("{wheels: {v: {gfx: []}}}", "9:19", "`v` is not a wheel component"),
        ("{wheels: {w: {gfx: [gfx942]}}}", "9:29", "'gfx942' is none of the recipe's gfx targets"),
        ("{kernels_floor: 5}", "9:25", "no wheel of this recipe brings it"),
        ("{providers: [CUDAExecutionProvider], wheels: {w: {providers: []}}}", "9:22", "no wheel of this recipe brings CUDA"),
        ("{kind: ep}", "9:10", "unknown key `kind`"),
    ],
)  # fmt: skip
def test_demands_that_nothing_would_be_held_to_are_mistakes(verify: str, where: str, what: str) -> None:
    with pytest.raises(RecipeError) as stopped:
        parse(f"{BASE}verify: {verify}\n", "r.yaml")
    (mistake,) = stopped.value.mistakes
    assert what in mistake.what and mistake.place == f"r.yaml:{where}"


def test_a_demand_that_is_met_is_no_mistake() -> None:
    for verify in (
        "{providers: [X]}",
        "{kernels_floor: 5, wheels: {w: {gfx: [gfx90a]}}}",
        "{providers: [CPUExecutionProvider]}",
    ):
        assert parse(f"{BASE}verify: {verify}\n", "r.yaml").verify


@pytest.mark.parametrize(
    ("expected", "lacks"),
    [
        (Expectations(providers=("ForgeExecutionProvider",)), ""),
        (Expectations(providers=("libonnxruntime_ep_forge",)), ""),
        (Expectations(providers=("MIGraphXExecutionProvider",)), "MIGraphXExecutionProvider"),
        (Expectations(providers=("ExecutionProvider",)), "ExecutionProvider"),
        (Expectations(custom_ops=True), "custom operators"),
    ],
)
def test_a_plugin_counts_for_the_provider_it_is_named_for_and_no_other(
    expected: Expectations, lacks: str, tmp_path: Path
) -> None:
    found = [f.subject for f in judge(inspect(GOOD.write(tmp_path)), expected) if f.rule == "SB-RECIPE-PROVIDERS"]
    assert found == ([lacks] if lacks else [])


def test_a_pattern_of_what_the_machine_provides_names_it(tmp_path: Path) -> None:
    facts = inspect(GOOD.write(tmp_path))
    rules = [
        {f.rule for f in judge(facts, Expectations(external=(name,)))} for name in ("libamdhip64.so.*", "libx.so.1")
    ]
    assert ["SB-ELF-EXTERNAL" in found for found in rules] == [False, True]


def test_a_build_for_some_targets_owes_those_and_is_no_whole_wheel() -> None:
    whole = recipe({"kind": "kernels", "source": "s"})
    chosen, partial = narrow(whole, ("gfx942",))
    assert expectations_of(chosen, "a-wheel").gfx == ("gfx942",)
    assert partial == ("a-wheel",)
    assert narrow(whole, ()) == (whole, ())
    assert narrow(whole, ("gfx942", "gfx90a"))[1] == ()


def test_what_holds_no_code_or_is_made_once_a_target_is_whole_with_some_targets() -> None:
    assert narrow(recipe(ORT | {"providers": ["migraphx"]}), ("gfx942",))[1] == ()
    one_each = recipe({"kind": "kernels", "source": "s"}, matrix={"per_gfx": True})
    assert narrow(one_each, ("gfx942",))[1] == ()


load_commands()


def test_what_a_recipe_may_demand_of_a_wheel():
    said = {
        "schema": 1, "name": "t", "summary": "s", "base": {"debian": {"suite": "trixie", "packages": ["g++"]}}, "gfx": ["gfx942"],
        "components": {"c": {"kind": "script", "run": [["true"]]}} | {
            name: {"kind": "wheel", "needs": ["c"], "distribution": name, "version": version, "summary": "s", "packages": ["p"], "external": [external]}
            for name, version, external in (("one", "1.0", "libamdhip64.so.6"), ("two", "2.0", "libmigraphx_c.so.3"))
        },
        "verify": {"x86_64_level": 3, "runpaths": ["/opt/rocm/lib"], "grafts": ["librocm_smi64.so.*"]},
    }  # fmt: skip
    expected = expectations_of(Recipe.model_validate(said), "two")
    assert (expected.version, expected.excludes, expected.isa) == ("2.0", ("libmigraphx_c.so.3",), 3)
    assert (expected.runpaths, expected.grafts) == (("/opt/rocm/lib",), ("librocm_smi64.so.*",))
    assert expectations_of(Recipe.model_validate(said), "One").version == "1.0"
