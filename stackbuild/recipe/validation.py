"""What is wrong with a recipe's data, in words: pydantic's errors as Mistakes with place, cause and next step. Pure."""

from __future__ import annotations

import difflib
from functools import cache
from itertools import islice
from typing import Any, get_args

from stackbuild.core import yaml
from stackbuild.core.errors import Mistake
from stackbuild.core.model import ValidationError
from stackbuild.core.yaml import Places
from stackbuild.model.components import AnyComponent
from stackbuild.model.recipe import recipe_schema

MOST = 100
"""So many mistakes are looked at; a file that has more is no recipe."""


def mistakes(error: ValidationError, places: Places) -> tuple[Mistake, ...]:
    """All the mistakes that pydantic found, in the order of the file."""
    details = (d for d in error.errors(include_url=False) if not (d["type"] == "too_short" and d["input"]))
    made = {_mistake(d, places) for d in islice(details, MOST)}
    return tuple(
        sorted(made, key=lambda m: ([int(n) if n.isdigit() else 0 for n in m.place.rsplit(":", 2)[1:]], m.what))
    )


def _mistake(detail: Any, places: Places) -> Mistake:
    path = _path(detail, places)
    where = ".".join(map(str, path)) or "the recipe"
    match detail["type"]:
        case "extra_forbidden":
            return Mistake(
                places.of_key(path), f"unknown key `{path[-1]}`{_in(path)}", _did_you_mean(detail["loc"], path)
            )
        case "missing":
            return Mistake(
                places.of_value(path[:-1]),
                f"`{path[-1]}` is missing{_in(path)}",
                f"add `{path[-1]}:`; the reference is docs/recipes.md",
            )
        case "too_short":
            return Mistake(places.of_value(path), f"`{where}` is empty", "list at least one, or leave the key out")
        case "union_tag_not_found":
            return Mistake(places.of_value(path), f"`{where}` has no `kind`", f"one of: {', '.join(_kinds())}")
        case "union_tag_invalid":
            tag = str(detail["ctx"]["tag"])
            return Mistake(places.of_value((*path, "kind")), f"unknown kind {tag!r}", close_to(tag, _kinds()))
        case "value_error":
            message = str(detail["ctx"]["error"])
            what, _, hint = message.partition("; ")
            hint = (
                hint or f"see `{next((p for p in reversed(path) if isinstance(p, str)), 'recipe')}` in docs/recipes.md"
            )
            return Mistake(places.of_value(path), f"`{where}`: {what}", hint)
        case "string_pattern_mismatch":
            of = places.of_key if detail["loc"][-1] == "[key]" else places.of_value
            what = f"`{where}` does not have the right form: {short(detail['input'])}"
            return Mistake(of(path), what, f"it must match {detail['ctx']['pattern']}")
        case kind if kind in _WANTED or detail["loc"][-1] in _SCALARS:
            wanted, hint = (
                _ONE_VALUE if detail["loc"][-1] in _SCALARS and path[-1:] != detail["loc"][-1:] else _WANTED[kind]
            )
            return Mistake(places.of_value(path), f"`{where}` must be {wanted}, not {short(detail['input'])}", hint)
        case _:
            said = detail["msg"][:1].lower() + detail["msg"][1:]
            return Mistake(places.of_value(path), f"`{where}`: {said}, not {short(detail['input'])}", _form(detail))


_ONE_VALUE = ("one value: text, a number, true or false", "write it without brackets")
_SCALARS = ("bool", "int", "float", "str")
"""What pydantic's locations end with for each member of `components.Scalar`."""
_WANTED = {
    "string_type": ("text", 'put it in quotes, such as "3.11"'),
    "tuple_type": ("a list", "write it as a list: `[one, two]`, or a line `- one` each"),
    "dict_type": ("a mapping", "write it as lines of `key: value`"),
    "model_type": ("a mapping", "write it as lines of `key: value`"),
    "bool_type": ("true or false", "write `true` or `false`, without quotes"),
    "bool_parsing": ("true or false", "write `true` or `false`, without quotes"),
    "int_type": ("a whole number", "write it without quotes and without a fraction"),
    "int_parsing": ("a whole number", "write it without quotes and without a fraction"),
    "int_from_float": ("a whole number", "write it without quotes and without a fraction"),
}
"""pydantic's kind of error to what a YAML file should have there, and the next step."""


def _path(detail: Any, places: Places) -> yaml.KeyPath:
    """The path in the file: pydantic puts tags of unions into its locations; a file has none."""
    path: tuple[int | str, ...] = ()
    for part in detail["loc"]:
        if (*path, part) in places.values:
            path = (*path, part)
    return (*path, detail["loc"][-1]) if detail["type"] == "missing" else path


def _in(path: yaml.KeyPath) -> str:
    return f" in `{'.'.join(map(str, path[:-1]))}`" if len(path) > 1 else ""


def short(value: object) -> str:
    """A value as a message shows it, at most 60 characters."""
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _form(detail: Any) -> str:
    if detail["type"] == "literal_error":
        return f"one of: {detail['ctx']['expected']}"
    return "the reference is docs/recipes.md"


def _kinds() -> list[str]:

    return [get_args(c.model_fields["kind"].annotation)[0] for c in get_args(get_args(AnyComponent)[0])]


def close_to(word: str, known: list[str]) -> str:
    """The next step for a word that is not known: the nearest known one, or all of them."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"did you mean `{close[0]}`?" if close else f"known are: {', '.join(known)}"


def _did_you_mean(loc: tuple[int | str, ...], path: yaml.KeyPath) -> str:
    return close_to(str(path[-1]), _keys_at(loc[:-1]))


def _keys_at(loc: tuple[int | str, ...]) -> list[str]:
    """The keys a mapping at that pydantic location may have, read from the JSON schema."""
    whole = _schema()
    node: dict[str, Any] = whole
    for part in loc:
        node = _step_into(whole, node, part)
    return sorted(_resolved(whole, node).get("properties", {}))


@cache
def _schema() -> dict[str, Any]:
    return recipe_schema()


def _resolved(whole: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    for option in node.get("anyOf", []):
        if "$ref" in option:
            node = option
    while "$ref" in node:
        node = whole["$defs"][node["$ref"].rsplit("/", 1)[1]]
    return node


def _step_into(whole: dict[str, Any], node: dict[str, Any], part: int | str) -> dict[str, Any]:
    node = _resolved(whole, node)
    mapping = node.get("discriminator", {}).get("mapping", {})
    if part in mapping:
        return {"$ref": mapping[part]}
    if isinstance(part, int):
        return dict(node.get("items", {}))
    return dict(node.get("properties", {}).get(part) or node.get("additionalProperties") or _only(node))


def _only(node: dict[str, Any]) -> dict[str, Any]:
    patterns = node.get("patternProperties", {})
    return dict(next(iter(patterns.values()), {}))
