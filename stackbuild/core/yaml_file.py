"""YAML files as values of a model, with the place of every mistake."""

from __future__ import annotations

import difflib
import re
from functools import cache
from pathlib import Path
from typing import TypeVar, cast

from stackbuild.core import yaml
from stackbuild.core.errors import Mistake, RecipeError, UsageError
from stackbuild.core.model import Model, ValidationError
from stackbuild.core.model_mistakes import cause_of
from stackbuild.core.plain_file import read_bounded

ModelT = TypeVar("ModelT", bound=Model)


def read_yaml(path: Path, shape: type[ModelT], help: str) -> ModelT:
    """A YAML file as that model. `help` is the next step of a mistake that names none itself.

    RecipeError names file, line and column of each mistake; UsageError where the file cannot be read.
    """
    return read_placed(path, shape, help)[0]


def read_placed(path: Path, shape: type[ModelT], help: str) -> tuple[ModelT, yaml.Places, str]:
    """The same with the places of its values, and the text. Raises the same."""
    try:
        text = read_bounded(path, yaml.MAX_BYTES).decode("utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(
            f"cannot read it: {error}", where=str(path), next="check the path and its permissions"
        ) from None
    data, places = yaml.compose(text, str(path))
    if isinstance(data, dict) and {"schema", "base", "components"} <= {*data}:
        raise RecipeError(
            (
                Mistake(
                    f"{path}:1:1",
                    "it is a recipe, and another file is read here",
                    f"name the recipe with `--recipe`; {help}",
                ),
            )
        )
    try:
        return shape.model_validate(data), places, text
    except ValidationError as error:
        raise mistakes_of(error, places, shape, help) from None


def mistakes_of(error: ValidationError, places: yaml.Places, shape: type[Model], help: str) -> RecipeError:
    """The mistakes of a file's values, each with its place; `help` is the next step of one that names none itself."""
    every = error.errors(include_url=False)
    details = [each for each in every if not (each["type"] == "too_short" and each["input"])] or every
    return RecipeError(tuple(_mistake(dict(each), places, shape, help) for each in details))


def _mistake(detail: dict[str, object], places: yaml.Places, shape: type[Model], help: str) -> Mistake:
    loc = detail["loc"]
    path = tuple(part for part in loc if isinstance(part, str | int)) if isinstance(loc, tuple) else ()
    key_path = tuple(p for n, p in enumerate(path) if (*path[:n], p) in places.values or n == len(path) - 1)
    what, step = _in_words(detail, path, shape)
    where = ".".join(map(str, key_path))
    place = places.of_key(key_path) if detail["type"] in ("extra_forbidden", "missing") else places.of_value(key_path)
    return Mistake(place, f"`{where}` {what}" if where else f"the file {what}", f"{step}; {help}" if step else help)


def _in_words(detail: dict[str, object], path: tuple[str | int, ...], shape: type[Model]) -> tuple[str, str]:
    """What is wrong at a place, behind its name, and the next step; "" for a step that is not known."""
    keys = _keys_at(
        shape, path if detail["type"] in ("model_type", "dict_type", "model_attributes_type") else path[:-1]
    )
    value, reason = detail.get("input"), str(detail["msg"])
    match detail["type"]:
        case "missing":
            choices = _choices_at(shape, path)
            return (
                "is missing",
                f"add `{path[-1]}: {choices[0] if choices else '…'}`"
                + f", one of: {', '.join(choices)}" * bool(choices),
            )
        case "extra_forbidden":
            near = difflib.get_close_matches(str(path[-1]), keys, n=1)
            known_keys = f"known are: {', '.join(keys)}"
            return (
                "is an unknown key",
                f"did you mean `{near[0]}`?" if near else f"remove it: {known_keys}",
            )
        case "model_type" | "dict_type" | "model_attributes_type":
            first = next(iter(cast(list[str], _node_at(shape, path).get("required", []))), "".join(keys[:1]))
            kind = "a list" if isinstance(value, list) else "nothing" if value is None else repr(value)[:60]
            return f"must be a mapping, not {kind}", f"begin with `{first}:`, and the rest below it" if keys else ""
        case "tuple_type" | "list_type":
            return f"must be a list, not {repr(value)[:60]}", f"write `[{_items(value)}]`" if isinstance(
                value, str | int | float
            ) else ""
        case "too_short" | "too_long":
            bounds = cast(dict[str, object], detail["ctx"])
            least = bounds.get("min_length")
            bound = f"at least {least}" if least is not None else f"at most {bounds.get('max_length')}"
            count = f"has {bounds.get('actual_length')}" if value else "is empty"
            return f"{count}: it must have {bound}", "list one, or remove the key" if not value else ""
        case "string_too_short" | "string_too_long":
            bounds = cast(dict[str, object], detail["ctx"])
            least = bounds.get("min_length")
            bound = f"at least {least}" if least is not None else f"at most {bounds.get('max_length')}"
            return f"must have {bound} characters, not {repr(value)[:60]}", ""
        case "string_type":
            return f"must be text, not {repr(value)[:60]}", "put it into quotes"
        case "literal_error" | "union_tag_invalid":
            words = str(
                cast(dict[str, object], detail["ctx"]).get("expected")
                or cast(dict[str, object], detail["ctx"]).get("expected_tags")
            )
            return f"cannot be {repr(value)[:60]}", f"write one of: {words}"
        case "union_tag_not_found":
            return "has no `kind`", f"add `kind: …`, one of: {_tags_of(detail)}"
        case "value_error":
            what, _, hint = reason.removeprefix("Value error, ").partition("; ")
            return f"is wrong: {what}", hint
        case _:
            return cause_of(detail), ""


def _items(value: str | int | float) -> str:
    """The items of a list that stands as one text: `1, 3, 640, 640` of `1x3x640x640`."""
    is_shape = re.fullmatch(r"\s*\d+(?:\s*[x×,;*]\s*\d+)+\s*", str(value))
    return ", ".join(re.findall(r"\d+", str(value))) if is_shape else str(value)


def _tags_of(detail: dict[str, object]) -> str:
    return str(cast(dict[str, object], detail.get("ctx") or {}).get("expected_tags", "the kinds of the reference"))


def _keys_at(shape: type[Model], path: tuple[str | int, ...]) -> list[str]:
    """The keys of the mapping at a path of pydantic's, by the model's own schema; none where several shapes are possible."""
    return [*cast(dict[str, object], _node_at(shape, path).get("properties", {}))]


def _choices_at(shape: type[Model], path: tuple[str | int, ...]) -> list[str]:
    """The words that the value at a path may be; none where it may be any."""
    return [str(word) for word in cast(list[object], _node_at(shape, path).get("enum", []))]


@cache
def _schema_of(shape: type[Model]) -> dict[str, object]:
    return shape.model_json_schema()


def _node_at(shape: type[Model], path: tuple[str | int, ...]) -> dict[str, object]:
    schema = _schema_of(shape)
    node = schema
    for part in path:
        properties = cast(dict[str, object], node.get("properties", {}))
        inner = node.get("items") if isinstance(part, int) else properties.get(part, node.get("additionalProperties"))
        node = _follow_reference(inner, schema)
    return node


def _follow_reference(node: object, schema: dict[str, object]) -> dict[str, object]:
    """The node that a reference names, or the node itself; empty for what is not a mapping."""
    reference = node.get("$ref") if isinstance(node, dict) else None
    node = cast(dict[str, object], schema["$defs"])[str(reference).rpartition("/")[2]] if reference else node
    return node if isinstance(node, dict) else {}
