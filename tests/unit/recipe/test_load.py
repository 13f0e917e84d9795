"""Reading a recipe."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.core.errors import RecipeError, UsageError
from stackbuild.model.recipe import Publish
from stackbuild.recipe.load import bundled_recipes, load, parse
from support.recipes import text_of


def test_mistakes_of_one_place_have_one_order() -> None:
    said = set()
    for _ in range(5):
        with pytest.raises(RecipeError) as caught:
            parse("name: x\n", "n.yaml")
        said.add(str(caught.value))
    assert len(said) == 1


def test_an_index_for_each_rocm() -> None:
    text, publish = text_of("rocm-7.2"), "publish:\n  index: "
    assert text.count(f"{publish}dist/rocm-7.2/simple") == 1
    text = text.replace(publish, 'publish:\n  url: "https://w.example.invalid/rocm-{rocm}/simple"\n  index: ')
    recipe = parse(text.replace("dist/rocm-7.2/simple", "dist/rocm-{rocm}/simple"), "r.yaml")
    assert recipe.rocm is not None
    assert recipe.destination.index == f"dist/rocm-{recipe.rocm}/simple"
    assert recipe.destination.url == f"https://w.example.invalid/rocm-{recipe.rocm}/simple"


def test_an_index_without_a_name_is_refused() -> None:
    with pytest.raises(ValueError, match="dist/simple"):
        Publish.model_validate({"index": ""})


@pytest.mark.parametrize("name", bundled_recipes())
def test_a_valid_recipe_is_read_without_the_json_schema(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """To make the schema takes a tenth of a build that has nothing to do."""

    def refuse() -> dict[str, object]:
        raise AssertionError("the schema is made")

    monkeypatch.setattr("stackbuild.recipe.schema_nodes.schema", refuse)
    assert load(name).recipe.name == name


@pytest.mark.parametrize(
    ("text", "what", "step"),
    [
        ("asked: a\nquestions: {}\n", "it is a lock", "name its recipe"),
        ("gates:\n  - kind: baseline\n", "it is a file of gates", "`stackbuild gate --gates FILE`"),
        ("kind: models\nmodels: []\n", "it is a suite of benchmarks", "`bench: {suite: FILE}`"),
        ("on: push\njobs: {}\n", "it is a workflow of GitHub", "`stackbuild ci render`"),
        ("services: {}\n", "it is a compose file", "recipe show"),
        ("[project]\nname='x'\n", "it is TOML", "recipe show"),
        ("jobs = 4\n", "it is TOML", "recipe show"),
        ("FROM ubuntu\nRUN true\n", "it is a Dockerfile", "`base: {image: …}`"),
        ("- a\n", "a recipe is a mapping", "recipe show"),
    ],
)
def test_another_document_is_told_by_what_it_is(text: str, what: str, step: str) -> None:
    with pytest.raises(RecipeError) as raised:
        parse(text, "r.yaml")
    (mistake,) = raised.value.mistakes
    assert mistake.place == "r.yaml:1:1" and what in mistake.what and step in mistake.next


def test_a_folder_in_place_of_a_recipe_is_answered_with_a_recipe_in_it(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").touch()
    (tmp_path / "mine.lock.yaml").touch()
    with pytest.raises(UsageError) as raised:
        load(str(tmp_path))
    assert "is a folder" in raised.value.what and raised.value.next.endswith("/mine.yaml`")
