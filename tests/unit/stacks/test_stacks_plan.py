"""Decisions taken before anything runs: refusals, the matrix, what the lock leaves open."""

from pathlib import Path

import pytest

from stackbuild.build.cmake_log import unused
from stackbuild.checks.new_recipe import new_recipe
from stackbuild.checks.recipe import CheckInput, check
from stackbuild.core.errors import PlanError, RecipeError, StepFailed, UsageError
from stackbuild.model.findings import Severity
from stackbuild.model.inputs import Inputs
from stackbuild.model.lock import Dep, Lock, unlocked
from stackbuild.model.plan import Plan, Step
from stackbuild.model.recipe import Recipe
from stackbuild.plan.compatibility import impossible
from stackbuild.plan.resolve import CONFIGURE, Choice, resolve, within_reach
from stackbuild.recipe.load import bundled, load, parse, text_of
from stackbuild.recipe.lock_file import read_lock
from stackbuild.sources.git import in_mirror, vetted
from stackbuild.sources.mirror import Mirror
from stackbuild.tables.compatibility import Table, table
from stackbuild.verification.expectations import expectations_of
from stackbuild.views.recipe import draw_findings

NOTHING = Lock(schema=1, asked="0" * 64)


def plan_of(text: str, choice: Choice = Choice()) -> Plan:
    recipe = parse(text, "t.yaml")
    return resolve(recipe, Inputs.of(NOTHING, dict.fromkeys(recipe.sources, "0" * 64)), choice)


def changed(name: str, *pairs: tuple[str, str]) -> str:
    text = text_of(name)
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


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
        parse(changed("rocm-7.2", ("1.23.2+rocm.7.2.4", "1.23.2+rocm7.2.4")), "t.yaml")
    assert "does not sort" in str(stopped.value)


def test_python_splits_only_what_depends_on_it() -> None:
    plan = plan_of(changed("rocm-7.2", ('python: ["3.12"]', 'python: ["3.12", "3.13"]')))
    names = [s.name for s in plan.steps]
    assert {"onnxruntime.cp312", "onnxruntime.cp313", "onnxruntime-wheel.cp312", "onnxruntime-wheel.cp313"} <= set(
        names
    )
    assert names.count("rocmlir") == names.count("migraphx") == names.count("kernels") == 1
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


@pytest.mark.parametrize(
    ("name", "option"), [("rocm-6.4", False), ("rocm-7.2", False), ("debian-sid-onnxruntime", True)]
)
def test_dependencies_are_given_in_the_way_that_the_version_knows(name: str, option: bool) -> None:
    """`--cmake_deps_mirror_dir` came after 1.23 (onnxruntime#26042); before it, only `mirror/` of the tree is looked into."""
    plan = plan_of(text_of(name))
    (step,) = (s for s in plan.steps if s.name.startswith("onnxruntime.cp"))
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


def test_until_configure_plans_every_configure_phase_and_names_what_waits() -> None:
    plan = plan_of(text_of("rocm-7.2"), Choice(until=CONFIGURE))
    assert set(plan.wanted) == {f"configure.{n}" for n in ("rocmlir", "migraphx", "onnxruntime.cp312", "kernels")}
    for name in plan.wanted:
        assert plan.by_name[name].commands[-1].phase == "configure"
    reach, waiting = within_reach(plan, lambda step: False)
    assert set(reach.wanted) == {"configure.rocmlir", "configure.kernels"}
    assert waiting == (
        "migraphx cannot be configured before rocmlir is built",
        "onnxruntime.cp312 cannot be configured before migraphx is built",
    )
    assert not [s for s in reach.steps if s.name in ("rocmlir", "migraphx")]


def test_an_unused_cache_entry_is_found_if_it_was_to_be_used() -> None:
    log = "-- done\nCMake Warning:\n  Manually-specified variables were not used by the project:\n\n    GGML_HIPBLAS\n    OK\n\n\n-- Build\n"
    assert unused(log, ("GGML_HIPBLAS", "GGML_CUDA")) == ("GGML_HIPBLAS",)
    assert unused("-- all used\n", ("GGML_HIPBLAS",)) == ()


@pytest.mark.parametrize(
    "url",
    [
        "ext::sh -c touch% /tmp/x", "file:///etc", "/etc", "http://host/x", "git://host/x", "-u./x", "--upload-pack=x",
        "https://host", "https://host/../x", "https://user:secret@host/x", "https://host/x\n", "https://host/$HOME",
        "https://-oProxyCommand=x/y", "ssh://-oProxyCommand=x/y", "https://host/x y", "https:///x", "HTTPS://host/x",
    ],
)  # fmt: skip
def test_a_git_url_that_is_more_than_an_address_is_refused(url: str) -> None:
    with pytest.raises(StepFailed, match="is refused"):
        vetted(url)


def test_a_mirror_is_found_by_host_and_path(tmp_path: Path) -> None:
    (tmp_path / "github.com/a/b.git").mkdir(parents=True)
    (tmp_path / "github.com/a/b.git/HEAD").touch()
    assert in_mirror("https://github.com/a/b", Mirror(tmp_path)) == tmp_path / "github.com/a/b.git"
    assert in_mirror("https://github.com/a/c", Mirror(tmp_path)) is None


@pytest.mark.parametrize("place", ["github.com/a/b", "a/b.git", "b", "b.git"])
def test_a_mirror_may_be_laid_out_flatter(place: str, tmp_path: Path) -> None:
    (tmp_path / place).mkdir(parents=True)
    (tmp_path / place / "HEAD").touch()
    assert in_mirror("https://github.com/a/b.git", Mirror(tmp_path)) == tmp_path / place


def findings(name: str, *pairs: tuple[str, str]) -> dict[str, Severity]:
    text = changed(name, *pairs)
    return {f.rule: f.severity for f in check(CheckInput(parse(text, "t.yaml"), NOTHING, text, "t.yaml", table()))}


@pytest.mark.parametrize(
    ("rule", "pairs"),
    [
        ("SB-STACK-ROCM", [("rocm: 7.2.4", "rocm: 7.9.0")]),
        ("SB-STACK-GFX", [("gfx1200, gfx1201]", "gfx1200, gfx1153]")]),
        ("SB-STACK-PYTHON", [('python: ["3.12"]', 'python: ["3.14"]')]),
        ("SB-STACK-CMAKE", [("cmake: 3.31.10", "cmake: 3.27.9")]),
        ("SB-STACK-SONAME", [("libamdhip64.so.7]\n\n  kernels:", "libamdhip64.so.6]\n\n  kernels:")]),
        ("SB-STACK-ROCM-EP", [("providers: [migraphx]", "providers: [migraphx, rocm]")]),
    ],
)
def test_what_cannot_work_is_an_error(rule: str, pairs: list[tuple[str, str]]) -> None:
    assert rule not in findings("rocm-7.2")
    assert findings("rocm-7.2", *pairs)[rule] is Severity.ERROR


def test_a_rocmlir_that_nobody_pins_is_a_warning() -> None:
    other = ("ref: 6671a1ee31d44e1f2f7743a26a71ffc4ce9169bf", f"ref: {'a' * 40}")
    assert findings("rocm-7.2", other)["SB-STACK-ROCMLIR"] is Severity.WARNING


OTHER_ROCMLIR = ("ref: 6671a1ee31d44e1f2f7743a26a71ffc4ce9169bf", "ref: 0f4a7090de7ed8a6235d943acd2872c925669548")


@pytest.mark.parametrize(
    ("rule", "name", "pairs"),
    [
        ("ORT-VERSION", "rocm-6.4", [("ref: v1.22.1", "ref: v1.23.2")]),
        ("MIGRAPHX", "rocm-6.4", [("ref: rocm-6.4.4", "ref: rocm-7.2.4")]),
        ("MIGRAPHX", "rocm-6.4", [("version: 2.12.0", "version: 2.99.0")]),
        ("MIGRAPHX", "rocm-6.4", [("ref: rocm-6.4.4", "ref: rocm-7.2.4"), ("version: 2.12.0", "version: 2.15.0")]),
        ("MIGRAPHX", "rocm-6.4", [("rocm: 6.4.4", "rocm: 6.4.3"), ("version: 2.12.0", "version: 2.99.0")]),
        ("ROCMLIR", "rocm-7.2", [("ref: rocm-7.2.4", "ref: rocm-7.2.0")]),
        ("ROCMLIR", "rocm-7.2", [OTHER_ROCMLIR]),
        ("IMAGE-ROCM", "rocm-6.4", [("dev-ubuntu-24.04:6.4.4", "dev-ubuntu-24.04:7.2.4")]),
        ("IMAGE-APT", "rocm-6.4", [("dev-ubuntu-24.04:6.4.4", "dev-almalinux-8:6.4.4")]),
        ("IMAGE-PYTHON", "rocm-6.4", [('python: ["3.12"]', 'python: ["3.11", "3.13"]')]),
        ("CMAKE-4", "rocm-6.4", [("cmake: 3.31.10", "cmake: 4.2.3")]),
        ("WHEEL-VERSION", "rocm-6.4", [("version: 1.22.1+rocm", "version: 1.21.0+rocm")]),
        ("WHEEL-VERSION", "rocm-6.4", [("0.1.0+rocm.6.4.4", "0.1.0+rocm.7.2.4")]),
        ("WHEEL-NAME", "rocm-6.4", [("distribution: stackbuild-kernels", "distribution: ONNXruntime_rocm")]),
    ],
)
def test_what_contradicts_itself_is_an_error_that_no_build_begins_with(
    rule: str, name: str, pairs: list[tuple[str, str]]
) -> None:
    wrong = parse(changed(name, *pairs), "t.yaml")
    assert not impossible(load(name).recipe, table())
    assert f"SB-STACK-{rule}" in {f.rule for f in impossible(wrong, table())}


def test_a_message_names_the_ref_that_is_in_the_recipe() -> None:
    wrong = parse(changed("rocm-7.2", ("ref: rocm-7.2.4", "ref: rocm-7.2.0")), "t.yaml")
    (found,) = impossible(wrong, table())
    assert "MIGraphX rocm-7.2.0 pins 3a034fd4fa6c" in found.found


def test_a_release_that_the_table_has_only_the_line_of_is_said() -> None:
    pairs = [("rocm: 7.2.4", "rocm: 7.2.9"), ("24.04:7.2.4", "24.04:7.2.9"), ("+rocm.7.2.4", "+rocm.7.2.9")]
    assert findings("rocm-7.2", *pairs) == findings("rocm-7.2") | {"SB-STACK-ROCM-PATCH": Severity.WARNING}


@pytest.mark.parametrize("name", sorted(bundled()))
def test_no_bundled_recipe_has_an_error_and_each_lock_is_fresh(name: str) -> None:
    loaded = load(name)
    given = CheckInput(loaded.recipe, read_lock(loaded), text_of(name), name, table())
    assert not [f for f in check(given) if f.severity is Severity.ERROR]


@pytest.mark.parametrize(
    "rocm", ["6.0", "6.1", "6.2", "6.3", "6.4", "7.0", "7.1", "7.2", *(r.rocm for r in table().migraphx[:-1])]
)
def test_a_new_recipe_is_right_for_every_rocm_of_the_table(rocm: str) -> None:
    text = new_recipe(rocm)
    recipe: Recipe = parse(text, "new.yaml")
    found = check(CheckInput(recipe, NOTHING, text, "new.yaml", table()))
    assert not [f for f in found if f.severity is Severity.ERROR or f.rule in ("SB-STACK-ROCMLIR", "SB-STACK-MIGRAPHX")]


@pytest.mark.parametrize(
    ("rocm", "image", "python", "numpy"),
    [
        ("6.0", "rocm/dev-ubuntu-22.04:6.0.2-complete", "3.10", "numpy==1.26.4"),
        ("6.1.0", "rocm/dev-ubuntu-22.04:6.1.0-complete", "3.10", "numpy==1.26.4"),
        ("6.3.1", "rocm/dev-ubuntu-24.04:6.3.1-complete", "3.12", "numpy==2.2.6"),
        ("7.0.0", "rocm/dev-ubuntu-24.04:7.0.0-complete", "3.12", "numpy==2.2.6"),
    ],
)
def test_a_new_recipe_has_an_image_that_there_can_be(rocm: str, image: str, python: str, numpy: str) -> None:
    """Ubuntu 24.04 is younger than ROCm 6.0 and 6.1, NumPy 2 than the ONNX Runtime of those."""
    recipe = parse(new_recipe(rocm), "new.yaml")
    assert (recipe.base.image, recipe.python) == (image, (python,))
    assert recipe.base.extend is not None and numpy in recipe.base.extend.pip
    (wheel,) = recipe.wheels.values()
    assert wheel.distribution == "onnxruntime-migraphx"  # the MIGraphX EP alone; onnxruntime-rocm has the ROCm EP too


@pytest.mark.parametrize(("rocm", "why"), [("10.0", "plugins"), ("10.1", "plugins"), ("7.14", "no MIGraphX")])
def test_a_rocm_that_the_table_has_is_not_called_unknown(rocm: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        new_recipe(rocm)


def test_a_target_of_a_later_rocm_is_none_of_an_earlier_one() -> None:
    assert "gfx1201" not in table().targets("6.3") and "gfx1201" in table().targets("6.4")


def test_an_unknown_rocm_is_named_with_what_is_known() -> None:
    with pytest.raises(UsageError, match="nothing is known") as stopped:
        new_recipe("8.1")
    assert "7.2" in stopped.value.next


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


def test_what_only_windows_fetches_is_no_open_question() -> None:
    lock = NOTHING.model_copy(update={"deps": {"migraphx-ep": (Dep(name="boost", url="https://x/boost.zip"),)}})
    assert not any("boost" in line for line in unlocked(load("rocm-10.1").recipe, lock))


@pytest.mark.parametrize("name", sorted(n for n in bundled() if load(n).recipe.verify))
def test_what_operators_are_proved_with_is_in_the_wheelhouse(name: str) -> None:
    """Without onnx every operator would fail the proof for want of a model, on the first machine that gets that far."""
    recipe = load(name).recipe
    assert recipe.verify is not None
    runtime = {name_of(line) for line in recipe.verify.runtime}
    brings_its_own = all("onnxruntime" in wheel.packages for wheel in recipe.wheels.values())
    assert "onnx" in runtime and (brings_its_own or "onnxruntime" in runtime)
    lock = read_lock(load(name))
    assert all(runtime - {"onnxruntime"} <= set(house) for house in lock.wheelhouse.values())


def name_of(requirement: str) -> str:
    return requirement.partition(">")[0].partition("=")[0].strip()


@pytest.mark.parametrize(("glibc", "houses"), [("", ["3.11"]), ("2.36", ["3.11", "3.14"]), ("2.43", ["3.11"])])
def test_a_base_newer_than_the_machine_gets_wheels_for_its_own_python(glibc: str, houses: list[str]) -> None:
    loaded = load("debian-sid")
    inputs = Inputs.of(read_lock(loaded), dict.fromkeys(loaded.recipe.sources, "0" * 64))
    plan = resolve(loaded.recipe, inputs, Choice(python=("3.11",), glibc=glibc))
    assert [s.name.partition(".")[2] for s in plan.steps if s.action == "wheelhouse"] == houses


def without_lists() -> Table:
    """The table of an AMD that publishes no list of supported GPUs."""
    return table().model_copy(update={"gfx": tuple(row for row in table().gfx if row.status != "supported")})


def unofficial(text: str, known: Table) -> list[str]:
    found = check(CheckInput(parse(text, "t.yaml"), NOTHING, text, "t.yaml", known))
    return [f.found for f in found if f.rule == "SB-STACK-GFX-UNOFFICIAL"]


def test_a_target_is_said_to_be_off_amds_list_only_where_that_list_is_known() -> None:
    text = changed("rocm-6.4", ("gfx908,", "gfx908, gfx900,"))
    assert unofficial(text, table()) == ["gfx900 with ROCm 6.4.4: built, not on AMD's list"]
    unknown = unofficial(text, without_lists())
    assert "gfx90a with ROCm 6.4.4: built" in unknown and not [line for line in unknown if "AMD" in line]


def test_advice_that_several_findings_share_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    text = text_of("rocm-6.4")
    draw_findings("t", check(CheckInput(parse(text, "t.yaml"), NOTHING, text, "t.yaml", without_lists())))
    drawn = capsys.readouterr().out
    assert drawn.count("with ROCm 6.4.4: built") == 5 and drawn.count("look it up in AMD's system requirements") == 1
