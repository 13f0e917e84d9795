"""Plans of recipes: refusals, the matrix, what a key depends on."""

import pytest

from stackbuild.core.errors import RecipeError
from stackbuild.model.choice import Choice
from stackbuild.model.inputs import Inputs
from stackbuild.plan.resolve import resolve
from stackbuild.recipe.load import load, parse
from stackbuild.recipe.lock_file import read_lock
from support.recipe_plans import plan_of, words
from support.recipes import changed, text_of


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


@pytest.mark.parametrize(("glibc", "houses"), [("", ["3.11"]), ("2.36", ["3.11", "3.14"]), ("2.43", ["3.11"])])
def test_a_base_newer_than_the_machine_gets_wheels_for_its_own_python(glibc: str, houses: list[str]) -> None:
    loaded = load("debian-sid")
    inputs = Inputs.of(read_lock(loaded), dict.fromkeys(loaded.recipe.sources, "0" * 64))
    plan = resolve(loaded.recipe, inputs, Choice(python=("3.11",), glibc=glibc))
    assert [s.name.partition(".")[2] for s in plan.steps if s.action == "wheelhouse"] == houses
