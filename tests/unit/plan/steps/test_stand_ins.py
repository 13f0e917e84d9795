"""What stands in for a component that is not built, where others are only configured."""

from stackbuild.model.choice import Choice
from stackbuild.plan.resolve import CONFIGURE, within_reach
from stackbuild.plan.steps.stand_ins import FILES
from stackbuild.recipe.load import load
from stackbuild.recipe.lock_file import read_lock
from support.recipe_plans import plan_of, words
from support.recipes import text_of


def test_until_configure_reaches_every_component_and_says_what_stands_in() -> None:
    lock = read_lock(load("rocm-7.2"))
    plan = plan_of(text_of("rocm-7.2"), Choice(until=CONFIGURE), lock)
    own = {
        f"configure.{n}"
        for n in ("rocmlir", "migraphx", "onnxruntime.cp312", "kernels.conv", "kernels.others", "kernels")
    }
    deps = {f"configure.migraphx.{n}" for n in ("abseil-cpp", "protobuf", "msgpack-c")}
    assert set(plan.goals) == own | deps
    for name in plan.goals:
        assert plan.by_name[name].commands[-1].phase == "configure"
    reach = within_reach(plan, lambda step: False)
    assert set(reach.plan.goals) == own | deps
    assert "onnxruntime.cp312 is configured against empty stand-ins for migraphx" in reach.notes
    step = reach.plan.by_name["configure.migraphx"]
    seen = {need.at: need.step for need in step.needs}
    assert seen["/deps/rocmlir"] == "stand-in.rocmlir" and seen["/deps/protobuf"] == "stand-in.migraphx.protobuf"
    assert not [s for s in reach.plan.steps if s.name in ("rocmlir", "migraphx", "migraphx.protobuf")]
    order = [s.name for s in reach.plan.steps]
    assert order.index("stand-in.rocmlir") < order.index("configure.migraphx")


def test_migraphxs_python_module_is_configured_against_a_stand_in_with_every_library_that_it_links() -> None:
    plan = plan_of(text_of("debian-rocm-7.2"), Choice(until=CONFIGURE), read_lock(load("debian-rocm-7.2")))
    step, config = (
        plan.by_name["configure.migraphx-package.cp314"],
        FILES["migraphx"]["lib/cmake/migraphx/migraphxConfig.cmake"],
    )
    (libraries,) = (word.partition("=")[2] for word in words(step) if word.startswith("-DMODULE_LIBRARIES="))
    assert len(libraries.split(";")) == 5
    assert all(f"add_library(migraphx::{one} INTERFACE IMPORTED)" in config for one in libraries.split(";"))


def test_until_configure_takes_what_is_built_and_names_what_nothing_stands_in_for() -> None:
    lock = read_lock(load("rocm-7.2"))
    plan = plan_of(text_of("rocm-7.2"), Choice(until=CONFIGURE), lock)
    reach = within_reach(plan, lambda step: step.name == "rocmlir")
    seen = {need.at: need.step for need in reach.plan.by_name["configure.migraphx"].needs}
    assert seen["/deps/rocmlir"] == "rocmlir"
    assert [line for line in reach.notes if line.startswith("migraphx is")] and not [x for x in reach.notes if "rocmlir" in x]
    mine = (
        text_of("debian-13")
        .replace("    kind: kernels\n", "    kind: kernels\n    needs: [tool]\n")
        .replace("components:\n", "components:\n  tool: {kind: script, source: kernels, run: [[make]]}\n")
    )
    assert "needs: [tool]" in mine
    reach = within_reach(plan_of(mine, Choice(until=CONFIGURE)), lambda step: False)
    says = "cannot be configured before tool is built: nothing stands in for it"
    assert reach.blockers == ("tool",)
    assert reach.notes == tuple(f"{name} {says}" for name in ("kernels.conv", "kernels.others", "kernels"))
