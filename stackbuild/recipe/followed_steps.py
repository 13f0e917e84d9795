"""Next steps that were tried before they are printed: each is done to the recipe's data, and the data is checked again. Pure.

A suggestion is made from the value that stands there, so it may be a mistake of its own: `gfx: [MI250]` for `gfx: MI250`.
Such a step is replaced by the one that ends without a mistake at that place, or by the step that the second mistake has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from stackbuild.core import yaml
from stackbuild.core.digest import Json
from stackbuild.core.errors import Mistake, RecipeError
from stackbuild.core.yaml import KeyPath, Places
from stackbuild.recipe.forms import flow_text

FindMistakes = Callable[[Json, Places], Iterable[Mistake]]
"""What is wrong with a recipe's data."""

MOST_MISTAKES = 12
"""So many mistakes of a recipe have their steps tried: more than a reader sees at once."""
MOST_STEPS = 4
"""So many steps are tried one after the other at one place."""
WIDTH = 120
"""A value longer than this is not printed as the step."""

_TEXT_TO_WRITE = re.compile(
    r"without a key of its own: `([^`]+)`|"
    r"(?:^|[:;,?] )(?:did you mean|write|put)\b[^`;?\[]*?`([^`]+)`|(?:^|[:;] )(?:did you mean|write) ([\"\d][^\s`;?,:]*|gfx[0-9a-f][\w:+-]*)"
    r"|(?:write each as an item of its own|list each version): (\[[^\]]*\])"
)
_PLACEHOLDER = re.compile(r"…|\.\.\.|\b(?:NAME|VERSION|TAG|KIND|VALUE|DIR|FILE|KEY|DIGEST|COMPONENT|PACKAGE)\b")
"""What a reader fills in himself."""
_OPEN = re.compile(r"such as|it as lines|the name of|\bin place of\b|\bbelow\b|each as a component|\band write\b|\band `|, or ")
"""Steps of several parts, and those that show an example or a choice: they are not done word for word."""
_ENTRY = re.compile(r"([\w.-]+):(?: (.*))?", re.DOTALL)


def with_tried_steps(mistakes: Iterable[Mistake], data: Json, places: Places, check: FindMistakes) -> tuple[Mistake, ...]:
    """The mistakes, each with a next step that was tried where it is one that can be done word for word."""
    results = list(mistakes)
    at = _PathsOfPlaces(places)
    for i, mistake in enumerate(results[:MOST_MISTAKES]):
        if place := at.of(mistake):
            results[i] = replace(mistake, next=_step_after_trial(mistake, place, data, check))
    return tuple(results)


@dataclass(frozen=True)
class _RecipePath:
    """A place of a recipe's data: a path, and whether its key or its value is meant."""

    path: KeyPath
    is_key: bool = False


class _PathsOfPlaces:
    """The path of each place of a text."""

    def __init__(self, places: Places) -> None:
        self._name = places.name
        self._at: dict[tuple[int, int], list[_RecipePath]] = {}
        for is_key, of in ((False, places.values), (True, places.keys)):
            for path, at in of.items():
                self._at.setdefault(at, []).append(_RecipePath(path, is_key))

    def of(self, mistake: Mistake) -> _RecipePath | None:
        """Where a mistake is. A mapping begins where its first key does: the words of the mistake say which is meant."""
        _, line, column = mistake.place.rsplit(":", 2)
        if not (line.isdigit() and column.isdigit()):
            return None
        there = self._at.get((int(line), int(column)), [])
        if mistake.what.startswith("unknown key"):
            there = [each for each in there if each.is_key] or there
        by_name = [each for each in there if each.path and f"`{'.'.join(map(str, each.path))}`" in mistake.what]
        keys = [each for each in there if each.is_key and f"`{each.path[-1]}`" in mistake.what]
        quoted_keys = [each for each in there if each.is_key and repr(each.path[-1]) in mistake.what]
        if quoted_keys:
            return quoted_keys[0]
        return next(iter(sorted(by_name, key=lambda each: -len(each.path)) or keys or there), None)


def _places_of(data: Json) -> Places:
    """Places of data that no text has: a line for each path, the key before the value."""
    places = Places("")

    def add(value: Any, path: KeyPath) -> None:
        places.values[path] = (len(places.values) + 1, 2)
        for key, member in _rows(value):
            if isinstance(value, dict):
                places.keys[*path, key] = (len(places.values) + 1, 1)
            add(member, (*path, key))

    add(data, ())
    return places


def _rows(value: Any) -> Iterator[tuple[Any, Any]]:
    yield from value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()


def _step_after_trial(mistake: Mistake, place: _RecipePath, data: Json, check: FindMistakes) -> str:
    """The next step of a mistake after it was tried; as it is where it ends without a mistake, or cannot be tried."""
    step, what, earlier_steps, first, root = mistake.next, mistake.what, {mistake.next}, place, None
    for count in range(MOST_STEPS):
        outcome = _after_step(step, place, data)
        if outcome is None:
            return _both_steps(mistake.next, what, step, first) if count else mistake.next
        data, place = outcome
        places = _places_of(data)
        at = _PathsOfPlaces(places)
        rest = [(each, there) for each in check(data, places) if (there := at.of(each)) and _is_within(there, place, each)]
        rest = [each for each in rest if first.is_key or not re.search(r"` needs `\S+` beside it|is missing", each[0].what)]
        root = place if root is None or place.path[: len(root.path)] != root.path else root
        if not rest:
            return _as_written(mistake.next, root, data) if count else mistake.next
        next_mistake, there = rest[0]
        if "is listed twice" in next_mistake.what and not first.is_key:
            return f"remove it: what it stands for, {_text_at(data, place)}, is listed already"
        if next_mistake.next in earlier_steps or next_mistake.what == what:
            return mistake.next
        earlier_steps.add(next_mistake.next)
        step, what = next_mistake.next, next_mistake.what
        place = there if there.path[: len(place.path)] == place.path else place
    return mistake.next


def _text_at(data: Json, place: _RecipePath) -> str:
    return f"`{flow_text(_value_at(data, place.path))}`"


def _is_within(there: _RecipePath, place: _RecipePath, mistake: Mistake) -> bool:
    """Whether a mistake is at a place, below it, or names it."""
    return there.path[: len(place.path)] == place.path or (
        there.path == place.path[:-1] and f"`{place.path[-1]}`" in mistake.what and "is missing" not in mistake.what
    )


def _both_steps(first: str, what: str, last: str, place: _RecipePath) -> str:
    """The step where the first one leads to one that cannot be done word for word: both for another key, else the last."""
    if not place.is_key and not first.startswith(("did you mean", "write it as a list")):
        return last
    if last.startswith("remove") and (cause := re.sub(r"^`[\w.-]+`: ", "", what)):
        return f"{first} {cause[:1].upper()}{cause[1:]}: {last}"
    return f"{first} Then {last}" if first.endswith("?") else f"{first.rstrip('.')}; then {last}"


def _as_written(first: str, place: _RecipePath, data: Json) -> str:
    """The first step with the value that it ends with."""
    value = _value_at(data, place.path)
    key = next((part for part in reversed(place.path) if isinstance(part, str)), "")
    text = flow_text(value)
    if len(text) > WIDTH:
        return first
    if isinstance(place.path[-1], int):
        return f"write `{text}`"
    return f"write `{key}: {text}`"


def _after_step(step: str, place: _RecipePath, data: Json) -> tuple[Json, _RecipePath] | None:
    """The data after a step was done word for word, and where its value is then; None for a step that cannot be done so."""
    match = None if _OPEN.search(step) else _TEXT_TO_WRITE.search(step)
    text = next(filter(None, match.groups()), "") if match else ""
    if not text or _PLACEHOLDER.search(text) or not place.path or re.match(r"stackbuild |pip |--", text):
        return None
    data = deepcopy(data)
    parent = _value_at(data, place.path[:-1])
    entry = _ENTRY.fullmatch(text)
    if entry and not text.startswith(("http", "ssh")):
        return _with_entry(entry, place, data, parent)
    if place.is_key and isinstance(parent, dict):
        return _with_key(parent, place, text, parent.get(place.path[-1]), data)
    value = _yaml_value(text.removeprefix("- "))
    if value is None:
        return None
    if isinstance(value, list) and isinstance(parent, list):
        at = int(place.path[-1])
        parent[at : at + 1] = value
        return data, _RecipePath(place.path[:-1])
    parent[place.path[-1]] = value
    return data, place


def _with_entry(entry: re.Match[str], place: _RecipePath, data: Any, parent: Any) -> tuple[Json, _RecipePath] | None:
    """The data with `key: value` in place of a key, of its value or of the list that an item is in."""
    key, text = entry[1], entry[2] or ""
    value = _yaml_value(text) if text else None
    if text and value is None:
        return None
    if place.is_key and isinstance(parent, dict):
        return _with_key(parent, place, key, parent.get(place.path[-1]) if value is None else value, data)
    owners = [i for i, part in enumerate(place.path) if part == key and i >= len(place.path) - 2]
    if not owners or value is None:
        return None
    path = place.path[: owners[-1] + 1]
    _value_at(data, path[:-1])[key] = value
    return data, _RecipePath(path)


def _with_key(parent: dict[str, Any], place: _RecipePath, key: str, value: Any, data: Any) -> tuple[Json, _RecipePath] | None:
    """The data with another key in place of one, at its place; None where that key is there already."""
    old = place.path[-1]
    if key in parent and key != old:
        return None
    rows = [(key, value) if name == old else (name, member) for name, member in parent.items()]
    parent.clear()
    parent.update(rows)
    return data, _RecipePath((*place.path[:-1], key), is_key=True)


def _yaml_value(text: str) -> Any:
    """What YAML makes of a text; None for what is not YAML."""
    try:
        return yaml.compose(text, "")[0]
    except RecipeError:
        return None


def _value_at(data: Any, path: KeyPath) -> Any:
    for part in path:
        data = data[part]
    return data
