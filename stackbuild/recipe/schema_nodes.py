"""What the schema of recipes has at a place: kinds, keys, patterns and defaults. Places are pydantic's locations. Pure."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, get_args

from stackbuild.core.sizes import SIZE
from stackbuild.model.components import AnyComponent, Component
from stackbuild.model.recipe import recipe_schema


@cache
def components_by_kind() -> dict[str, type[Component]]:
    """The class of each kind of component."""
    return {get_args(c.model_fields["kind"].annotation)[0]: c for c in get_args(get_args(AnyComponent)[0])}


def pattern_at(loc: tuple[int | str, ...]) -> str:
    """The pattern that the schema has at that pydantic location, "" for none."""
    return next((str(each["pattern"]) for each in nodes_at(loc) if "pattern" in each), "")


def default_at(loc: tuple[int | str, ...]) -> str:
    """The default of that pydantic location, where it is a text and no size: the least of sizes is an example of none."""
    value = next((each["default"] for each in nodes_at(loc) if "default" in each), None)
    return value if isinstance(value, str) and not re.fullmatch(SIZE, value) else ""


def nodes_at(loc: tuple[int | str, ...]) -> list[dict[str, Any]]:
    """The schema at that pydantic location, and its alternatives."""
    whole = schema()
    node: dict[str, Any] = whole
    for part in loc:
        node = _step_into(whole, node, part)
    return [node, *node.get("anyOf", [])]


def keys_at(loc: tuple[int | str, ...]) -> list[str]:
    """The keys a mapping at that pydantic location may have, read from the JSON schema."""
    whole = schema()
    node: dict[str, Any] = whole
    for part in loc:
        node = _step_into(whole, node, part)
    return sorted(resolve_node(whole, node).get("properties", {}))


def required_at(loc: tuple[int | str, ...]) -> list[str]:
    """The keys that the mapping at that pydantic location must have."""
    whole = schema()
    node: dict[str, Any] = whole
    for part in loc:
        node = _step_into(whole, node, part)
    return list(resolve_node(whole, node).get("required", []))


def may_hold(loc: tuple[int | str, ...], value: object, by_form: bool = True) -> bool:
    """Whether that value may stand at that pydantic location: by type, and `by_form` by words and pattern too.

    One item may stand for a list, and no value for any.
    """
    return value is None or any(_holds(resolve_node(schema(), node), value, by_form) for node in nodes_at(loc))


def _holds(node: dict[str, Any], value: object, by_form: bool) -> bool:
    words = node.get("enum") or ([node["const"]] if "const" in node else [])
    if words:
        return value in words or (not by_form and isinstance(value, type(words[0])))
    match node.get("type"):
        case "string":
            is_text = isinstance(value, str | int | float) and not isinstance(value, bool)
            return is_text and (not by_form or bool(re.search(str(node.get("pattern", "")), str(value))))
        case "boolean":
            return isinstance(value, bool)
        case "integer" | "number":
            return (isinstance(value, int | float) and not isinstance(value, bool)) or (
                isinstance(value, str) and value[:1].isdigit()
            )
        case "array":
            items = value if isinstance(value, list) else [value]
            whole = schema()
            item = dict(node.get("items", {}))
            return all(
                any(_holds(resolve_node(whole, each), one, by_form) for each in (item.get("anyOf") or [item]))
                for one in items
            )
        case "object":
            keys = node.get("properties", {})
            return isinstance(value, dict) and (not keys or not value or any(key in keys for key in value))
        case _:
            return False


@cache
def boolean_keys() -> set[str]:
    """The keys whose values are true or false, of whatever section."""
    nodes = [schema(), *schema()["$defs"].values()]
    return {key for node in nodes for key, row in node.get("properties", {}).items() if row.get("type") == "boolean"}


@cache
def schema() -> dict[str, Any]:
    """The JSON schema of recipes."""
    return recipe_schema()


def resolve_node(whole: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    """The node that a node of that schema stands for, through its references."""
    for option in node.get("anyOf", []):
        if "$ref" in option:
            node = option
    while "$ref" in node:
        node = whole["$defs"][node["$ref"].rsplit("/", 1)[1]]
    return node


def _step_into(whole: dict[str, Any], node: dict[str, Any], part: int | str) -> dict[str, Any]:
    node = resolve_node(whole, node)
    mapping = node.get("discriminator", {}).get("mapping", {})
    if part in mapping:
        return {"$ref": mapping[part]}
    if isinstance(part, int):
        return dict(node.get("items", {}))
    return dict(node.get("properties", {}).get(part) or node.get("additionalProperties") or _only(node))


def _only(node: dict[str, Any]) -> dict[str, Any]:
    patterns = node.get("patternProperties", {})
    return dict(next(iter(patterns.values()), {}))
