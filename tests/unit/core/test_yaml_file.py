"""YAML files as values of a model: mistakes in words, each with its place and the next step."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from stackbuild.core.errors import RecipeError
from stackbuild.core.model import Model
from stackbuild.core.yaml_file import read_yaml


class Case(Model):
    op: str
    sizes: tuple[int, ...] = ()


class Suite(Model):
    about: str = ""
    kind: Literal["kernels", "models"]
    cases: tuple[Case, ...] = ()


@pytest.mark.parametrize(
    ("text", "mistake", "step"),
    [
        ("about: x\n", ":1:1: `kind` is missing", "add `kind: kernels`, one of: kernels, models"),
        ("kind: kernels\ncase: []\n", ":2:1: `case` is an unknown key", "did you mean `cases`?"),
        ("kind: kernels\ncases: [{op: x, colour: 1}]\n", ":2:17: `cases.0.colour` is an unknown key", "known are: op, sizes"),
        ("kind: games\n", ":1:7: `kind` cannot be 'games'", "'kernels' or 'models'"),
        ("kind: kernels\ncases: Conv\n", ":2:8: `cases` must be a list, not 'Conv'", "write `[Conv]`"),
        ("- kind: kernels\n", ":1:1: the file must be a mapping, not a list", "begin with `kind:`"),
        ("kind: kernels\ncases: [{op: 3}]\n", ":2:14: `cases.0.op` must be text, not 3", "quotes"),
    ],
)
def test_a_mistake_has_place_cause_and_next_step(text: str, mistake: str, step: str, tmp_path: Path) -> None:
    file = tmp_path / "suite.yaml"
    file.write_text(text)
    with pytest.raises(RecipeError) as stop:
        read_yaml(file, Suite, "see the page")
    said = str(stop.value.mistakes[0])
    assert mistake in said and step in said.partition("next:")[2] and said.endswith("see the page")
