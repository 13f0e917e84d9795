"""Reads what the docs say of recipes: examples load, lists are those of the code and of the bundled recipes."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stackbuild.checks.recipe import CheckInput, check_recipe
from stackbuild.checks.start import start
from stackbuild.core import yaml
from stackbuild.core.errors import RecipeError
from stackbuild.model.components import Component, Kernels, MIGraphXEp, OnnxRuntime, Rocm
from stackbuild.model.findings import Severity
from stackbuild.model.gates import LimitGate
from stackbuild.model.inputs import Inputs
from stackbuild.model.recipe import Recipe
from stackbuild.plan.resolve import resolve
from stackbuild.plan.steps.context import fixed_env
from stackbuild.plan.steps.migraphx import PROBES
from stackbuild.recipe.load import bundled_recipes, load, parse
from stackbuild.recipe.lock_file import read_lock
from stackbuild.recipe.matrix import expand
from stackbuild.sources import patches
from stackbuild.tables.compatibility import table
from stackbuild.tables.gpu_limits import emulated_targets
from support.pages import code_blocks
from support.paths import ROOT
from support.recipe_plans import plan_of
from support.recipes import text_of

PAGES = sorted((ROOT / "docs").rglob("*.md"))
FORMS = ROOT / "docs/recipe-forms.md"
KEYS = {field.alias or name for name, field in Recipe.model_fields.items()}
KINDS = ("kernels", "kernels-ep", "rocmlir", "migraphx", "onnxruntime", "migraphx-ep", "amdgpu-ep", "hipdnn-ep", "lc0")
"""Kinds with entries that bundled recipes have."""


def data_of(text: str) -> Any:
    """A block as YAML; None for one that is not."""
    try:
        return yaml.compose(text, "block")[0]
    except RecipeError:
        return None


def fragment_of(text: str) -> dict[str, Any] | None:
    """A part of a recipe, by its keys: those of a recipe, or components by their names. None for another block."""
    data = data_of(text)
    if not isinstance(data, dict) or not data:
        return None
    if {*data} <= KEYS:
        return data
    is_components = all(isinstance(each, dict) and "kind" in each for each in data.values())
    return {"components": data} if is_components else None


@dataclass(frozen=True)
class RecipeExample:
    """A part of a recipe in a page, and the recipe whose keys it changes, "" where it is whole in itself."""

    place: str
    fragment: dict[str, Any]
    changed_recipe: str


def examples() -> Iterator[RecipeExample]:
    for page in PAGES:
        for block in code_blocks(page):
            if fragment := fragment_of("\n".join(block.lines)):
                yield RecipeExample(f"{block.page}:{block.line}", fragment, block.changes_of)


EXAMPLES = list(examples())
WHOLE = [example.fragment for example in EXAMPLES if not example.changed_recipe]


def with_fragment(fragment: dict[str, Any]) -> str:
    """A bundled recipe with a part in place of its own; sources and components stand beside its own. JSON is YAML."""
    whole: dict[str, Any] = data_of(text_of("debian-rocm-7.2"))
    more = {key: {**whole.get(key, {}), **fragment[key]} for key in ("sources", "components") if key in fragment}
    return json.dumps({**whole, **fragment, **more})


def merged(old: Any, new: Any) -> Any:
    """A part of a recipe over another one, key by key."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return new
    return {**old, **{key: merged(old.get(key), value) for key, value in new.items()}}


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.place for example in EXAMPLES])
def test_an_example_of_a_recipe_loads(example: RecipeExample) -> None:
    text = with_fragment(example.fragment)
    if example.changed_recipe:
        text = json.dumps(merged(data_of(text_of(example.changed_recipe)), example.fragment))
    recipe = parse(text, example.place)
    findings = check_recipe(CheckInput(recipe, None, text, example.place, table()))
    assert not [finding for finding in findings if finding.severity is Severity.ERROR]


def test_a_wrong_example_would_be_found() -> None:
    wheel = {"kind": "wheel", "needs": ["migraphx"], "distribution": "x", "version": "1.0", "packages": ["x"]}
    with pytest.raises(RecipeError) as refusal:
        parse(with_fragment({"components": {"x": wheel}}), "x")
    assert "summary" in str(refusal.value)


def test_each_section_has_an_example() -> None:
    keys = {key for fragment in WHOLE for key in fragment}
    assert {"base", "sources", "components", "matrix", "verify", "bench", "gates", "publish"} <= keys
    components = [each for fragment in WHOLE for each in fragment.get("components", {}).values()]
    assert {"cmake", "script", "wheel", "onnxruntime", "migraphx-package"} <= {each["kind"] for each in components}
    gates = [gate for fragment in WHOLE for gate in fragment.get("gates", ())]
    assert {"accuracy", "baseline", "speedup", "limit", "memory", "share"} <= {gate["kind"] for gate in gates}
    assert any("waivers" in gate for gate in gates)
    sources = [each for fragment in WHOLE for each in fragment.get("sources", {}).values()]
    assert {"path", "git", "archive", "debian", "pypi"} <= {key for each in sources for key in each}
    assert any("variants" in fragment.get("matrix", {}) for fragment in WHOLE)


def table_below(heading: str, page: Path = FORMS) -> list[list[str]]:
    """The rows of the first table below a heading, without its head."""
    section = re.split(rf"^#+ {re.escape(heading)}$", page.read_text("utf-8"), flags=re.MULTILINE)[1]
    rows = re.findall(r"^\|(.*)\|$", re.split(r"^#+ ", section, flags=re.MULTILINE)[0], re.MULTILINE)
    return [[cell.strip() for cell in row.split(" | ")] for row in rows if not set(row) <= set("-|")][1:]


def test_the_environment_of_a_step_is_the_one_of_the_code() -> None:
    rows = table_below("The environment of a step")
    assert {name.strip("`"): value.strip("`") for name, value in rows} == fixed_env()


def given_entries(with_own: bool) -> dict[str, set[str]]:
    """CMake entries and meson options of each kind of component in the bundled recipes; with or without the recipe's own."""
    found: dict[str, set[str]] = defaultdict(set)
    for name in bundled_recipes():
        loaded = load(name)
        inputs = Inputs.of(read_lock(loaded), dict.fromkeys(loaded.recipe.sources, "0" * 64), dockerfile="0" * 64)
        steps = {step.name: step for step in resolve(loaded.recipe, inputs).steps}
        for point in expand(loaded.recipe).components:
            if not isinstance(point.component, Kernels | Rocm):
                continue
            parts = [s for s in steps if s == point.step or (s.startswith(f"{point.step}.") and isinstance(point.component, Kernels))]
            commands = [command.argv for part in parts for command in steps[part].commands if command.phase == "configure"]
            names = {name for argv in commands for name in entries_of(argv)}
            found[point.component.kind] |= names if with_own else names - own_entries(point.component)
    return found


def entries_of(argv: Sequence[str]) -> Iterator[str]:
    """The names of `-DNAME=VALUE`, and of `NAME=VALUE` behind build.py's `--cmake_extra_defines`."""
    start = argv.index("--cmake_extra_defines") if "--cmake_extra_defines" in argv else len(argv)
    for at, word in enumerate(argv):
        name, sign, _ = word.removeprefix("-D").partition("=")
        if sign and (word.startswith("-D") or at > start) and not name.startswith("-"):
            yield re.sub(r"(?<=FETCHCONTENT_SOURCE_DIR_).*", "…", name)


def own_entries(component: Component) -> set[str]:
    """What the recipe itself gives a component."""
    empty = component.empty_packages if isinstance(component, OnnxRuntime) else ()
    return {*getattr(component, "options", {}), *(f"{package}_DIR" for package in empty)}


def documented_entries(kind: str) -> set[str]:
    """What the page says of a kind, the rows of several kinds included."""
    names: set[str] = set()
    vendors = ("migraphx-ep", "amdgpu-ep", "hipdnn-ep")
    kinds_of = {
        "every kind with CMake": lambda: kind != "lc0",
        "all but `onnxruntime`, whose `build.py` sets it": lambda: kind not in ("onnxruntime", "lc0"),
        "`rocmlir`, `migraphx`, `onnxruntime` and the vendors' EPs": lambda: kind in ("rocmlir", "migraphx", "onnxruntime", *vendors),
        "the same without `onnxruntime`": lambda: kind in ("rocmlir", "migraphx", *vendors),
    }
    rows = table_below("CMake entries that stackbuild sets")
    assert {head for head, _ in rows} >= {*kinds_of}
    for head, cell in rows:
        is_of_kind = kinds_of[head]() if head in kinds_of else kind in re.findall(r"`([a-z0-9-]+)`", head)
        if is_of_kind:
            names |= set(re.findall(r"`(\w[\w…-]*)`", cell))
            if "those of `kernels`" in cell:
                names = (names - {"kernels"}) | documented_entries("kernels")
    return names


@pytest.mark.parametrize("kind", KINDS)
def test_the_entries_that_stackbuild_sets_are_in_the_page(kind: str) -> None:
    documented = documented_entries(kind) - ({"USE_AMDGPU"} if kind == "migraphx-ep" else set())
    assert given_entries(with_own=False)[kind] <= documented <= given_entries(with_own=True)[kind]


def test_a_cmake_component_is_given_the_entries_of_the_page() -> None:
    (fragment,) = (each for each in WHOLE if "ops-wheel" in each.get("components", {}))
    (step,) = (step for step in plan_of(with_fragment(fragment)).steps if step.name == "ops")
    own = {*fragment["components"]["ops"]["options"], "GPU_TARGETS"}
    assert {*entries_of(step.commands[0].argv)} - own == documented_entries("cmake") - {"uses_gfx"}


def test_lists_of_names_are_those_of_the_code() -> None:
    rows = {row[0]: row[1] for row in table_below("Lists of other projects' names")}
    assert re.findall(r"`(HAS_\w+)`", rows["`probes_ok`"]) == [probe for each in PROBES.values() for probe in each]
    assert re.findall(r"gfx\d\w+", rows["`verify.emulate`"]) == list(emulated_targets())


def test_the_metrics_of_a_limit_have_their_units_in_the_reference() -> None:
    text = str(LimitGate.model_fields["metric"].description)
    assert all(f"`{metric}`" in text for metric in ("latency", "create", "first", "throughput", "host_memory", "device_memory"))


def test_the_example_of_a_patch_has_what_a_patch_needs() -> None:
    blocks = ["\n".join(block.lines) for block in code_blocks(ROOT / "docs/patches.md")]
    (text,) = (text for text in blocks if text.startswith("Why:"))
    assert patches.check(patches.parse("0001-example.patch", f"{text}\n"), "0001-example.patch") == []
    rows = table_below("Patches", ROOT / "docs/patches.md")
    required = [row[0].strip("`") for row in rows if row[-1] == "required"]
    assert tuple(required) == patches.REQUIRED_HEADERS


def builders(target: str) -> tuple[set[str], set[str]]:
    """The bundled recipes that build ONNX Runtime for a target, and those that build AMD's plugins alone."""
    whole, plugins = set(), set()
    for name in bundled_recipes():
        recipe = load(name).recipe
        if target not in recipe.gfx:
            continue
        if any(isinstance(each, OnnxRuntime) for each in recipe.components.values()):
            whole.add(name)
        elif any(isinstance(each, MIGraphXEp) for each in recipe.components.values()):
            plugins.add(name)
    return whole, plugins


def test_the_way_to_a_wheel_names_each_recipe_that_builds_for_the_target() -> None:
    text = (ROOT / "docs/get-a-wheel.md").read_text("utf-8")
    found = re.findall(r"^The target is `(gfx\w+)`\. These recipes build for it: (.*?);(.*?)\n\n", text, re.MULTILINE | re.DOTALL)
    assert len(found) == 3
    for target, whole, plugins in found:
        named = [{*re.findall(r"`([\w.-]+)`", words)} & {*bundled_recipes()} for words in (whole, plugins)]
        assert tuple(named) == builders(target), target


def test_the_way_to_a_wheel_leads_with_the_recipe_that_start_lists_first() -> None:
    text = (ROOT / "docs/get-a-wheel.md").read_text("utf-8")
    builds = re.findall(r"`stackbuild build -r ([\w.-]+) --gfx (gfx\w+)", text)
    assert {gfx for _, gfx in builds} == {"gfx1100", "gfx942", "gfx1151"}
    for recipe, gfx in builds:
        assert start(gfx, (), table()).recipes[0].recipe == recipe, gfx
    for page in ("docs/get-a-wheel.md", "README.md"):
        assert "stackbuild start --gpu" in (ROOT / page).read_text("utf-8")
    assert "stackbuild model check" in (ROOT / "README.md").read_text("utf-8")


def test_no_kind_with_options_is_left_out() -> None:
    """A new kind of component has a row of entries."""
    components = [each for name in bundled_recipes() for each in load(name).recipe.components.values()]
    assert {each.kind for each in components if hasattr(each, "options")} == {*KINDS}
