"""What a recipe's `hipify:` becomes in the plan: pure, nothing is run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stackbuild.checks.recipe import CheckInput, check_recipe
from stackbuild.model.inputs import Inputs
from stackbuild.model.lock import Lock
from stackbuild.model.plan import Plan
from stackbuild.plan.resolve import resolve
from stackbuild.recipe.load import parse
from stackbuild.tables.compatibility import table
from support.hipify import RECIPE

LOCK = Lock(schema=1, asked="0" * 64, packages={"hipcc": "1"})
TREES = {"code": "c" * 64, "hipify.one": "d" * 64, "hipify.one.patches": "e" * 64}


def plan(more: str = "", recipe: str = RECIPE, trees: dict[str, str] = TREES) -> Plan:
    return resolve(parse(recipe.replace("MORE", more), "t.yaml"), Inputs.of(LOCK, trees))


def params(made: Plan, step: str) -> dict[str, str]:
    return dict(made.by_name[step].params)


def test_the_component_sees_the_converted_source_and_others_the_source() -> None:
    made = plan()
    seen = {n.step: (n.at, n.part) for n in made.by_name["one"].needs}
    assert seen == {"base": ("", ""), "hipify.one": ("/src/code", "source")}
    assert "source.code" in [n.step for n in made.by_name["two"].needs]
    assert [n.step for n in made.by_name["hipify.one"].needs] == ["source.code", "hipify.one.tables"]


def test_what_is_in_the_key_and_what_is_not() -> None:
    first = plan()
    assert params(first, "hipify.one")["rocm"] == "6.4"
    assert params(plan('rocm: "6.1"'), "hipify.one")["rocm"] == "6.1"
    assert params(first, "hipify.one")["wavefronts"] == "[32,64]"
    assert "patches" not in params(first, "hipify.one")
    assert params(plan("patches: one/1"), "hipify.one")["patches"] == "e" * 64
    for more in ("strict: true", "rules: [lc0]", "lint: false", "launch: ggl", "patches: one/1", "twins: keep"):
        assert plan(more).by_name["hipify.one"].key != first.by_name["hipify.one"].key, more
    other = plan(trees={**TREES, "hipify.one": "f" * 64})
    assert other.by_name["hipify.one"].key != first.by_name["hipify.one"].key
    assert other.by_name["hipify.one.tables"].key == first.by_name["hipify.one.tables"].key
    assert other.by_name["two"].key == first.by_name["two"].key


def test_the_same_tables_make_the_same_conversion_whatever_base_they_came_from() -> None:
    made = plan()
    step = made.by_name["hipify.one"]
    moved = replace(step, needs=tuple(replace(n, key="0" * 64) for n in step.needs))
    trees = {"source.code": "a", "hipify.one.tables": "b"}
    assert moved.key != step.key
    assert moved.content_key(trees) == step.content_key(trees) != step.content_key({**trees, "source.code": "c"})


def test_tables_come_from_the_base_or_from_a_source() -> None:
    assert [n.step for n in plan().by_name["hipify.one.tables"].needs] == ["base"]
    tables = plan("tool: tool, headers: [/opt/hip/include]").by_name["hipify.one.tables"]
    assert [(n.step, n.at) for n in tables.needs] == [("base", ""), ("source.tool", "/src/tool")]
    assert "for folder in /opt/hip/include; do" in tables.commands[0].argv[-1]


@pytest.mark.parametrize("more", ["", "matrix: {per_gfx: true}\n"])
def test_one_conversion_for_all_pythons_and_one_for_each_wavefront(more: str) -> None:
    recipe = RECIPE.replace(
        "kind: cmake, source: code, uses_gfx: GPU_TARGETS",
        "kind: onnxruntime, source: code, version: 1.22.1, providers: [rocm]",
    )
    made = plan(recipe=recipe + more)
    steps = sorted(s for s in made.by_name if s.startswith("hipify.") and not s.endswith(".tables"))
    assert steps == (["hipify.one.gfx1100", "hipify.one.gfx90a"] if more else ["hipify.one"])
    assert {params(made, s)["wavefronts"] for s in steps} == ({"[32]", "[64]"} if more else {"[32,64]"})
    users = [s.name for s in made.steps if any(n.part for n in s.needs)]
    assert len(users) == (4 if more else 2)


def test_hipify_clang_parses_in_the_base_before_the_conversion() -> None:
    made = plan('engine: clang, cuda: /opt/cuda, clang_flags: ["-Iinclude", "-DX=a b"]')
    parsed = made.by_name["hipify.one.clang"]
    assert [(n.step, n.at) for n in parsed.needs] == [("base", ""), ("source.code", "/src/code")]
    script = parsed.commands[0].argv[-1]
    assert "--cuda-path=/opt/cuda -- -I. -Iinclude '-DX=a b'" in script and "cd /src/code\n" in script
    assert [n.step for n in made.by_name["hipify.one"].needs] == [
        "source.code",
        "hipify.one.tables",
        "hipify.one.clang",
    ]
    assert "hipify.one.clang" not in plan().by_name
    recipe = parse(RECIPE.replace("MORE", "engine: clang"), "t.yaml")
    given = CheckInput(recipe, Lock(schema=1, asked="0" * 64, packages={"hipify-perl": "1"}), "", "t.yaml", table())
    assert [f.found for f in check_recipe(given) if f.rule == "SB-STACK-HIPIFY"] == [
        "the base has no hipify-clang among its packages"
    ]
