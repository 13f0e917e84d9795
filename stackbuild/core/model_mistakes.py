"""What is wrong with a value that a model refused, in plain words: pydantic's own are for programmers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stackbuild.core.model import ValidationError

_WORDS = {
    "missing": "is missing",
    "extra_forbidden": "is an unknown key",
    "string_": "must be text",
    "int_": "must be a whole number",
    "float_": "must be a number",
    "finite_number": "must be a finite number",
    "bool_": "must be true or false",
    "tuple_": "must be a list",
    "list_": "must be a list",
    "set_": "must be a list",
    "dict_": "must be a mapping",
    "model_": "must be a mapping",
    "date_": "must be a date such as 2027-01-31",
    "datetime_": "must be a date and a time with its zone, such as 2027-01-31T12:00:00Z",
    "timezone_": "must be a date and a time with its zone, such as 2027-01-31T12:00:00Z",
    "union_tag_not_found": "has no `kind`",
    "union_tag_invalid": "has an unknown `kind`",
    "none_required": "must be left out",
    "json_": "is not JSON",
    "invalid_key": "has a key that is not text",
    "url_": "must be an address",
}
"""Causes by pydantic's kind of error, or by how it begins; the first that fits."""
_BOUNDS = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most", "multiple_of": "a multiple of"}
_OTHER_FORM = "has another form than it should"


def cause_of(detail: Mapping[str, Any]) -> str:
    """The cause behind a value's name: `must be text, not 5`."""
    kind, bounds, value = str(detail["type"]), detail.get("ctx") or {}, detail.get("input")
    if kind in ("value_error", "assertion_error"):
        return f"is wrong: {str(detail['msg']).partition(', ')[2].partition('; ')[0]}"
    if kind in ("too_short", "too_long", "string_too_short", "string_too_long"):
        unit = "character" if kind.startswith("string") else "item"
        is_least = "min_length" in bounds
        count = bounds.get("min_length") if is_least else bounds.get("max_length")
        return f"must have at {'least' if is_least else 'most'} {count} {unit}{'s' * (count != 1)}, not {short(value)}"
    if kind in ("literal_error", "enum"):
        return f"must be {bounds.get('expected', 'one of a few words')}, not {short(value)}"
    if limits := [f"{word} {bounds[key]:g}" for key, word in _BOUNDS.items() if key in bounds]:
        return f"must be {' and '.join(limits)}, not {short(value)}"
    if kind == "string_pattern_mismatch":
        return f"{_OTHER_FORM}: {short(value)}"
    words = _WORDS.get(kind) or next((words for key, words in _WORDS.items() if key.endswith("_") and kind.startswith(key)), _OTHER_FORM)
    return f"{words}, not {short(value)}" if words.startswith("must be") else words


def reason_of(error: Exception) -> str:
    """Why data was refused: the first mistake that a model found, or what another error says."""
    return first_mistake(error) if isinstance(error, ValidationError) else str(error)


def first_mistake(error: ValidationError, root: str = "") -> str:
    """The first mistake that a model found, with its place: `steps.0.key must be text, not 5`. `root` stands before it."""
    detail = error.errors(include_url=False)[0]
    where = ".".join(filter(None, (root, *map(str, detail["loc"]))))
    return f"{f'`{where}`' if where else 'it'} {cause_of(detail)}"


def short(value: object) -> str:
    """A value as a message shows it, at most 60 characters."""
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
