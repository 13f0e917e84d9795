"""What is wrong with a recipe's data, in words: pydantic's errors as Mistakes with place, cause and next step. Pure."""

from __future__ import annotations

import itertools
import re
import shlex
from dataclasses import replace
from typing import Any

from stackbuild.core import yaml
from stackbuild.core.digest import Json
from stackbuild.core.errors import Mistake
from stackbuild.core.model import ValidationError
from stackbuild.core.yaml import Places
from stackbuild.recipe.field_mistakes import SourceText, mistake_of, path_of
from stackbuild.recipe.meant_values import in_quotes, without_names_of_options, without_swapped_pins
from stackbuild.recipe.schema_nodes import keys_at, resolve_node, schema
from stackbuild.recipe.unknown_keys import intended_key
from stackbuild.recipe.value_mistakes import keys_off, null_mistake, nulls, owners_of_keys_off

MOST = 100
"""So many mistakes are looked at; a file that has more is not a recipe."""


def mistakes(error: ValidationError, places: Places, text: str, data: Json) -> tuple[Mistake, ...]:
    """All the mistakes that pydantic found, in the order of the file; keys that are missing come last.

    A key that is missing since its name is misspelt is reported once, at the misspelt one. So are the words of a command
    that was not written as a list.
    """
    details = [d for d in error.errors(include_url=False) if not (d["type"] == "too_short" and d["input"])][:MOST]
    details, whole = _misplaced_sections(details, places)
    details, without_level = _levels_left_out(details, places, data)
    whole += without_level
    details, off = _keys_off(details, places, data)
    details, without_value = _nulls(details, places, data, owners_of_keys_off(data, places))
    source = SourceText(text, data)
    details, empty = _empty_headers(details, places, source)
    misspelt = {
        (*path_of(d, places)[:-1], near)
        for d in details
        if d["type"] == "extra_forbidden" and (near := intended_key(str(d["loc"][-1]), keys_at(d["loc"][:-1])))
    }
    words = [d for d in details if _is_word_of_command(d) and not _has_lists(d, places)]
    details = [*_split_commands(words), *(d for d in details if d not in words)]
    details = without_names_of_options(without_swapped_pins(details))
    present = {in_quotes(mistake_of(d, places, source)) for d in details if d["type"] != "missing"}
    absent = {
        mistake_of(d, places, source) for d in details if d["type"] == "missing" and path_of(d, places) not in misspelt
    }
    absent = {mistake for mistake in absent if not any(_is_answered(mistake, each) for each in present)}
    lines = {mistake.place.rsplit(":", 1)[0] for mistake in (*whole, *empty, *off, *present)}
    present |= {mistake for mistake in without_value if mistake.place.rsplit(":", 1)[0] not in lines}
    return (*_in_file_order({*_one_each(present), *whole, *empty, *off}), *_in_file_order(absent))


def _is_answered(absent: Mistake, mistake: Mistake) -> bool:
    """Whether the next step of an unknown key is the key that is missing in the same mapping."""
    key = re.search(r"(?:did you mean|write) `([\w-]+)(?:`|:)", mistake.next)
    other = re.fullmatch(r"unknown key `.*?`( in `.*`)?", mistake.what)
    return key is not None and other is not None and absent.what == f"`{key[1]}` is missing{other[1] or ''}"


def _keys_off(details: list[Any], places: Places, data: Json) -> tuple[list[Any], list[Mistake]]:
    """Keys that stand a level too high or too deep, one mistake each, and the details that are not their consequences."""
    misplaced_keys = list(keys_off(data, places))
    owners = {owner for _, _, owner in misplaced_keys}
    details = [d for d in details if not (d["input"] is None and path_of(d, places) in owners and d["type"] != "missing")]
    for _, path, owner in misplaced_keys:
        key = path[-1]
        details = [
            d
            for d in details
            if (at := path_of(d, places))[: len(path)] != path
            and not (d["type"] == "missing" and at == (*owner, key))
            and not (at == owner and (d["type"] in ("value_error", "union_tag_not_found")))
        ]
    return details, _first_of_each_owner(misplaced_keys)


def _first_of_each_owner(misplaced_keys: list[tuple[Mistake, yaml.KeyPath, yaml.KeyPath]]) -> list[Mistake]:
    """One mistake for the keys that are off in the same way: the first of them, whose next step counts the others."""
    firsts: dict[yaml.KeyPath, Mistake] = {}
    others: dict[yaml.KeyPath, list[str]] = {}
    for mistake, path, owner in misplaced_keys:
        if path[:-1] == owner[:-1] and owner in firsts:
            others.setdefault(owner, []).append(f"`{path[-1]}`")
        else:
            firsts[owner if path[:-1] == owner[:-1] else path] = mistake
    return [
        replace(mistake, next=f"{mistake.next}, and so {', '.join(others[owner])}") if owner in others else mistake
        for owner, mistake in firsts.items()
    ]


def _nulls(
    details: list[Any], places: Places, data: Json, owners: set[yaml.KeyPath]
) -> tuple[list[Any], list[Mistake]]:
    """Keys without a value that only something around them complains of, and the details without those complaints."""
    paths_with_mistakes = {path_of(d, places) for d in details}
    paths = [path for path in nulls(data) if path not in paths_with_mistakes and path not in owners]
    around = {path[:-1]: str(path[-1]) for path in paths}
    details = [
        d
        for d in details
        if not (d["type"] == "value_error" and f"`{around.get(path_of(d, places), chr(0))}`" in str(d["ctx"]["error"]))
    ]
    return details, [null_mistake(path, places) for path in paths]


def _one_each(unique: set[Mistake]) -> set[Mistake]:
    """Of mistakes that say the same of one place, the one with the longest next step."""
    best: dict[tuple[str, str], Mistake] = {}
    for mistake in unique:
        other = best.get((mistake.place, mistake.what))
        if other is None or len(mistake.next) > len(other.next):
            best[mistake.place, mistake.what] = mistake
    return {*best.values()}


def _misplaced_sections(details: list[Any], places: Places) -> tuple[list[Any], list[Mistake]]:
    """Sections of the recipe that are indented into `components` or `sources`: one mistake each, and the other details."""
    mistakes = []
    root = schema()["properties"]
    for section in ("components", "sources", "base", "verify"):
        for key in [path[1] for path in places.keys if len(path) == 2 and path[0] == section and path[1] in _SECTIONS]:
            if (key,) in places.keys or not any(path_of(d, places)[:2] == (section, key) for d in details):
                continue
            inside = {*resolve_node(schema(), dict(root[key])).get("properties", {})}
            details = [
                d
                for d in details
                if path_of(d, places)[:2] != (section, key)
                and not (d["type"] == "missing" and path_of(d, places) == (key,))
                and not (len(d["loc"]) > 1 and d["loc"][0] == section and d["loc"][1] in inside)
            ]
            what = f"`{key}` is a key of the recipe itself, and stands in `{section}`"
            mistakes.append(
                Mistake(places.of_key((section, key)), what, f"write `{key}:` without indentation, its lines by 2")
            )
    return details, mistakes


def _levels_left_out(details: list[Any], places: Places, data: Json) -> tuple[list[Any], list[Mistake]]:
    """Keys of `base.debian` or `base.extend` that stand in `base`: one mistake for all of them, and the other details."""
    base = data.get("base") if isinstance(data, dict) else None
    if not isinstance(base, dict):
        return details, []
    section = "extend" if "image" in base or {*base} & {"cmake", "ninja", "pip"} - {"debian"} else "debian"
    inside = keys_at(("base", section))
    keys = [d["loc"][1] for d in details if d["type"] == "extra_forbidden" and d["loc"][:1] == ("base",) and d["loc"][1] in inside]
    if not keys or (section == "debian" and not {"suite", "packages"} & {*keys}):
        return details, []
    there = section in base
    names = " and ".join(filter(None, (", ".join(f"`{key}`" for key in keys[:-1]), f"`{keys[-1]}`")))
    what = f"{names} {'are keys' if len(keys) > 1 else 'is a key'} of `base.{section}`, and stand{'s' * (len(keys) == 1)} in `base`"
    them = "them" if len(keys) > 1 else "it"
    step = f"indent {them} below `{section}:`" if there else f"write `{section}:` below `base:`, and indent {them} below it, by 2 more"
    details = [
        d
        for d in details
        if not (d["loc"][:1] == ("base",) and ((d["loc"][1:2] and d["loc"][1] in keys) or d["loc"] == ("base",) or d["type"] == "missing"))
    ]
    return details, [Mistake(places.of_key(("base", keys[0])), what, step)]


_SECTIONS = ("base", "components", "sources", "verify", "bench", "publish", "matrix", "gates", "gfx", "python")


def _empty_headers(details: list[Any], places: Places, source: SourceText) -> tuple[list[Any], list[Mistake]]:
    """Keys without a value before keys that are not of their mapping: lines that are not indented, one mistake a key."""
    mistakes = []
    wrong = {path_of(d, places) for d in details if d["type"] in _NO_ENTRY and d["input"] is not None}
    siblings: dict[yaml.KeyPath, list[yaml.KeyPath]] = {parent: [] for parent in {path[:-1] for path in wrong}}
    for key in places.keys:
        if key[:-1] in siblings:
            siblings[key[:-1]].append(key)
    for path, after in [pair for beside in siblings.values() for pair in itertools.pairwise(beside)]:
        if after not in wrong or path in wrong or not source.is_empty(places.values.get(path, (0, 1))):
            continue
        beside, (line, column) = siblings[path[:-1]], places.keys[path]
        following = [key for key in beside[beside.index(path) + 1 :] if key in wrong]
        details = [d for d in details if path_of(d, places) != path and path_of(d, places)[: len(path)] not in following]
        names = " and ".join(f"`{key[-1]}`" for key in following[:2]) + (
            " and what follows" if len(following) > 2 else ""
        )
        what = f"`{path[-1]}:` has nothing below it: the lines after it are not indented"
        mistakes.append(Mistake(f"{places.name}:{line}:{column}", what, f"indent {names} by {column + 1} spaces"))
    return details, mistakes


_NO_ENTRY = ("extra_forbidden", "model_attributes_type", "model_type", "union_tag_not_found")


def _in_file_order(unique: set[Mistake]) -> list[Mistake]:
    return sorted(unique, key=lambda m: ([int(n) if n.isdigit() else 0 for n in m.place.rsplit(":", 2)[1:]], m.what))


def _is_word_of_command(detail: Any) -> bool:
    """Whether a text stands where a script's command is to be: `run: [make, install]`."""
    return detail["type"] == "tuple_type" and detail["loc"][-2:-1] == ("run",) and isinstance(detail["input"], str)


def _has_lists(detail: Any, places: Places) -> bool:
    """Whether other commands beside that text are lists, as they should be."""
    commands = path_of(detail, places)[:-1]
    return any(path[:-2] == commands and len(path) == len(commands) + 2 for path in places.values)


def _split_commands(details: list[Any]) -> list[Any]:
    """One detail for each `run` whose commands are texts: its `input` is what to write instead."""
    texts: dict[tuple[int | str, ...], list[str]] = {}
    for detail in details:
        texts.setdefault(detail["loc"][:-1], []).append(detail["input"])
    return [{"type": "split_command", "loc": loc, "input": _as_commands(words)} for loc, words in texts.items()]


def _as_commands(texts: list[str]) -> str:
    """`[[make, install]]` of `make`, `install`; `[[make, -j4], [make, install]]` of `make -j4`, `make install`."""
    texts = [part for text in texts for part in re.split(r"\s*(?:&&|;)\s*|\n", text) if part]
    try:
        commands = [shlex.split(text) for text in texts]
    except ValueError:
        commands = [[text] for text in texts]
    if all(len(words) == 1 for words in commands):
        commands = [[words[0] for words in commands]]
    return f"[{', '.join(f'[{chr(44).join(words)}]'.replace(',', ', ') for words in commands)}]"
