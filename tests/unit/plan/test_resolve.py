"""Plans of recipes: refusals, the matrix, what a key depends on."""

import pytest

from stackbuild.core.errors import PlanError, RecipeError
from stackbuild.model.inputs import Inputs
from stackbuild.model.lock import Lock
from stackbuild.model.plan import Plan, Step
from stackbuild.plan.resolve import CONFIGURE, Choice, resolve, within_reach
from stackbuild.plan.steps.stand_ins import FILES
from stackbuild.recipe.load import load, parse
from stackbuild.recipe.lock_file import read_lock
from support.recipes import changed, text_of

NOTHING = Lock(schema=1, asked="0" * 64)


def plan_of(text: str, choice: Choice = Choice(), lock: Lock = NOTHING) -> Plan:
    recipe = parse(text, "t.yaml")
    return resolve(recipe, Inputs.of(lock, dict.fromkeys(recipe.sources, "0" * 64)), choice)


def test_the_rocm_ep_is_refused_from_onnxruntime_1_23_with_the_reason() -> None:
    with pytest.raises(PlanError, match=r"removed in 1\.23") as stopped:
        plan_of(changed("rocm-6.4", ("version: 1.22.1\n", "version: 1.23.0\n")))
    assert "onnxruntime#26205" in stopped.value.what
    assert "migraphx" in stopped.value.next


def test_the_rocm_ep_is_refused_from_rocm_7_1() -> None:
    with pytest.raises(PlanError, match=r"7\.0 is the last"):
        plan_of(changed("rocm-6.4", ("rocm: 6.4.4", "rocm: 7.1.0")))


def test_a_local_version_that_does_not_sort_is_refused() -> None:
    with pytest.raises(RecipeError) as stopped:
        parse(changed("rocm-7.2", ("1.22.1+rocm.7.2.4", "1.22.1+rocm7.2.4")), "t.yaml")
    assert "does not sort" in str(stopped.value)


def test_python_splits_only_what_depends_on_it() -> None:
    plan = plan_of(changed("rocm-7.2", ('python: ["3.12"]', 'python: ["3.12", "3.13"]')))
    names = [s.name for s in plan.steps]
    assert {"onnxruntime.cp312", "onnxruntime.cp313", "onnxruntime-wheel.cp312", "onnxruntime-wheel.cp313"} <= set(
        names
    )
    assert names.count("rocmlir") == names.count("migraphx") == names.count("kernels") == 1
    assert plan.kinds["onnxruntime.cp313"] == "onnxruntime" and plan.kinds["onnxruntime-wheel.cp313"] == "wheel"
    wheel = plan.by_name["onnxruntime-wheel.cp313"]
    assert wheel.needs[0].step == "onnxruntime.cp313"
    assert dict(wheel.params)["requires_python"] == '"==3.13.*"'


def test_a_key_does_not_change_with_what_else_is_built() -> None:
    both = plan_of(changed("rocm-7.2", ('python: ["3.12"]', 'python: ["3.12", "3.13"]')))
    one = plan_of(text_of("rocm-7.2"))
    assert one.by_name["onnxruntime.cp312"].key == both.by_name["onnxruntime.cp312"].key


def test_per_gfx_wheels_have_a_name_and_a_target_each() -> None:
    plan = plan_of(changed("debian-13", ("\npublish:", "\nmatrix:\n  per_gfx: true\n\npublish:")))
    wheel = plan.by_name["wheel.gfx90a"]
    assert dict(wheel.params)["distribution"] == '"stackbuild-kernels-gfx90a"'
    assert wheel.needs[0].step == "kernels.gfx90a"
    (configure,) = (c for c in plan.by_name["kernels.gfx90a"].commands if c.phase == "configure")
    assert "-DGPU_TARGETS=gfx90a" in configure.argv


def words(step: Step) -> tuple[str, ...]:
    return tuple(word for command in step.commands for word in command.argv)


@pytest.mark.parametrize(("version", "option"), [("1.22.1", False), ("1.23.2", False), ("1.24.1", True), ("1.29.0", True)])
def test_dependencies_are_given_in_the_way_that_the_version_knows(version: str, option: bool) -> None:
    """`--cmake_deps_mirror_dir` came after 1.23 (onnxruntime#26042); before it, only `mirror/` of the tree is looked into."""
    plan = plan_of(changed("rocm-7.2", ("version: 1.22.1\n", f"version: {version}\n")))
    (step,) = (s for s in plan.steps if s.name.partition(".")[0] == "onnxruntime" and s.commands)
    assert ("--cmake_deps_mirror_dir" in words(step)) is option
    assert any(word.endswith("/source/mirror") for word in words(step)) is not option


def test_a_variant_changes_its_component_and_what_needs_it() -> None:
    more = "\nmatrix:\n  variants:\n    plain: {}\n    lto: {onnxruntime: {onnxruntime_ENABLE_LTO: true}}\n\nverify:"
    plan = plan_of(changed("rocm-7.2", ("\nverify:", more)))
    assert "migraphx" in plan.by_name
    assert "onnxruntime_ENABLE_LTO=ON" in words(plan.by_name["onnxruntime.cp312.lto"])
    assert "onnxruntime_ENABLE_LTO=ON" not in words(plan.by_name["onnxruntime.cp312.plain"])
    assert plan.by_name["onnxruntime-wheel.cp312.lto"].needs[0].step == "onnxruntime.cp312.lto"


def test_a_variant_of_no_component_is_a_mistake_with_its_place() -> None:
    more = "\nmatrix:\n  variants:\n    lto: {onnxruntme: {X: true}}\n\nverify:"
    with pytest.raises(RecipeError) as stopped:
        parse(changed("rocm-7.2", ("\nverify:", more)), "t.yaml")
    (mistake,) = stopped.value.mistakes
    assert mistake.next == "did you mean `onnxruntime`?"
    assert mistake.place.startswith("t.yaml:")


def test_until_configure_reaches_every_component_and_says_what_stands_in() -> None:
    lock = read_lock(load("rocm-7.2"))
    plan = plan_of(text_of("rocm-7.2"), Choice(until=CONFIGURE), lock)
    own = {f"configure.{n}" for n in ("rocmlir", "migraphx", "onnxruntime.cp312", "kernels.conv", "kernels.others", "kernels")}
    deps = {f"configure.migraphx.{n}" for n in ("abseil-cpp", "protobuf", "msgpack-c")}
    assert set(plan.goals) == own | deps
    for name in plan.goals:
        assert plan.by_name[name].commands[-1].phase == "configure"
    reach, lines = within_reach(plan, lambda step: False)
    assert set(reach.goals) == own | deps
    assert "onnxruntime.cp312 is configured against empty stand-ins for migraphx" in lines
    step = reach.by_name["configure.migraphx"]
    seen = {need.at: need.step for need in step.needs}
    assert seen["/deps/rocmlir"] == "stand-in.rocmlir" and seen["/deps/protobuf"] == "stand-in.migraphx.protobuf"
    assert not [s for s in reach.steps if s.name in ("rocmlir", "migraphx", "migraphx.protobuf")]
    order = [s.name for s in reach.steps]
    assert order.index("stand-in.rocmlir") < order.index("configure.migraphx")


def test_migraphxs_python_module_is_configured_against_a_stand_in_with_every_library_that_it_links() -> None:
    plan = plan_of(text_of("debian-rocm-7.2"), Choice(until=CONFIGURE), read_lock(load("debian-rocm-7.2")))
    step, config = plan.by_name["configure.migraphx-package.cp314"], FILES["migraphx"]["lib/cmake/migraphx/migraphxConfig.cmake"]
    (libraries,) = (word.partition("=")[2] for word in words(step) if word.startswith("-DMODULE_LIBRARIES="))
    assert len(libraries.split(";")) == 5
    assert all(f"add_library(migraphx::{one} INTERFACE IMPORTED)" in config for one in libraries.split(";"))


def test_until_configure_takes_what_is_built_and_names_what_nothing_stands_in_for() -> None:
    lock = read_lock(load("rocm-7.2"))
    plan = plan_of(text_of("rocm-7.2"), Choice(until=CONFIGURE), lock)
    reach, lines = within_reach(plan, lambda step: step.name == "rocmlir")
    seen = {need.at: need.step for need in reach.by_name["configure.migraphx"].needs}
    assert seen["/deps/rocmlir"] == "rocmlir"
    assert [line for line in lines if line.startswith("migraphx is")] and not [x for x in lines if "rocmlir" in x]
    mine = (
        text_of("debian-13")
        .replace("    kind: kernels\n", "    kind: kernels\n    needs: [tool]\n")
        .replace("components:\n", "components:\n  tool: {kind: script, source: kernels, run: [[make]]}\n")
    )
    assert "needs: [tool]" in mine
    reach, lines = within_reach(plan_of(mine, Choice(until=CONFIGURE)), lambda step: False)
    says = "cannot be configured before tool is built: nothing stands in for it"
    assert lines == tuple(f"{name} {says}" for name in ("kernels.conv", "kernels.others", "kernels"))


@pytest.mark.parametrize(("glibc", "houses"), [("", ["3.11"]), ("2.36", ["3.11", "3.14"]), ("2.43", ["3.11"])])
def test_a_base_newer_than_the_machine_gets_wheels_for_its_own_python(glibc: str, houses: list[str]) -> None:
    loaded = load("debian-sid")
    inputs = Inputs.of(read_lock(loaded), dict.fromkeys(loaded.recipe.sources, "0" * 64))
    plan = resolve(loaded.recipe, inputs, Choice(python=("3.11",), glibc=glibc))
    assert [s.name.partition(".")[2] for s in plan.steps if s.action == "wheelhouse"] == houses
