"""What `recipe check` finds: combinations that cannot work, contradictions, what is unusual."""

import re

import pytest

from stackbuild.checks.recipe import CheckInput, check_recipe
from stackbuild.model.findings import Severity
from stackbuild.model.lock import Lock
from stackbuild.recipe.compatibility import impossible
from stackbuild.recipe.load import bundled_recipes, load, parse
from stackbuild.recipe.lock_file import read_lock
from stackbuild.tables.compatibility import Table, table
from stackbuild.views.recipe import draw_findings
from support.paths import TESTS
from support.recipes import changed, text_of

NOTHING = Lock(schema=1, asked="0" * 64)


def findings(name: str, *pairs: tuple[str, str]) -> dict[str, Severity]:
    text = changed(name, *pairs)
    return {
        f.rule: f.severity for f in check_recipe(CheckInput(parse(text, "t.yaml"), NOTHING, text, "t.yaml", table()))
    }


@pytest.mark.parametrize(
    ("rule", "pairs"),
    [
        ("SB-STACK-ROCM", [("rocm: 7.2.4", "rocm: 7.9.0")]),
        ("SB-STACK-GFX", [("gfx1200, gfx1201]", "gfx1200, gfx1153]")]),
        ("SB-STACK-PYTHON", [('python: ["3.12"]', 'python: ["3.8"]'), ("dev-ubuntu-24.04", "dev-ubuntu-20.04")]),
        ("SB-STACK-IMAGE-PYTHON", [('python: ["3.12"]', 'python: ["3.9"]')]),
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
        ("ORT-VERSION", "rocm-10.1", [("    version: 1.29.0", "    version: 1.27.0")]),
        ("ORT-RELEASE", "rocm-10.1", [("    source: onnxruntime\n", "    source: migraphx\n")]),
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
        ("WHEEL-VERSION", "debian-rocm-7.2", [("version: 2.15.0+rocm", "version: 2.14.0+rocm")]),
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


@pytest.mark.parametrize("name", sorted(bundled_recipes()))
def test_no_bundled_recipe_has_an_error_and_each_lock_is_fresh(name: str) -> None:
    loaded = load(name)
    given = CheckInput(loaded.recipe, read_lock(loaded), text_of(name), name, table())
    assert not [f for f in check_recipe(given) if f.severity is Severity.ERROR]


def without_lists() -> Table:
    """The table of an AMD that publishes no list of supported GPUs."""
    return table().model_copy(update={"gfx": tuple(row for row in table().gfx if row.status != "supported")})


def unofficial(text: str, known: Table) -> list[str]:
    found = check_recipe(CheckInput(parse(text, "t.yaml"), NOTHING, text, "t.yaml", known))
    return [f.found for f in found if f.rule == "SB-STACK-GFX-UNOFFICIAL"]


def test_a_target_is_said_to_be_off_amds_list_only_where_that_list_is_known() -> None:
    text = changed("rocm-6.4", ("gfx908,", "gfx908, gfx900,"))
    assert unofficial(text, table()) == ["gfx900 with ROCm 6.4.4: built, not on AMD's list"]
    unknown = unofficial(text, without_lists())
    assert "gfx90a with ROCm 6.4.4: built" in unknown and not [line for line in unknown if "AMD" in line]


def test_kernels_alone_may_have_a_target_that_the_libraries_of_their_rocm_lack() -> None:
    """Debian sid's HIP 6.4 compiles for gfx950; hipBLAS, which the provider calls, has nothing for it."""
    text = changed("debian-sid", ("gfx1100, gfx1201]", "gfx1100, gfx950]"))
    alone = re.sub(r"(?ms)^  kernels-ep:.*?(?=^  kernels-wheel:)|^  kernels-ep-wheel:.*?(?=^verify:)|^  wheels:.*", "", text)
    assert unofficial(text, table()) == []
    assert unofficial(alone, table()) == ["gfx950 with ROCm 6.4: not a target of its libraries"]
    for recipe, refused in ((text, True), (alone, False)):
        found = check_recipe(CheckInput(parse(recipe, "t.yaml"), NOTHING, recipe, "t.yaml", table()))
        assert any(f.rule == "SB-STACK-GFX" for f in found) is refused
        assert any(f.rule == "SB-STACK-GFX" for f in impossible(parse(recipe, "t.yaml"), table())) is refused


def test_advice_that_several_findings_share_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    text = text_of("rocm-6.4")
    draw_findings("t", check_recipe(CheckInput(parse(text, "t.yaml"), NOTHING, text, "t.yaml", without_lists())))
    drawn = capsys.readouterr().out
    assert drawn.count("with ROCm 6.4.4: built") == 5 and drawn.count("look it up in AMD's system requirements") == 1


def test_an_engine_that_the_base_does_not_list_is_a_warning_before_there_is_a_lock() -> None:
    lab = (TESTS / "seeded-recipes/bases/lab.yaml").read_text().replace("engine: fast", "engine: clang").replace("      tool: perl\n", "")
    for text, count in ((lab, 1), (lab.replace("      - make\n", "      - make\n      - hipify-clang\n"), 0)):
        inputs = CheckInput(parse(text, "lab.yaml"), None, text, "lab.yaml", table())
        rows = [f for f in check_recipe(inputs) if f.rule == "SB-STACK-HIPIFY"]
        assert [(f.subject, f.severity) for f in rows] == [("components.conv.hipify.engine", Severity.WARNING)] * count


@pytest.mark.parametrize(
    ("name", "old", "item", "next"),
    [
        ("rocm-7.2", "    providers: [migraphx]\n    memory: 14G", "deps: [abseil_cp, cudnn_frontend]", "did you mean `abseil_cpp`?"),
        ("rocm-7.2", "    version: 2.15.0\n", "probes_ok: [HAS_FIND_API, HAS_FIND_2_API]", "did you mean `HAS_FIND_2_API`?"),
    ],
)  # fmt: skip
def test_a_name_that_nothing_has_is_a_warning(name: str, old: str, item: str, next: str) -> None:
    """The second item of each is a real one: a row of the lock, a probe."""
    text = changed(name, (old, f"    {item}\n{old}"))
    lock = read_lock(load(name))
    found = check_recipe(CheckInput(parse(text, "t.yaml"), lock, text, "t.yaml", table()))
    (finding,) = (f for f in found if f.rule == "SB-STACK-NO-EFFECT")
    assert finding.severity is Severity.WARNING and finding.subject.endswith(".0") and finding.fix == next
