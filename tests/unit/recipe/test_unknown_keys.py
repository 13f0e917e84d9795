"""The next step for an unknown key: what this recipe has for it, by the value and by where it stands."""

from __future__ import annotations

import pytest

from stackbuild.core import yaml
from stackbuild.core.errors import RecipeError
from stackbuild.recipe.load import parse
from stackbuild.recipe.schema_nodes import keys_at, may_hold
from stackbuild.recipe.unknown_keys import next_for_unknown_key
from support.paths import TESTS

NIGHT = (TESTS / "seeded-recipes/bases/night.yaml").read_text()
TOOL = (TESTS / "seeded-recipes/bases/my-tool.yaml").read_text()


def step(text: str, line: str, after: str) -> str:
    """The next step of the one mistake that a line makes below the line that begins with `after`."""
    lines = text.split("\n")
    at = next(i for i, each in enumerate(lines) if each.startswith(after))
    lines.insert(at + 1, line)
    with pytest.raises(RecipeError) as raised:
        parse("\n".join(lines), "recipe.yaml")
    (mistake,) = raised.value.mistakes
    assert mistake.place.split(":")[1] == str(at + 2)
    return mistake.next


@pytest.mark.parametrize(
    ("line", "after", "said"),
    [
        # what the recipe has already is named, and where
        ("    rocm: 6.4.4", "    memory: 14G", "remove it: the recipe's own `rocm:` says it"),
        ('    python: ["3.10"]', "    memory: 14G", "remove it: the recipe's own `python:` says it"),
        ("    ref: v1.21.1", "    memory: 14G", "remove it: `ref:` of the source `ort` says it"),
        ("    packages: [onnxruntime]", "    memory: 14G", "remove it: `packages:` of the wheel `ort-wheel` says it"),
        ("    version: 1.21.1", "    ref: v1.21.1", "remove it: `version:` of the component `ort` says it"),
        ("onnxruntime: 1.21.1", "schema:", "remove it: `version:` of the component `ort` says it"),
        # and what it has not
        ("    patches: onnxruntime/1.21.1", "    memory: 14G", "write `patches:` in the source `ort`"),
        ("license: MIT", "schema:", "write `license:` in the component `ort-wheel`"),
        ("suite: models", "schema:", "`suite` belongs to `bench`"),
        ("    name: onnxruntime", "    ref: v1.21.1", "its name is the key above it, `ort:`"),
        # a word means another thing in another section
        ("  tag: 6.4.4", "  image:", "write it within `image:`"),
        ("    build: 1", "    abi: cpython", "raise `version:`"),
        ("  gpu: true", "verify:", "`stackbuild verify --require RUNGS`"),
        ("    p99: 9 ms", "    metric: latency", "a gate judges the median"),
        ("        issue: 41", "        until: 2027-03-31", "write it in `reason:`"),
        # a part of a longer word tells too
        ("    unit_tests_dir: tests", "    memory: 14G", "options: {BUILD_TESTING: false}"),
    ],
)
def test_the_step_names_what_this_recipe_has(line: str, after: str, said: str) -> None:
    assert said in step(NIGHT, line, after)


def test_a_key_is_not_meant_where_the_value_cannot_be_its() -> None:
    assert "python_package" not in step(NIGHT, '    python: ["3.10"]', "    memory: 14G")
    assert "schema" not in step(NIGHT, "  format: simple", "publish:")
    assert "network" in step(TOOL, "    needs_network: true", "    source: tool")


def test_values_are_judged_by_type_words_and_pattern() -> None:
    launch = ("components", "x", "cmake", "hipify", "launch")
    assert may_hold(launch, "ggl") and not may_hold(launch, "sm_80") and may_hold(launch, "sm_80", by_form=False)
    assert may_hold(("gfx",), "gfx1100") and may_hold(("gfx",), ["gfx1100"]) and not may_hold(("gfx",), True)
    assert may_hold(("rocm",), "6.4.4") and not may_hold(("rocm",), "/opt/rocm") and may_hold(("rocm",), None)
    assert may_hold(("base",), {"image": "x"}) and not may_hold(("base",), {"suite": "x"}) and not may_hold(("base",), "x")
    assert may_hold(("gates", 0, "limit", "at_most"), "9 ms") and not may_hold(("gates", 0, "limit", "at_most"), "fast")
    assert may_hold(("bench", "threads"), 8) and not may_hold(("publish", "replace"), 8)


def test_every_section_of_the_table_is_of_a_section_of_recipes() -> None:
    """A step of the table never names a word that is a key there: the key would be right."""
    from stackbuild.tables.key_words import step_at

    data, _ = yaml.compose(NIGHT, "recipe.yaml")
    for path, loc in (
        ((), ()),
        (("base",), ("base",)),
        (("base", "extend"), ("base", "extend")),
        (("sources", "ort"), ("sources", "ort")),
        (("components", "ort"), ("components", "ort", "onnxruntime")),
        (("verify",), ("verify",)),
        (("bench",), ("bench",)),
        (("publish",), ("publish",)),
        (("matrix",), ("matrix",)),
    ):
        detail = {"loc": (*loc, "frobnicate"), "input": True}
        assert next_for_unknown_key(detail, (*path, "frobnicate"), data).endswith(", ".join(sorted(keys_at(loc))))
        name = {"sources": "source", "components": "component"}.get(path[0], path[-1]) if path else "recipe"
        assert [key for key in keys_at(loc) if step_at(name, key, is_whole=True)] == []
