"""Edits of a recipe, one mistake each: every field × what people write in its place."""

from __future__ import annotations

import copy
import itertools
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import yaml

MARK = "ZZMARKZZ"
VALUES = {
    "no value": "", "empty text": '""', "empty list": "[]", "empty mapping": "{}", "true": "true", "whole number": "3", "negative": "-3",
    "fraction": "3.5", "date": "2026-01-01", "mapping": "{a: b}", "two items": "[one, two]", "text": "'some text here'", "null": "null",
    "large": "99999999999",
}  # fmt: skip
"""What is written for any value, by the name of the edit."""


@dataclass(frozen=True)
class RecipeEdit:
    """One edit: its kind, the path of the field, the text of the whole recipe, and the line that was changed, from 1."""

    kind: str
    path: tuple[str | int, ...]
    text: str
    line: int


def edits_of(text: str, seed: int, nth: int = 1) -> Iterator[RecipeEdit]:
    """Every edit of the recipe with that text, or each nth; misspelt keys and values are drawn by the seed."""
    data, rng = yaml.safe_load(text), random.Random(seed)
    for make, path, kind, raw in itertools.islice(_edits(data, rng), seed % nth, None, nth):
        yield make(data, path, kind, raw)


def _edits(
    data: Any, rng: random.Random
) -> Iterator[tuple[Callable[..., RecipeEdit], tuple[str | int, ...], str, str]]:
    """Each edit as the function that makes it and what it is given."""
    for path, value in _fields(data, ()):
        for kind, raw in VALUES.items():
            yield _edit, path, kind, raw
        if isinstance(value, str):
            words = {
                "capitals": value.upper(), "comma": f"{value},", "blank": f'"{value} "', "quotes": f"""'"{value}"'""",
                "one item": f"[{value!r}]", "misspelt": repr(misspell(value, rng)), "comment": f"{value} // why",
            }  # fmt: skip
            for kind, raw in words.items():
                yield _edit, path, kind, raw
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            yield _edit, path, "repeated", str([*value, value[0]])
            yield _edit, path, "joined", repr(", ".join(value))
        if isinstance(path[-1], str):
            yield _renamed, path, "misspelt key", misspell(path[-1], rng)
            yield _renamed, path, "key in capitals", path[-1].upper()


def misspell(word: str, rng: random.Random) -> str:
    """The word without one letter, with one twice, or with two exchanged."""
    if len(word) < 3:
        return f"{word}x"
    at = rng.randrange(1, len(word) - 1)
    return rng.choice(
        (word[:at] + word[at + 1 :], word[: at + 1] + word[at:], word[:at] + word[at + 1] + word[at] + word[at + 2 :])
    )


def _fields(data: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    rows = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in rows:
        yield (*path, key), value
        yield from _fields(value, (*path, key))


def _at(data: Any, path: tuple[str | int, ...]) -> Any:
    for key in path:
        data = data[key]
    return data


def _edit(data: Any, path: tuple[str | int, ...], kind: str, raw: str) -> RecipeEdit:
    copied = copy.deepcopy(data)
    _at(copied, path[:-1])[path[-1]] = MARK
    return _marked(copied, path, kind, raw)


def _renamed(data: Any, path: tuple[str | int, ...], kind: str, name: str) -> RecipeEdit:
    copied = copy.deepcopy(data)
    mapping = _at(copied, path[:-1])
    rows = [(MARK if key == path[-1] else key, value) for key, value in mapping.items()]
    mapping.clear()
    mapping.update(rows)
    return _marked(copied, path, kind, name)


def _marked(data: Any, path: tuple[str | int, ...], kind: str, raw: str) -> RecipeEdit:
    text = yaml.safe_dump(data, sort_keys=False, width=4000, allow_unicode=True)
    line = text[: text.index(MARK)].count("\n") + 1
    return RecipeEdit(kind, path, re.sub(f"'?{MARK}'?", lambda _: raw, text, count=1), line)
