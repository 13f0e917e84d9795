"""The words of other tools: each of their keys is one that a recipe has, and an unknown key is answered with what to do."""

from __future__ import annotations

import pytest

from stackbuild.core.errors import RecipeError
from stackbuild.recipe.load import parse
from stackbuild.recipe.schema_nodes import components_by_kind, schema
from stackbuild.tables import key_words
from support.paths import TESTS

RECIPE = (TESTS / "seeded-recipes/edits/image.yaml").read_text()


def test_every_key_and_kind_of_the_table_is_one_of_the_schema() -> None:
    nodes = [schema(), *schema()["$defs"].values()]
    keys = {key for node in nodes for key in node.get("properties", {})}
    table = key_words._sections()
    gates = {"baseline", "speedup", "limit", "memory", "accuracy", "share"}
    assert {key for keys_of_row in table["keys"] for key in keys_of_row.split()} <= keys
    assert {*table["kinds"]} <= {*components_by_kind(), *gates}


@pytest.mark.parametrize(
    ("line", "wrong", "next"),
    [
        ("    memory: 14G\n", "    jobs: 4\n", "`stackbuild build --jobs N`"),
        ("    memory: 14G\n", "    build_type: Release\n", "CMAKE_BUILD_TYPE: Release"),
        ("    memory: 14G\n", "    mem_limit_gb: 14\n", "write `memory: 14G`"),
        ("    metric: latency\n", "    metric: latency\n    versus: candidate\n", "gates baseline, speedup, memory"),
        ("gates:\n", "checks:\n", "did you mean `gates`?"),
        ("gates:\n", "steps: []\ngates:\n", "a component of kind `script`"),
    ],
)
def test_a_key_of_another_tool_is_answered_with_what_to_do(line: str, wrong: str, next: str) -> None:
    with pytest.raises(RecipeError) as error:
        parse(RECIPE.replace(line, wrong, 1), "recipe.yaml")
    assert any(next in mistake.next for mistake in error.value.mistakes), error.value.mistakes
