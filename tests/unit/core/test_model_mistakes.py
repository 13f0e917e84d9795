"""Mistakes of values in plain words: no word of pydantic's reaches a reader."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from stackbuild.core.errors import RecipeError
from stackbuild.core.model import Model, ValidationError
from stackbuild.core.model_mistakes import cause_of, first_mistake
from stackbuild.core.yaml import Places
from stackbuild.core.yaml_file import mistakes_of
from stackbuild.model.lock import Lock
from stackbuild.model.recipe import Recipe
from stackbuild.model.results import Benchmarks
from stackbuild.model.suite import Suite
from stackbuild.publishing.snapshot import Snapshot
from stackbuild.recipe.validation import mistakes
from stackbuild.remote.settings import Settings

PYDANTIC = re.compile(
    r"Input should|should have|should be|after validation|Tuple|valid (?:string|integer|number|boolean|list|tuple|dict)|Extra inputs"
    r"|Field required|permitted|Value error|unable to|dictionary|instance of|greater than|less than|discriminator|pydantic"
)
WRONG: tuple[Any, ...] = (None, "", "x", "${X}", -1, 0, 1.5, 1e400, True, [], ["x"], [[]], [None], {}, {"x": 1}, {"x": []}, "2027-13-45", "é" * 300)
"""One value of each kind, and of sizes that fields refuse."""


def schema_paths(schema: dict[str, Any], node: dict[str, Any], depth: int = 0) -> Iterator[tuple[str | int, ...]]:
    """The paths of all fields of a model; `x` where any name may stand, 0 where an item may."""
    node = schema["$defs"][node["$ref"].rpartition("/")[2]] if "$ref" in node else node
    yield ()
    if depth > 9:
        return
    for each in (*node.get("anyOf", ()), *node.get("oneOf", ())):
        yield from schema_paths(schema, each, depth + 1)
    for key, value in node.get("properties", {}).items():
        yield from ((key, *path) for path in schema_paths(schema, value, depth + 1))
    if isinstance(items := node.get("items"), dict):
        yield from ((0, *path) for path in schema_paths(schema, items, depth + 1))
    if isinstance(values := node.get("additionalProperties"), dict):
        yield from (("x", *path) for path in schema_paths(schema, values, depth + 1))


def data_with(path: tuple[str | int, ...], value: Any, kind: str = "") -> Any:
    """Data that has a value at a path and nothing else."""
    for part in reversed(path):
        value = [value] if isinstance(part, int) else {part: value}
        if kind and isinstance(value, dict) and part not in ("kind", "x"):
            value.setdefault("kind", kind)
    return value


@pytest.mark.parametrize("shape", [Recipe, Lock, Suite, Benchmarks, Snapshot, Settings], ids=lambda shape: str(getattr(shape, "__name__", shape)))
def test_no_field_of_a_file_is_answered_in_pydantics_words(shape: Any) -> None:
    from stackbuild.core.model import TypeAdapter

    adapter, found = TypeAdapter(shape), set()
    schema = adapter.json_schema()
    paths = sorted({*schema_paths(schema, schema)}, key=str)
    assert len(paths) > 5
    for path in paths:
        for value in WRONG:
            try:
                adapter.validate_python(data_with(path, value))
            except ValidationError as error:
                texts = [first_mistake(error), *(cause_of(each) for each in error.errors(include_url=False))]
                if shape in (Lock, Suite, Settings):
                    texts += [str(each) for each in mistakes_of(error, Places("f"), shape, "").mistakes]
                found |= {text for text in texts if PYDANTIC.search(text)}
    assert not found


COMPONENT_KINDS = ("onnxruntime", "cmake", "script", "wheel", "migraphx", "kernels", "archive", "lc0")


@pytest.mark.parametrize("kind", COMPONENT_KINDS)
def test_no_field_of_a_component_is_answered_in_pydantics_words(kind: str) -> None:
    found = set()
    schema = Recipe.model_json_schema()
    fields = {path for path in schema_paths(schema, schema) if path[:2] == ("components", "x")}
    for path in sorted(fields, key=str):
        for value in WRONG:
            component = data_with(path[2:], value)
            data = {"schema": 1, "components": {"x": {"kind": kind, **component} if isinstance(component, dict) else component}}
            try:
                Recipe.model_validate(data)
            except ValidationError as error:
                found |= {str(each) for each in mistakes(error, Places("f"), "", data) if PYDANTIC.search(f"{each.what} {each.next}")}
    assert not found


def test_a_cause_has_the_bounds_and_the_value() -> None:
    class Bounds(Model):
        """One number and one list."""

        number: int
        items: tuple[int, ...]

    with pytest.raises(ValidationError) as raised:
        Bounds.model_validate({"number": "x", "items": 1})
    assert first_mistake(raised.value) == "`number` must be a whole number, not 'x'"
    assert isinstance(mistakes_of(raised.value, Places("f"), Bounds, "see docs"), RecipeError)
