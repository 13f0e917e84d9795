"""What is wrong with a recipe's data, in words: pydantic's errors as Mistakes with place, cause and next step. Pure."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import shlex
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import Any, get_args

from stackbuild.core import yaml
from stackbuild.core.digest import Json
from stackbuild.core.errors import Mistake
from stackbuild.core.model import ValidationError
from stackbuild.core.model_mistakes import cause_of
from stackbuild.core.sizes import SIZE, size_meant
from stackbuild.core.text_lines import lines_of
from stackbuild.core.yaml import Places
from stackbuild.model.components import SHELL_WORDS, AnyComponent
from stackbuild.model.gates import Gate
from stackbuild.model.recipe import python_meant
from stackbuild.recipe.forms import advice, example_of, is_archive_name, words_of, yaml_text
from stackbuild.recipe.meant_values import (
    in_quotes,
    value_from_recipe,
    value_meant,
    without_names_of_options,
    without_swapped_pins,
)
from stackbuild.recipe.schema_nodes import (
    components_by_kind,
    default_at,
    keys_at,
    may_hold,
    nodes_at,
    pattern_at,
    required_at,
    resolve_node,
    schema,
)
from stackbuild.recipe.unknown_keys import intended_key, next_for_unknown_key
from stackbuild.recipe.value_mistakes import keys_off, null_mistake, nulls, owners_of_keys_off
from stackbuild.tables.debian import DEBIAN_RELEASES
from stackbuild.tables.gpu_limits import emulated_targets
from stackbuild.tables.key_words import choices_of_word, kinds_of_word
from stackbuild.tables.near_words import close_to, nearest
from stackbuild.tables.targets import BUILDABLE

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
        (*_path(d, places)[:-1], near)
        for d in details
        if d["type"] == "extra_forbidden" and (near := intended_key(str(d["loc"][-1]), keys_at(d["loc"][:-1])))
    }
    words = [d for d in details if _is_word_of_command(d) and not _has_lists(d, places)]
    details = [*_split_commands(words), *(d for d in details if d not in words)]
    details = without_names_of_options(without_swapped_pins(details))
    present = {in_quotes(_mistake(d, places, source)) for d in details if d["type"] != "missing"}
    absent = {
        _mistake(d, places, source) for d in details if d["type"] == "missing" and _path(d, places) not in misspelt
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
    details = [d for d in details if not (d["input"] is None and _path(d, places) in owners and d["type"] != "missing")]
    for _, path, owner in misplaced_keys:
        key = path[-1]
        details = [
            d
            for d in details
            if (at := _path(d, places))[: len(path)] != path
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
    paths_with_mistakes = {_path(d, places) for d in details}
    paths = [path for path in nulls(data) if path not in paths_with_mistakes and path not in owners]
    around = {path[:-1]: str(path[-1]) for path in paths}
    details = [
        d
        for d in details
        if not (d["type"] == "value_error" and f"`{around.get(_path(d, places), chr(0))}`" in str(d["ctx"]["error"]))
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
            if (key,) in places.keys or not any(_path(d, places)[:2] == (section, key) for d in details):
                continue
            inside = {*resolve_node(schema(), dict(root[key])).get("properties", {})}
            details = [
                d
                for d in details
                if _path(d, places)[:2] != (section, key)
                and not (d["type"] == "missing" and _path(d, places) == (key,))
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
    wrong = {_path(d, places) for d in details if d["type"] in _NO_ENTRY and d["input"] is not None}
    siblings: dict[yaml.KeyPath, list[yaml.KeyPath]] = {parent: [] for parent in {path[:-1] for path in wrong}}
    for key in places.keys:
        if key[:-1] in siblings:
            siblings[key[:-1]].append(key)
    for path, after in [pair for beside in siblings.values() for pair in itertools.pairwise(beside)]:
        if after not in wrong or path in wrong or not source.is_empty(places.values.get(path, (0, 1))):
            continue
        beside, (line, column) = siblings[path[:-1]], places.keys[path]
        following = [key for key in beside[beside.index(path) + 1 :] if key in wrong]
        details = [d for d in details if _path(d, places) != path and _path(d, places)[: len(path)] not in following]
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
    commands = _path(detail, places)[:-1]
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


@dataclass(frozen=True)
class SourceText:
    """The text of a recipe, to show a value as it was written, `3.10` is the number 3.1, and what it says."""

    text: str
    data: Json = None

    @cached_property
    def rows(self) -> tuple[str, ...]:
        return lines_of(self.text)

    def scalar(self, place: str) -> str:
        """The plain scalar at `file:line:column`; "" where there is none."""
        line, column = (int(part) for part in place.rsplit(":", 2)[1:])
        match = _PLAIN.match(self.rows[line - 1], column - 1) if line <= len(self.rows) else None
        return match[0].strip() if match else ""

    def is_empty(self, at: tuple[int, int]) -> bool:
        """Whether nothing but a comment stands at a line and a column, both from 1."""
        return 0 < at[0] <= len(self.rows) and not self.rows[at[0] - 1][at[1] - 1 :].split("#")[0].strip()


_PLAIN = re.compile(r"[^\s,\[\]{}#'\"]+")


def _mistake(detail: Any, places: Places, source: SourceText) -> Mistake:
    path = _path(detail, places)
    where = ".".join(map(str, path)) or "the recipe"
    if isinstance(detail["input"], dict) and path and path[-1] == "license" and (step := value_meant(path, detail, source.data)):
        return Mistake(places.of_value(path), f"`{where}` is one value, not a mapping", step)
    if step := _step_for_wrapped_value(path, detail, source.data):
        kind = "list" if isinstance(detail["input"], list) else "mapping"
        return Mistake(places.of_value(path), f"`{where}` is one value, not a {kind}", step)
    if parts := _parts_of_item(path, detail):
        what = f"`{where}`: {short(detail['input'])} is several in one item"
        return Mistake(places.of_value(path), what, f"write each as an item of its own: [{', '.join(parts)}]")
    match detail["type"]:
        case "extra_forbidden":
            return Mistake(
                places.of_key(path),
                f"unknown key `{path[-1]}`{_in(path)}",
                next_for_unknown_key(detail, path, source.data),
            )
        case "missing":
            return Mistake(
                places.of_value(path[:-1]),
                f"`{path[-1]}` is missing{_in(path)}",
                f"add `{_example_line(path, detail['loc'], places)}`",
            )
        case "too_short":
            is_required = detail["loc"][-1] in required_at(detail["loc"][:-1])
            example = f"list at least one, such as `{_example_line(path, detail['loc'], places)}`"
            next = example if is_required else "list at least one, or leave the key out"
            return Mistake(places.of_value(path), f"`{where}` is empty", next)
        case "union_tag_not_found":
            tags = ", ".join(_tags(detail))
            alike = (
                [key for key in detail["input"] if intended_key(key, ["kind"])]
                if isinstance(detail["input"], dict)
                else []
            )
            if len(alike) == 1:
                return Mistake(
                    places.of_key((*path, alike[0])), f"unknown key `{alike[0]}` in `{where}`", "did you mean `kind`?"
                )
            kinds = (
                [key for key in detail["input"] if key in _tags(detail)] if isinstance(detail["input"], dict) else []
            )
            if len(kinds) == 1 and (*path, kinds[0]) in places.keys:
                what = f"`{where}` has no `kind`, and a key `{kinds[0]}`"
                step = f"write `kind: {kinds[0]}`, and its keys beside it"
                return Mistake(places.of_key((*path, kinds[0])), what, step)
            if _is_key_of_component(path) and not isinstance(detail["input"], dict):
                return Mistake(
                    places.of_key(path), f"`{path[-1]}` is not a component", _as_tagged(path, detail["input"])
                )
            return Mistake(places.of_value(path), f"`{where}` has no `kind`", f"add `kind: KIND`, one of: {tags}")
        case "union_tag_invalid":
            tag = str(detail["ctx"]["tag"])
            value = detail["input"]["kind"]
            inner = _only_value(value)
            if isinstance(value, list | dict) and inner in _tags(detail):
                what = f"`{where}.kind` is one value, not a {'list' if isinstance(value, list) else 'mapping'}"
                return Mistake(places.of_value((*path, "kind")), what, f"write it without brackets: `kind: {inner}`")
            if not isinstance(value, str):
                what = f"`{where}.kind` must be text, not {short(value)}"
                return Mistake(places.of_value((*path, "kind")), what, f"write one of: {', '.join(_tags(detail))}")
            synonyms = [kind for kind in kinds_of_word(tag) if kind in _tags(detail)]
            step = f"did you mean `{synonyms[0]}`?" if synonyms else close_to(tag, _tags(detail))
            step = step if tag.strip() else f"write one of: {', '.join(_tags(detail))}"
            return Mistake(places.of_value((*path, "kind")), f"unknown kind {tag!r}", step)
        case "split_command":
            what = f"`{where}` is a list of commands, and each of them a list of words"
            return Mistake(places.of_value(path), what, f"write `run: {detail['input']}`")
        case "value_error":
            what, hint = _cause_and_step(str(detail["ctx"]["error"]), detail["input"])
            path = _named_item(path, detail["input"], what)
            if path[:2] == ("verify", "emulate") and (own := _emulated_of_own(source.data)) and "did you mean" not in hint:
                hint = f"write `{own[0]}`: of the recipe's targets, {', '.join(own)} can be"
            if parts := _parts_of(_item_at(detail["input"], path)):
                what = f"{short(_item_at(detail['input'], path))} is several in one item"
                hint = f"write each as an item of its own: [{', '.join(parts)}]"
            if (key := re.match(r"`([\w.]+)`", what)) and (at := (*path, *key[1].split("."))) in places.keys:
                return Mistake(places.of_key(at), f"`{where}`: {what}", hint or _reference(path))
            return Mistake(places.of_value(path), f"`{where}`: {what}", hint or _reference(path))
        case "string_pattern_mismatch":
            of = places.of_key if detail["loc"][-1] == "[key]" else places.of_value
            pattern, value = detail["ctx"]["pattern"], detail["input"]
            what = f"`{where}` cannot be {short(value)}: it {words_of(pattern)}"
            if step := value_from_recipe(path, value, source.data):
                return Mistake(of(path), what, step)
            if step := _name_of_entry(path, str(value), detail, places):
                return Mistake(of(path), what, step)
            return Mistake(of(path), what, _with_example(advice(pattern, value), detail["loc"]))
        case "literal_error" if detail["loc"] == ("schema",):
            return _schema_mistake(places.of_value(path), detail["input"])
        case kind if kind in _EXPECTATIONS or detail["loc"][-1] in _SCALARS:
            expectation, hint = (
                _ONE_VALUE if detail["loc"][-1] in _SCALARS and path[-1:] != detail["loc"][-1:] else _EXPECTATIONS[kind]
            )
            place = places.of_value(path)
            if detail["loc"][-1] in _SCALARS and path[:2] == ("matrix", "variants") and path[-1] == "options":
                hint = f"remove `options:`, and write its lines directly below `{path[-2]}:`"
            hint = value_meant(path, detail, source.data) or _rewrite(kind, path, detail, source.scalar(place), places) or hint
            return Mistake(place, f"`{where}` must be {expectation}, not {short(detail['input'])}", hint)
        case "less_than_equal" | "less_than" if _bound(detail) == 1 and path[-1] == "cosine":
            what = f"`{where}` is a cosine, at most 1, not {detail['input']:g}"
            return Mistake(places.of_value(path), what, "write a number below 1, such as `0.999`")
        case "less_than_equal" | "less_than" if _bound(detail) == 1 and 1 < detail["input"] <= 100:
            limit = "below 1" if detail["type"] == "less_than" else "at most 1"
            share = min(detail["input"], 99) if detail["type"] == "less_than" else detail["input"]
            what = f"`{where}` is a share, {limit}, not {detail['input']:g}"
            return Mistake(places.of_value(path), what, f"write `{share:g}%` or `{share / 100:g}`")
        case "greater_than_equal" | "greater_than" if isinstance(detail["input"], float) and -1 < detail["input"] < 0:
            what = f"`{where}` {cause_of(detail)}"
            sign = source.scalar(places.of_value(path)).endswith("%") or path[-1] in ("delta", "grows_at_most", "nodes")
            step = f"write `{-100 * detail['input']:g}%`, without the minus" if sign else _within(detail["loc"])
            return Mistake(places.of_value(path), what, step)
        case "less_than_equal" | "less_than" | "greater_than_equal" | "greater_than":
            what = f"`{where}` {cause_of(detail)}"
            return Mistake(places.of_value(path), what, _number_meant(path, detail) or _within(detail["loc"]))
        case "string_too_short":
            least = detail["ctx"]["min_length"]
            what = f"`{where}` must have at least {least} character{'s' * (least > 1)}, not {short(detail['input'])}"
            return Mistake(places.of_value(path), what, f"write it out in words: `{path[-1]}: …`")
        case kind if kind.startswith(("date_", "datetime_")):
            what = f"`{where}` must be a date, not {short(detail['input'])}"
            day = _date_meant(detail["input"])
            step = f"write `{path[-1]}: {day}`" if day else "write year, month and day, such as `2027-01-31`"
            return Mistake(places.of_value(path), what, step)
        case "literal_error":
            words = _words(detail)
            what = f"`{where}` must be {' or '.join(filter(None, (', '.join(words[:-1]), words[-1])))}"
            return Mistake(places.of_value(path), f"{what}, not {short(detail['input'])}", _form(detail))
        case _:
            return Mistake(places.of_value(path), f"`{where}` {cause_of(detail)}", _form(detail))


def _name_of_entry(path: yaml.KeyPath, value: str, detail: Any, places: Places) -> str:
    """The next step for a path, an address or nothing where the name of a source or a component stands; "" for other values."""
    key = next((part for part in reversed(path) if isinstance(part, str)), "")
    is_list = "hipify" in path and key == "headers"
    section = "" if is_list else "sources" if key in _SOURCE_KEYS else "components" if key == "needs" else ""
    if not section or (value.strip() and not re.search(r"[/\\:]", value)):
        return ""
    names = [str(each[1]) for each in places.keys if len(each) == 2 and each[0] == section]
    parts = re.split(r"[/\\:@]+", value.strip("/\\ ").removesuffix(".git"))
    near = next((name for part in reversed(parts) if (name := nearest(part, names))), None)
    spelling = f"`{near}`" if isinstance(path[-1], int) else f"`{key}: {near}`"
    example = f"such as {spelling}" if near else f"here {', '.join(names)}" if names else "and define one there"
    how = (
        " A folder or an address is written there, as `path:` or `git:`"
        if section == "sources" and value.strip()
        else ""
    )
    return f"write the name of one of `{section}:`, {example}{'.' if how else ''}{how}"


def _step_for_wrapped_value(path: yaml.KeyPath, detail: Any, data: Json) -> str:
    """What to write where one value stands in brackets, in braces or as an item of a list; "" for anything else."""
    value, kind = detail["input"], detail["type"]
    if not path or isinstance(path[-1], int) or not isinstance(value, list | dict) or len(value) != 1:
        return ""
    scalar = kind.startswith(("string_", "int_", "float_", "bool_", "date_", "datetime_", "literal_")) or (
        kind == "value_error" and repr(value) in str(detail["ctx"]["error"])
    )
    inner = _only_value(value)
    if not scalar or not isinstance(inner, str | int | float) or (isinstance(value, dict) and path[-1] in _SOURCE_KEYS):
        return ""
    if (detail["loc"][-1] in _SCALARS and path[-1:] != detail["loc"][-1:]) or (
        path[-1] == "uses_gfx" and "gfx" in str(inner)
    ):
        return ""
    if (
        kind.startswith("bool_")
        and isinstance(inner, str)
        and inner.lower() not in ("true", "false", "yes", "no", "on", "off")
    ):
        return (
            f"write `{path[-1]}: true`, for all of them"
            if path[-1] == "submodules"
            else "write `true` or `false`, without brackets"
        )
    if path[-1] == "patches" and re.search(r"\.(patch|diff)$", str(inner)):
        folder = re.sub(r"^(?:\./)?(?:patches/)?", "", str(inner)).rpartition("/")[0]
        example = folder if re.search(pattern_at(detail["loc"]), folder) else _folder_of_patches(path, data)
        if not folder and example != "migraphx/2.15.0":
            return f"put it into `patches/{example}/`, and write `patches: {example}`"
        return f"write the folder that has them, `COMPONENT/VERSION` below `patches/`, such as `patches: {example}`"
    text = str(inner).lower() if isinstance(inner, bool) else str(inner)
    text = _item(text) if isinstance(inner, str) else text
    where = "without brackets" if isinstance(value, list) else f"behind `{path[-1]}:`, without a key of its own"
    return f"write it {where}: `{path[-1]}: {text}`"


def _folder_of_patches(path: yaml.KeyPath, data: Any) -> str:
    """The folder that a source's patches have by custom, its name and its version; an example where it has no version."""
    source = data["sources"].get(path[1]) if isinstance(data, dict) and isinstance(data.get("sources"), dict) else None
    ref = str(source.get("ref") or source.get("archive") or "") if isinstance(source, dict) else ""
    version = re.search(r"\d+\.\d+(?:\.\d+)*", ref)
    return f"{path[1]}/{version[0]}" if version else "migraphx/2.15.0"


def _cause_and_step(text: str, value: object) -> tuple[str, str]:
    """Cause and next step of a message, which `; ` separates where it is not part of the value."""
    items = [value, *(value if isinstance(value, list | tuple) else value.values() if isinstance(value, dict) else ())]
    for item in [item for item in items if isinstance(item, str) and "; " in item]:
        text = text.replace(repr(item), repr(item.replace("; ", ";\x01")))
    what, _, hint = text.partition("; ")
    return what.replace("\\x01", " "), hint.replace("\\x01", " ")


def _only_value(value: object) -> object:
    """The value of a list or a mapping with one; any other value as it is."""
    values = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return values[0] if len(values) == 1 and isinstance(values[0], str | int | float) else value


def _parts_of_item(path: yaml.KeyPath, detail: Any) -> list[str]:
    """The parts of an item of a list that is several, such as `gfx90a;gfx942`; none for anything else."""
    is_item = path and isinstance(path[-1], int) and detail["type"] in ("string_pattern_mismatch", "literal_error")
    return _parts_of(detail["input"]) if is_item and "run" not in path else []


def _parts_of(item: object) -> list[str]:
    parts = re.split(r"\s*[;,|]\s*|\s+and\s+", item.strip(" ;,|")) if isinstance(item, str) else []
    parts = [part.strip("'\"") for part in parts]
    return (
        parts if len(parts) > 1 and all(re.fullmatch(r"[A-Za-z0-9_][\w.:+*/@=<>~!-]*", part) for part in parts) else []
    )


def _item_at(value: object, path: yaml.KeyPath) -> object:
    """The item of a list that a path ends at, None where it is not one."""
    last = path[-1] if path else ""
    return value[last] if isinstance(last, int) and isinstance(value, list | tuple) and last < len(value) else None


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def _date_meant(value: object) -> str:
    """`2027-03-31` of `31.03.2027`, `2027/3/31`, `20270331` and `31 March 2027`; "" where day and month may be either."""
    words = re.findall(r"[a-z]+|\d+", str(value).lower())
    if len(words) == 1 and re.fullmatch(r"20\d{6}", words[0]):
        words = [words[0][:4], words[0][4:6], words[0][6:]]
    months = [_MONTHS.index(word[:3]) + 1 for word in words if word[:3] in _MONTHS]
    numbers = [int(re.sub(r"\D", "", word)) for word in words if word.isdigit()]
    if not any(n >= 2000 for n in numbers) and len(words) == 3 and not months and numbers[2:] and 25 < numbers[2] < 60:
        numbers[2] += 2000  # 31/03/27
    years = [n for n in numbers if n >= 2000]
    rest = [n for n in numbers if n < 2000]
    if len(years) != 1 or len(months) + len(rest) != 2:
        return ""
    if not months:
        if numbers[0] == years[0] or rest[1] > 12 or "." in str(value):
            months = [rest[0] if numbers[0] == years[0] or rest[1] > 12 else rest[1]]
            rest.remove(months[0])
        elif rest[0] > 12:
            months = [rest.pop()]
        else:
            return ""
    for day in range(rest[0], rest[0] - 4, -1):  # the month's last day, for the 31st of a shorter one
        if rest[0] <= 31 and 1 <= months[0] <= 12 and day > 0:
            with contextlib.suppress(ValueError):
                return date(years[0], months[0], day).isoformat()
    return ""


def _bound(detail: Any) -> float:
    """The limit that a number does not keep."""
    return float(next(detail["ctx"][key] for key in ("le", "lt", "ge", "gt") if key in detail["ctx"]))


def _emulated_of_own(data: Json) -> list[str]:
    """Those of the recipe's targets that can be emulated."""
    targets = data.get("gfx") if isinstance(data, dict) else None
    return [str(each) for each in targets if each in emulated_targets()] if isinstance(targets, list) else []


def _number_meant(path: yaml.KeyPath, detail: Any) -> str:
    """The next step for a number that is negative where none may be: itself without the sign; "" for another."""
    value, key = detail["input"], path[-1]
    if key == "threads" and value == -1:
        return "write `threads: 0`: ONNX Runtime then chooses the number"
    if value == -1 and may_hold(detail["loc"], 0) and detail["type"] == "greater_than_equal":
        return f"write `{key}: 0`, or leave the key out"
    if not isinstance(value, int | float) or value >= 0 or not may_hold(detail["loc"], -value):
        return ""
    return f"write `{key}: {-value:g}`, without the minus; {_within(detail['loc']).removeprefix('write ')} is right"


def _within(loc: tuple[int | str, ...]) -> str:
    """The next step for a number out of bounds: the bounds that the schema has at that pydantic location."""
    node = next((n for n in nodes_at(loc) if {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"} & {*n}), {})
    least = [f"from {node['minimum']:g}"] if "minimum" in node else []
    least += [f"above {node['exclusiveMinimum']:g}"] if "exclusiveMinimum" in node else []
    most = [f"to {node['maximum']:g}"] if "maximum" in node else []
    most += [f"below {node['exclusiveMaximum']:g}"] if "exclusiveMaximum" in node else []
    whole = "a whole number" if node.get("type") == "integer" else "a number"
    return f"write {whole} {' and '.join(least + most).replace(' and to ', ' to ')}".rstrip()


def _schema_mistake(place: str, value: object) -> Mistake:
    if isinstance(value, int) and value > 1:
        next = "it is for a newer stackbuild: upgrade stackbuild, or write `schema: 1` and the keys of docs/recipes.md"
        return Mistake(place, f"schema {value} is not known: this stackbuild reads schema 1", next)
    return Mistake(place, f"`schema` must be 1, not {short(value)}", "write `schema: 1`")


def _named_item(path: yaml.KeyPath, value: object, what: str) -> yaml.KeyPath:
    """The path of the item that a message about a list names by its value; else the path of the list."""
    items = list(enumerate(value)) if isinstance(value, list | tuple) else []
    items = [*value.items()] if isinstance(value, dict) else items
    at = [
        i
        for i, item in items
        if any(isinstance(word, str) and repr(word) in what for word in (item if isinstance(item, list) else (item,)))
    ]
    return (*path, at[-1]) if at else path


def _reference(path: yaml.KeyPath) -> str:
    return f"see `{next((p for p in reversed(path) if isinstance(p, str)), 'recipe')}` in docs/recipes.md"


def _rewrite(kind: str, path: yaml.KeyPath, detail: Any, text: str, places: Places) -> str:
    """The value as it should have been written, where that is plain; else ""."""
    value, key = detail["input"], next((p for p in reversed(path) if isinstance(p, str)), "")
    if value is None and path and isinstance(path[-1], int):
        return "write the item behind its `-`, or remove the `-`"
    if value is None:
        is_required = bool(path) and path[-1] in required_at(detail["loc"][:-1])
        example = _example_line(path, detail["loc"], places) if is_required else ""
        return f"write a value after `{key}:`, " + (f"such as `{example}`" if example else "or remove the key")
    if kind == "string_type" and isinstance(value, list) and len(value) > 1 and path and isinstance(path[-1], int):
        return f"write each as an item of its own: [{', '.join(map(str, value))}]"[:160]
    if (
        kind in ("string_type", "tuple_type")
        and isinstance(value, dict)
        and len(value) == 1
        and isinstance(path[-1], int)
    ):
        ((name, text),) = value.items()
        if kind == "tuple_type":
            return f"write `- [{', '.join(str(text).split())}]`" if key == "run" and isinstance(text, str) else ""
        if key in ("pip", "requires", "runtime") and re.match(r"[=<>!~]*\s*\d", str(text)):
            return f"write `- {_item(f'{name}{text}' if str(text)[0] in '=<>!~' else f'{name}=={text}')}`"
        is_label = name in _LABELS or name == key.removesuffix("s")
        return f"write `- {_item(str(text if is_label and text else name))}`"
    if kind == "string_type" and isinstance(value, list) and len(value) == 1 and isinstance(path[-1], int):
        return f"write it as one item: `{value[0]}`, with one `- ` or within the brackets"
    if kind == "string_type" and isinstance(value, list) and len(value) == 1 and isinstance(value[0], str | int):
        return f"write it without brackets: `{key}: {_plain(value[0])}`"
    if kind == "string_type" and isinstance(value, list) and len(value) > 1 and pattern_at(detail["loc"]) == SIZE:
        return f"write `{key}: {size_meant(''.join(map(str, value))) or '8G'}`"
    if key == "uses_gfx" and isinstance(value, list):
        return "write the name of the CMake option that takes the targets, such as `uses_gfx: GPU_TARGETS`"
    if kind == "string_type" and isinstance(value, list | dict) and detail["loc"][-1] not in _SCALARS:
        return f"write one text behind `{key}:`, without brackets and braces" + (
            ": the name of one of `sources:`" if key in ("source", "headers") else ""
        )
    if kind.startswith(("int_", "float_", "bool_")) and isinstance(value, list) and len(value) == 1:
        return f"write it without brackets: `{key}: {_plain(value[0])}`"
    if (
        isinstance(value, dict)
        and isinstance(path[-1], int)
        and re.fullmatch(r"[\d.]+", only := str(_only_value(value)))
    ):
        return f"write `- {only}`"
    if kind == "int_from_float" and isinstance(value, float):
        return f"write `{key}: {int(value)}`"
    if kind.startswith("int_") and isinstance(value, str):
        numbers = re.findall(r"(?<![\d.])\d+(?![\d.])", value)
        last = numbers[-1:] if key == "x86_64_level" else numbers
        if key == "threads" and value.strip().lower() in ("all", "auto", "max", "default", "any", "native"):
            return "write `0`: ONNX Runtime then chooses the number"
        return f"write `{last[0]}`" if len(last) == 1 else _within(detail["loc"])
    if (
        kind == "tuple_type"
        and isinstance(value, dict)
        and value
        and key != "gates"
        and not any(isinstance(v, dict | list) for v in value.values())
    ):
        command = next((text for word, text in value.items() if word in ("run", "cmd", "command", "script")), "")
        if key == "run" and isinstance(command, str) and command:
            return _as_list(key, command, is_item=True)
        if key in ("requires", "runtime", "pip"):
            rows = [f"{name}{'' if re.match(r'[=<>!~]', str(v)) else '=='}{v}" if v not in (None, "", "*", True) else name for name, v in value.items()]
            return f"write it as a list: `{key}: [{', '.join(map(json.dumps, rows))}]`"
        return _as_list(key, " ".join(map(str, value)))
    if kind == "string_type" and key in _SOURCE_KEYS and isinstance(value, bool | int | float):
        return f"write the name of one of `sources:`, such as `{_example_line(path, detail['loc'], places)}`"
    if key == "sha256" and isinstance(value, int | float):
        return "write the digest of the file, as `sha256sum FILE` prints it"
    if kind == "string_type" and isinstance(value, bool | int | float):
        pattern = pattern_at(detail["loc"])
        if pattern == SIZE:
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                if value >= 1_000_000:
                    return f"write `{value // 1_000_000}M`: a size has a unit"
                return f"write `{value}{'M' if value >= 128 or key == 'size_budget' else 'G'}`: a size has a unit"
            return f"{advice(pattern, value)}: a size has a unit"
        if path[:1] == ("gfx",) and f"gfx{text}" in BUILDABLE:
            return f"write `gfx{text}`"
        if key == "suite" and path[0] != "bench":
            return f"write the suite's name: {DEBIAN_RELEASES.get(text, 'trixie')}"
        if key == "python" and isinstance(value, int | float) and not isinstance(value, bool):
            return python_meant(text)
        if key in _EXAMPLES and not pattern and not isinstance(path[-1], int):
            return f"write a text, such as `{key}: {_EXAMPLES[key]}`"
        if key == "requires_python":
            return f'write `">={text}"`'
        if pattern and text and (isinstance(value, bool) or not re.search(pattern, text)):
            return _with_example(advice(pattern, text, is_meant=not isinstance(value, bool)), detail["loc"])
        return f'put it in quotes: `"{text}"`' if text else ""
    if key == "pairs" and isinstance(value, int) and not isinstance(value, bool):
        return f"write it as a list: `pairs: [{value}]`"
    if kind == "tuple_type" and isinstance(value, bool | int | float) and not isinstance(path[-1], int):
        example = _example_line(path, detail["loc"], places)
        return f"write it as a list, such as `{example if '[' in example else f'{key}: [gfx1100]'}`"
    if kind == "tuple_type" and isinstance(value, str):
        return _as_list(key, value, is_item=isinstance(path[-1], int))
    if kind == "tuple_type" and key == "gates" and isinstance(value, dict):
        return f"begin each gate with `- `: `- kind: {value.get('kind', 'KIND')}`"
    if kind == "model_attributes_type":
        return _as_tagged(path, value)
    if kind in ("float_type", "float_parsing") and isinstance(value, str):
        if percent := re.fullmatch(r"\s*([\d.]+)\s*%\s*", value):
            return f"write `{key}: {float(percent[1]) / 100:g}`"
        if number := re.search(r"(?<![\w.])\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])", value.replace(",", ".")):
            return f"write `{key}: {number[0]}`"
    if kind in ("float_type", "float_parsing"):
        return _within(detail["loc"])
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        keys = keys_at(detail["loc"])
        line = re.match(r"([A-Za-z_][\w-]*)\s*[ =;]\s*(\S.*)$", value) if isinstance(value, str) else None
        if line and line[1] in keys:
            return f"write `{line[1]}: {line[2][:60]}`"
        if kind == "dict_type" and isinstance(value, list) and value and all(isinstance(each, str) for each in value):
            return (
                _as_mapping(key, value)
                or f"write each name as a key with lines of its own below it, such as `{value[0]}:`"
            )
        if step := _names_as_keys(key, value):
            return step
        lines = f"write it as lines of `key: value`; its keys are {', '.join(keys)}" if keys else ""
        return _as_mapping(key, value) or lines
    return ""


def _plain(value: object) -> str:
    """A value as YAML has it: `false` of False."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _names_as_keys(key: str, value: object) -> str:
    """The next step for entries that stand as items with a name: `- name: lc0`; "" for anything else."""
    rows = value if isinstance(value, list) else []
    for word in ("name", "id", "key"):
        if rows and all(isinstance(row, dict) and isinstance(row.get(word), str) for row in rows):
            return f"write `{rows[0][word]}:` in place of `- {word}: {rows[0][word]}`, with its other keys indented below it"
    if rows and all(isinstance(row, dict) and len(row) == 1 for row in rows):
        first = next(iter(rows[0]))
        return f"remove the `- `: write `{first}:` as a key below `{key}:`"
    return ""


def _as_tagged(path: yaml.KeyPath, value: object) -> str:
    """What to write for a component or a gate that is not a mapping, such as a key that is not indented below its component."""
    kinds = _tags({"loc": path})
    if isinstance(value, str) and value in kinds:
        return f"write `{'- ' if isinstance(path[-1], int) else ''}kind: {value}`"
    if _is_key_of_component(path):
        return f"`{path[-1]}` is a key of a component: indent it as far as the component's `kind:`"
    return f"write it as lines of `key: value`, the first `kind: KIND`, one of: {', '.join(kinds)}"


def _is_key_of_component(path: yaml.KeyPath) -> bool:
    """Whether the name of a component is a key that components have: one that is not indented enough."""
    return path[:1] == ("components",) and any(
        path[-1] in model.model_fields for model in components_by_kind().values()
    )


def _as_list(key: str, value: str, is_item: bool = False) -> str:
    if key == "run":
        try:
            commands = [words for line in re.split(r"\n|&&|;", value) if (words := shlex.split(line))]
        except ValueError:
            return ""
        if shell := next((words[0] for words in commands if words[0] in SHELL_WORDS), ""):
            script = f"[sh, -c, '{' && '.join(filter(None, map(str.strip, value.split(chr(10)))))}']"
            return f"`{shell}` is of the shell, and none runs: write `{script if is_item else f'run: [{script}]'}`"
        if is_item and len(commands) == 1:
            return f"write a list of words: `[{', '.join(commands[0])}]`"
        lists = ", ".join(f"[{', '.join(words)}]" for words in commands)
        return f"write a list of commands, each of them a list of words: `run: [{lists}]`"
    if key in ("python", "gfx") and value.strip().lower() in (
        "all",
        "any",
        "system",
        "auto",
        "native",
        "latest",
        "default",
        "host",
    ):
        return f"list each: `{key}: {_EXAMPLES[key]}`" + (
            " for an RX 7900 XTX; `rocminfo` prints yours" if key == "gfx" else ""
        )
    if key == "emulate" and value.strip().lower() in ("all", "any", "auto", "true", "every", "yes"):
        return "list each of the recipe's `gfx` that is to be: `emulate: [gfx1100]`"
    if value.strip().lower() in ("none", "null", "nil", "empty"):
        return f"write `{key}: []` for none, or leave the key out"
    if key == "pairs" and (counts := re.findall(r"\d+", value)):
        return f"write it as a list: `pairs: [{', '.join(counts)}]`"
    if re.fullmatch(r"\s*(?:-r\s*|@|file:\s*)?[\w./-]+\.(?:txt|in|toml|cfg)\s*", value) and key in ("pip", "requires", "runtime", "packages"):
        return f"list what it has: no file is read here, such as `{key}: {_EXAMPLES.get(key, '[NAME]')}`"
    if key == "python" and (least := re.fullmatch(r"\W*>=?\s*3\.(\d+)\W*", value)):
        return f'list each version: `python: ["3.{least[1]}"]`, and those above it that you want'
    if key != "clang_flags" and re.match(r"-[A-Za-z0-9]", value):
        value = value[1:]  # an item whose `- ` lacks its blank
    if key != "clang_flags":
        value = re.sub(r"(?:^|(?<=\s))[-•–—*·]\s*(?=[\w\"'])", "", value)  # signs of items, with or without their blank
    parts = [bare for part in re.split(r"[\s,;]+", value) if (bare := part.strip("[](){}\"'“”‘’")) and bare not in "-|"]
    if not parts:
        return f"write it as a list: `{key}: [one, two]`"
    if key == "python" and (ends := re.fullmatch(r"3\.(\d+)\s*(?:-|\.\.+|to|–)\s*3\.(\d+)", value.strip())):
        parts = [f"3.{minor}" for minor in range(int(ends[1]), min(int(ends[2]), int(ends[1]) + 9) + 1)]
    return f"write it as a list: `{key}: [{', '.join(json.dumps(p) if key in ('python', 'requires') else _item(p) for p in parts)}]`"


def _item(text: str) -> str:
    """A text as YAML has it in a list: in quotes where it would be read as something else."""
    plain = re.fullmatch(r"[A-Za-z0-9_./][^\[\]{},#\"'`]*", text) and ": " not in text and not text.endswith(":")
    word = re.fullmatch(r"[-+]?[\d.]+(?:e\d+)?|true|false|null|yes|no|on|off|~", text.lower())
    return text if plain and not word else json.dumps(text, ensure_ascii=False)


def _as_mapping(key: str, value: object) -> str:
    if key == "pin" and isinstance(value, list | str):
        return "write the suite that they come from as a key: `pin: {experimental: [NAME]}`"
    if key == "base" and isinstance(value, str):
        if value in DEBIAN_RELEASES.values():
            return (
                f"write `base: {{debian: {{suite: {value}, packages: [cmake, g++]}}}}` with the packages that it needs"
            )
        return f"write `base: {{image: {value}}}`, or `debian:` with a suite and packages"
    if key in _MAIN_KEYS and isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        value = value[0]
    if key == "bench" and isinstance(value, bool):
        return "write the suite, such as `bench: {suite: kernels-quick}` or `bench: {suite: models-quick}`" if value else "remove the key"
    if isinstance(value, bool) and key in ("verify", "hipify", "extend", "matrix"):
        return f"write `{key}: {{}}` for the defaults" if value else "remove the key"
    if isinstance(value, str) and key in _MAIN_KEYS and value.strip():
        first, *others = _MAIN_KEYS[key].split()
        beside = f", with {' and '.join(f'`{other}`' for other in others)} beside it" if others else ""
        return f"write `{first}: {value}` below `{key}:`{beside}"
    if isinstance(value, str) and "://" in value:
        first, other = ("archive", "sha256") if is_archive_name(value) else ("git", "ref")
        return f"write `{first}: {value}` on a line of its own below `{key}:`, and `{other}:` beside it"
    rows = value if isinstance(value, list) else [value]
    if (
        isinstance(value, str)
        and len(words := value.replace("-D ", "-D").split()) > 1
        and all(map(_CACHE_ENTRY.fullmatch, words))
    ):
        rows = list(words)
    pairs = [_CACHE_ENTRY.fullmatch(row) if isinstance(row, str) else None for row in rows]
    if rows and all(pairs):
        return f"write lines of `NAME: VALUE`: `{', '.join(f'{pair[1]}: {pair[2]}' for pair in pairs if pair)}`"
    return ""


_MAIN_KEYS = {
    "bench": "suite", "publish": "index", "waivers": "case reason by until", "hipify": "engine", "verify": "runtime", "debian": "suite packages",
    "extend": "packages",
}  # fmt: skip
"""The key that a text in place of a section most likely is, and those that must be beside it."""
_EXAMPLES = {
    "schema": "1", "summary": "what it builds, in one line", "base": "{debian: {suite: trixie, packages: [cmake, g++]}}",
    "gfx": "[gfx1100]", "components": "{NAME: {kind: KIND, …}}", "packages": "[NAME]", "run": "[[make, install]]",
    "case": '"*"', "reason": "why it may fail", "by": "NAME", "until": "2027-01-31", "versus": "baseline", "at_least": "2",
    "metric": "latency", "provider": "MIGraphXExecutionProvider", "python": '["3.12"]', "runtime": "[onnxruntime, numpy]",
    "areas": "[main]", "side": "candidate", "emulate": "[gfx1100]", "providers": "[migraphx]", "external": '["libamdhip64.so.*"]',
    "headers": "[/usr/include]", "exclude": '["docs/*"]', "include": '["*.cu"]', "requires": "[numpy]", "extract": "[NAME]",
    "pip": "[numpy==2.2.6]", "runpaths": "[/opt/rocm/lib]", "grafts": '["libhipdnn_ep.so"]', "license_files": "[PACKAGE/LICENSE]",
    "rules": "[generic]", "unused_ok": "[NAME]", "from_base": "[json]", "needs": "[NAME]", "cases": '["*"]', "pairs": "[20, 40, 60]",
}  # fmt: skip
"""Values of keys whose pattern, if they have one, says too little."""
_SOURCE_KEYS = ("source", "headers", "tool", "onnxruntime")
"""Keys of components whose value is the name of a source."""
_KEY_EXAMPLES = {"size_budget": "60M", "glibc": "2.28", "suite": "trixie"}
"""Examples of keys whose pattern others have, too."""
_LABELS = (
    "name", "package", "version", "target", "arch", "component", "lib", "library", "soname", "path", "file", "pattern", "glob", "item",
    "value", "id", "gfx", "python", "provider", "module", "folder", "dir", "url", "spec", "requirement", "case", "src", "source",
)  # fmt: skip
"""Keys before the value of an item that other tools have as a mapping: `- name: cmake`."""
_SUITES = {"base": "trixie", "bench": "kernels-quick"}


def _example_line(path: yaml.KeyPath, loc: tuple[int | str, ...], places: Places) -> str:
    """A line that a recipe may have for that key: `version: 1.22.1`, or one with the names that this recipe has."""
    key = str(path[-1])
    section = {"source": "sources", "onnxruntime": "sources", "needs": "components"}.get(key)
    own = path[1] if section == "components" else None
    names = [str(p[1]) for p in places.keys if len(p) == 2 and p[0] == section and p[1] != own]
    if section:
        near = nearest(str(path[1]).removesuffix("-wheel"), names) or next(iter(names), "NAME")
        return f"{key}: [{near}]" if key == "needs" else f"{key}: {near}"
    if key == "suite" and path[0] in _SUITES:
        return f"suite: {_SUITES[str(path[0])]}"
    pattern = pattern_at(loc)
    return f"{key}: {_EXAMPLES.get(key) or default_at(loc) or (example_of(pattern) if pattern else '…')}"


_CACHE_ENTRY = re.compile(r"(?:-D *)?([A-Za-z_]\w*)(?::[A-Z]+)?(?: *= *|:)(?!//)(.*)")
_ONE_VALUE = ("one value: text, a number, true or false", "write it without brackets")
_SCALARS = ("bool", "int", "float", "str")
"""What pydantic's locations end with for each member of `components.Scalar`."""
_EXPECTATIONS = {
    "string_type": ("text", 'put it in quotes, such as "3.11"'),
    "tuple_type": ("a list", "write it as a list: `[one, two]`, or a line `- one` each"),
    "dict_type": ("a mapping", "write it as lines of `key: value`"),
    "model_attributes_type": ("a mapping", "write it as lines of `key: value`"),
    "model_type": ("a mapping", "write it as lines of `key: value`"),
    "bool_type": ("true or false", "write `true` or `false`, without quotes"),
    "bool_parsing": ("true or false", "write `true` or `false`, without quotes"),
    "int_type": ("a whole number", "write it without quotes and without a fraction"),
    "int_parsing": ("a whole number", "write it without quotes and without a fraction"),
    "float_type": ("a number", "write a number, without quotes and units"),
    "float_parsing": ("a number", "write a number, without quotes and units"),
    "int_from_float": ("a whole number", "write it without quotes and without a fraction"),
}
"""pydantic's kind of error to what a YAML file should have there, and the next step."""


def _path(detail: Any, places: Places) -> yaml.KeyPath:
    """The path in the file: pydantic puts tags of unions into its locations; a file has none."""
    path: tuple[int | str, ...] = ()
    for index, part in enumerate(detail["loc"]):
        is_tag = index == 2 and detail["loc"][0] in ("components", "gates") and len(detail["loc"]) > 2
        if (*path, part) in places.values and not is_tag:
            path = (*path, part)
    return (*path, detail["loc"][-1]) if detail["type"] == "missing" else path


def _in(path: yaml.KeyPath) -> str:
    return f" in `{'.'.join(map(str, path[:-1]))}`" if len(path) > 1 else ""


def short(value: object) -> str:
    """A value as a message shows it, at most 60 characters."""
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _form(detail: Any) -> str:
    """The next step for a value that is not one of a few words, or out of bounds."""
    if detail["type"] == "literal_error":
        words = _words(detail)
        is_python = words == ["none", "cpython"] and re.match(r"(?:cp|py)?3|abi3|true|c", str(detail["input"]).lower())
        near = "cpython" if is_python else nearest(str(detail["input"]), words)
        suggestion = near or next((w for w in words if w and str(detail["input"]).lower().startswith(w)), "")
        suggestion = suggestion or next((w for w in choices_of_word(str(detail["input"])) if w in words), "")
        choices = f"one of: {', '.join(f'`{word}`' for word in words)}"
        if words == ["migraphx", "rocm"]:
            if re.match(r"(?i)cpu", str(detail["input"])):
                return "remove it: the CPU provider is always built; `migraphx` is AMD's"
            if re.match(r"(?i)cuda|tensorrt|trt|nv|openvino|directml|dml|gpu|hip", str(detail["input"])):
                return "write `migraphx`, the provider for AMD's GPUs"
        return f"did you mean `{suggestion}`? It is {choices}" if suggestion else f"write {choices}"
    return "the reference is docs/recipes.md"


def _words(detail: Any) -> list[str]:
    """The words that a literal may be."""
    return re.findall(r"'([^']*)'", detail["ctx"]["expected"]) or [str(detail["ctx"]["expected"])]


def _tags(detail: Any) -> list[str]:
    """The kinds that the union at that place has: of components, or of gates."""
    union = Gate if detail["loc"][:1] == ("gates",) else AnyComponent
    return [get_args(c.model_fields["kind"].annotation)[0] for c in get_args(get_args(union)[0])]


def _with_example(step: str, loc: tuple[int | str, ...]) -> str:
    """That next step with the key's own default as the example, where it names one and the schema has one."""
    default = default_at(loc) or _KEY_EXAMPLES.get(str(loc[-1] if loc else ""), "")
    return f"write it such as `{yaml_text(str(default))}`" if step.startswith("write it such as") and default else step
