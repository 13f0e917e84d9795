"""docs/recipes.md as Markdown, out of the schema of recipes. Pure text."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from typing import Any, get_args

from stackbuild.model.components import AnyComponent
from stackbuild.model.recipe import Recipe, recipe_schema

NOTICE = "<!-- Made by `ci/docs` from the code; edit the docstrings and descriptions there. -->\n"


def recipe_reference() -> str:
    """The recipe reference as Markdown: one section a mapping, one row a key."""
    whole = recipe_schema()
    defs: dict[str, Any] = whole["$defs"]
    kinds = {c.__name__ for c in get_args(get_args(AnyComponent)[0])}
    parts = [NOTICE, "# Recipe reference\n", f"{_doc(Recipe)}\n", *_table(whole)]
    parts.append("\nForms of values, paths, variables, CMake entries and examples: [how a recipe is written](recipe-forms.md).")
    parts.append("\nThe same as JSON schema, for editors: `stackbuild recipe schema`.\n")
    for name in sorted(defs, key=lambda n: (n in kinds, n)):
        kind = defs[name].get("properties", {}).get("kind", {}).get("const")
        lead = f"`kind: {kind}` · " if kind else ""
        parts += [f"\n## {name}\n", f"{lead}{_paragraph(defs[name].get('description', ''))}\n", *_table(defs[name])]
    return "\n".join(parts).rstrip() + "\n"


def _doc(model: type) -> str:
    return _paragraph(inspect.getdoc(model) or "")


def _paragraph(text: str) -> str:
    return " ".join(text.split())


def _table(node: dict[str, Any]) -> Iterator[str]:
    rows = node.get("properties", {})
    if not rows:
        return
    yield "| key | type | default | meaning |\n|---|---|---|---|"
    required_keys = set(node.get("required", []))
    for name, value in rows.items():
        default = "required" if name in required_keys else f"`{_spell(value.get('default'))}`" if "default" in value else ""
        yield f"| `{name}` | {_type(value)} | {default} | {_paragraph(value.get('description', '')).replace('|', chr(92) + '|')} |"


def _spell(value: object) -> str:
    return json.dumps(value, ensure_ascii=False).replace("|", "\\|")


def _type(value: dict[str, Any]) -> str:
    if "$ref" in value:
        name = value["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name.lower()})"
    if "const" in value:
        return f"`{value['const']}`"
    if "enum" in value:
        return " or ".join(f"`{v}`" for v in value["enum"])
    for union in ("anyOf", "oneOf"):
        if union in value:
            *first, last = dict.fromkeys(_type(v) for v in value[union] if v.get("type") != "null")
            return f"{', '.join(first)} or {last}" if first else last
    if value.get("type") == "array":
        return f"list of {_type(value['items'])}" if "items" in value else "list"
    if value.get("type") == "object":
        inner = value.get("additionalProperties") or next(iter(value.get("patternProperties", {}).values()), None)
        return f"mapping of names to {_type(inner)}" if isinstance(inner, dict) else "mapping"
    return {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}.get(
        value.get("type", ""), ""
    )
