"""One error of pydantic about a recipe as a Mistake: place, cause and next step, in words. Pure."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any

from stackbuild.core import yaml
from stackbuild.core.digest import Json
from stackbuild.core.errors import Mistake
from stackbuild.core.model_mistakes import cause_of, short
from stackbuild.core.text_lines import lines_of
from stackbuild.core.yaml import Places
from stackbuild.recipe.forms import advice, flow_text, words_of
from stackbuild.recipe.meant_values import value_from_recipe, value_meant
from stackbuild.recipe.rewritten_values import (
    SCALARS,
    SOURCE_KEYS,
    WrongValue,
    as_tagged,
    example_line,
    is_key_of_component,
    only_value,
    rewritten_value,
    step_within_bounds,
    tags_at,
    with_example,
)
from stackbuild.recipe.schema_nodes import may_hold, pattern_at, required_at
from stackbuild.recipe.unknown_keys import intended_key, next_for_unknown_key
from stackbuild.tables.gpu_limits import emulated_targets
from stackbuild.tables.key_words import choices_of_word, kinds_of_word
from stackbuild.tables.near_words import close_to, nearest


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


@dataclass(frozen=True)
class _FieldError:
    """pydantic's error about a recipe, with what its words need."""

    detail: Any
    path: yaml.KeyPath
    places: Places
    source: SourceText

    @property
    def value(self) -> Any:
        return self.detail["input"]

    @property
    def where(self) -> str:
        return ".".join(map(str, self.path)) or "the recipe"

    def at_value(self, what: str, step: str) -> Mistake:
        return Mistake(self.places.of_value(self.path), what, step)


def mistake_of(detail: Any, places: Places, source: SourceText) -> Mistake:
    """The mistake that an error of pydantic is. `source` is the recipe's text."""
    error = _FieldError(detail, path_of(detail, places), places, source)
    return _of_brackets(error) or _words_by_type(error)(error)


def _of_brackets(error: _FieldError) -> Mistake | None:
    """The mistake where one value stands in brackets, or several values stand in one item."""
    kind, data, step = "list" if isinstance(error.value, list) else "mapping", error.source.data, ""
    if isinstance(error.value, dict) and error.path[-1:] == ("license",):
        step = value_meant(error.path, error.detail, data)
    if step := step or _step_for_wrapped_value(error.path, error.detail, data):
        return error.at_value(f"`{error.where}` is one value, not a {kind}", step)
    if parts := _parts_of_item(error.path, error.detail):
        what = f"`{error.where}`: {short(error.value)} is several in one item"
        return error.at_value(what, f"write each as an item of its own: [{', '.join(parts)}]")
    return None


def _words_by_type(error: _FieldError) -> Callable[[_FieldError], Mistake]:
    """The function that words an error, by pydantic's type of it."""
    kind, loc = str(error.detail["type"]), error.detail["loc"]
    if kind == "literal_error" and loc == ("schema",):
        return _schema
    if kind in _EXPECTATIONS or (kind not in _WORDS_OF_STRUCTURE and loc[-1] in SCALARS):
        return _other_type
    if words := _WORDS_OF_STRUCTURE.get(kind) or _WORDS_OF_VALUES.get(kind):
        return words
    return _no_date if kind.startswith(("date_", "datetime_")) else _any_other


def _unknown_key(error: _FieldError) -> Mistake:
    what = f"unknown key `{error.path[-1]}`{_in(error.path)}"
    step = next_for_unknown_key(error.detail, error.path, error.source.data)
    return Mistake(error.places.of_key(error.path), what, step)


def _missing(error: _FieldError) -> Mistake:
    step = f"add `{example_line(error.path, error.detail['loc'], error.places)}`"
    return Mistake(error.places.of_value(error.path[:-1]), f"`{error.path[-1]}` is missing{_in(error.path)}", step)


def _too_few(error: _FieldError) -> Mistake:
    loc = error.detail["loc"]
    is_required = loc[-1] in required_at(loc[:-1])
    example = f"list at least one, such as `{example_line(error.path, loc, error.places)}`"
    return error.at_value(
        f"`{error.where}` is empty", example if is_required else "list at least one, or leave the key out"
    )


def _no_kind(error: _FieldError) -> Mistake:
    """A component, a gate or a suite without `kind`."""
    path, places, kinds = error.path, error.places, tags_at(error.detail)
    keys = list(error.value) if isinstance(error.value, dict) else []
    alike = [key for key in keys if intended_key(key, ["kind"])]
    if len(alike) == 1:
        what = f"unknown key `{alike[0]}` in `{error.where}`"
        return Mistake(places.of_key((*path, alike[0])), what, "did you mean `kind`?")
    kinds_here = [key for key in keys if key in kinds]
    if len(kinds_here) == 1 and (*path, kinds_here[0]) in places.keys:
        what = f"`{error.where}` has no `kind`, and a key `{kinds_here[0]}`"
        return Mistake(
            places.of_key((*path, kinds_here[0])), what, f"write `kind: {kinds_here[0]}`, and its keys beside it"
        )
    if is_key_of_component(path) and not isinstance(error.value, dict):
        return Mistake(places.of_key(path), f"`{path[-1]}` is not a component", as_tagged(path, error.value))
    return error.at_value(f"`{error.where}` has no `kind`", f"add `kind: KIND`, one of: {', '.join(kinds)}")


def _unknown_kind(error: _FieldError) -> Mistake:
    tag, kinds = str(error.detail["ctx"]["tag"]), tags_at(error.detail)
    value, place = error.value["kind"], error.places.of_value((*error.path, "kind"))
    every = f"write one of: {', '.join(kinds)}"
    inner = only_value(value)
    if isinstance(value, list | dict) and inner in kinds:
        what = f"`{error.where}.kind` is one value, not a {'list' if isinstance(value, list) else 'mapping'}"
        return Mistake(place, what, f"write it without brackets: `kind: {inner}`")
    if not isinstance(value, str):
        return Mistake(place, f"`{error.where}.kind` must be text, not {short(value)}", every)
    synonyms = [kind for kind in kinds_of_word(tag) if kind in kinds]
    step = f"did you mean `{synonyms[0]}`?" if synonyms else close_to(tag, kinds)
    return Mistake(place, f"unknown kind {tag!r}", step if tag.strip() else every)


def _split_command(error: _FieldError) -> Mistake:
    what = f"`{error.where}` is a list of commands, and each of them a list of words"
    return error.at_value(what, f"write `run: {error.value}`")


def _refused_value(error: _FieldError) -> Mistake:
    """A value that a validator of the model refuses: cause and next step are in its message."""
    what, hint = _cause_and_step(str(error.detail["ctx"]["error"]), error.value)
    path, places = _named_item(error.path, error.value, what), error.places
    if (
        path[:2] == ("verify", "emulate")
        and (own := _emulated_of_own(error.source.data))
        and "did you mean" not in hint
    ):
        hint = f"write `{own[0]}`: of the recipe's targets, {', '.join(own)} can be"
    if parts := _parts_of(_item_at(error.value, path)):
        what = f"{short(_item_at(error.value, path))} is several in one item"
        hint = f"write each as an item of its own: [{', '.join(parts)}]"
    place = places.of_value(path)
    if (key := re.match(r"`([\w.]+)`", what)) and (at := (*path, *key[1].split("."))) in places.keys:
        place = places.of_key(at)
    return Mistake(place, f"`{error.where}`: {what}", hint or _reference(path))


def _other_form(error: _FieldError) -> Mistake:
    """A text that does not have the form of its field."""
    path, detail, value = error.path, error.detail, error.value
    place = (error.places.of_key if detail["loc"][-1] == "[key]" else error.places.of_value)(path)
    pattern = detail["ctx"]["pattern"]
    step = value_from_recipe(path, value, error.source.data) or _name_of_entry(path, str(value), detail, error.places)
    what = f"`{error.where}` cannot be {short(value)}: it {words_of(pattern)}"
    return Mistake(place, what, step or with_example(advice(pattern, value), detail["loc"]))


def _schema(error: _FieldError) -> Mistake:
    place, value = error.places.of_value(error.path), error.value
    if isinstance(value, int) and value > 1:
        step = "it is for a newer stackbuild: upgrade stackbuild, or write `schema: 1` and the keys of docs/recipes.md"
        return Mistake(place, f"schema {value} is not known: this stackbuild reads schema 1", step)
    return Mistake(place, f"`schema` must be 1, not {short(value)}", "write `schema: 1`")


def _other_type(error: _FieldError) -> Mistake:
    """A value of another type than its field's."""
    path, detail, last = error.path, error.detail, error.detail["loc"][-1]
    is_scalar = last in SCALARS and path[-1:] != detail["loc"][-1:]
    expectation, hint = _ONE_VALUE if is_scalar else _EXPECTATIONS[detail["type"]]
    if last in SCALARS and path[:2] == ("matrix", "variants") and path[-1] == "options":
        hint = f"remove `options:`, and write its lines directly below `{path[-2]}:`"
    place = error.places.of_value(path)
    wrong = WrongValue(path, detail, error.source.scalar(place), error.places)
    step = value_meant(path, detail, error.source.data) or rewritten_value(wrong) or hint
    return Mistake(place, f"`{error.where}` must be {expectation}, not {short(error.value)}", step)


def _too_large(error: _FieldError) -> Mistake:
    """A number above its bound; of 1 it is a share, or a cosine."""
    value, is_below = error.value, error.detail["type"] == "less_than"
    if _bound(error.detail) == 1 and error.path[-1] == "cosine":
        what = f"`{error.where}` is a cosine, at most 1, not {value:g}"
        return error.at_value(what, "write a number below 1, such as `0.999`")
    if _bound(error.detail) == 1 and 1 < value <= 100:
        share = min(value, 99) if is_below else value
        what = f"`{error.where}` is a share, {'below 1' if is_below else 'at most 1'}, not {value:g}"
        return error.at_value(what, f"write `{share:g}%` or `{share / 100:g}`")
    return _out_of_bounds(error)


def _too_small(error: _FieldError) -> Mistake:
    value = error.value
    if not isinstance(value, float) or not -1 < value < 0:
        return _out_of_bounds(error)
    has_percent = error.source.scalar(error.places.of_value(error.path)).endswith("%")
    sign = has_percent or error.path[-1] in ("delta", "grows_at_most", "nodes")
    step = f"write `{-100 * value:g}%`, without the minus" if sign else step_within_bounds(error.detail["loc"])
    return error.at_value(f"`{error.where}` {cause_of(error.detail)}", step)


def _out_of_bounds(error: _FieldError) -> Mistake:
    step = _number_meant(error.path, error.detail) or step_within_bounds(error.detail["loc"])
    return error.at_value(f"`{error.where}` {cause_of(error.detail)}", step)


def _too_short(error: _FieldError) -> Mistake:
    least = error.detail["ctx"]["min_length"]
    what = f"`{error.where}` must have at least {least} character{'s' * (least > 1)}, not {short(error.value)}"
    return error.at_value(what, f"write it out in words: `{error.path[-1]}: …`")


def _no_date(error: _FieldError) -> Mistake:
    day = _date_meant(error.value)
    step = f"write `{error.path[-1]}: {day}`" if day else "write year, month and day, such as `2027-01-31`"
    return error.at_value(f"`{error.where}` must be a date, not {short(error.value)}", step)


def _other_word(error: _FieldError) -> Mistake:
    """A word that is none of the few that its field takes."""
    words = _words(error.detail)
    what = f"`{error.where}` must be {' or '.join(filter(None, (', '.join(words[:-1]), words[-1])))}"
    return error.at_value(f"{what}, not {short(error.value)}", _step_to_word(str(error.value), words))


def _any_other(error: _FieldError) -> Mistake:
    return error.at_value(f"`{error.where}` {cause_of(error.detail)}", "the reference is docs/recipes.md")


_WORDS_OF_STRUCTURE: Mapping[str, Callable[[_FieldError], Mistake]] = {
    "extra_forbidden": _unknown_key,
    "missing": _missing,
    "too_short": _too_few,
    "union_tag_not_found": _no_kind,
    "union_tag_invalid": _unknown_kind,
    "split_command": _split_command,
    "value_error": _refused_value,
    "string_pattern_mismatch": _other_form,
}
"""pydantic's type of an error, and `split_command` of `validation`, to the function that words it, for every field."""
_WORDS_OF_VALUES: Mapping[str, Callable[[_FieldError], Mistake]] = {
    "less_than_equal": _too_large,
    "less_than": _too_large,
    "greater_than_equal": _too_small,
    "greater_than": _too_small,
    "string_too_short": _too_short,
    "literal_error": _other_word,
}
"""The same for fields of one type; a field of several types has the words of none."""


def _name_of_entry(path: yaml.KeyPath, value: str, detail: Any, places: Places) -> str:
    """The next step for a path, an address or nothing where the name of a source or a component stands; "" for other values."""
    key = next((part for part in reversed(path) if isinstance(part, str)), "")
    is_list = "hipify" in path and key == "headers"
    section = "" if is_list else "sources" if key in SOURCE_KEYS else "components" if key == "needs" else ""
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
    inner = only_value(value)
    if not scalar or not isinstance(inner, str | int | float) or (isinstance(value, dict) and path[-1] in SOURCE_KEYS):
        return ""
    if (detail["loc"][-1] in SCALARS and path[-1:] != detail["loc"][-1:]) or (
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
    where = "without brackets" if isinstance(value, list) else f"behind `{path[-1]}:`, without a key of its own"
    return f"write it {where}: `{path[-1]}: {flow_text(inner)}`"


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
    return f"write `{key}: {-value:g}`, without the minus; {step_within_bounds(detail['loc']).removeprefix('write ')} is right"


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


_ONE_VALUE = ("one value: text, a number, true or false", "write it without brackets")


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


def path_of(detail: Any, places: Places) -> yaml.KeyPath:
    """The path in the file: pydantic puts tags of unions into its locations; a file has none."""
    path: tuple[int | str, ...] = ()
    for index, part in enumerate(detail["loc"]):
        is_tag = index == 2 and detail["loc"][0] in ("components", "gates") and len(detail["loc"]) > 2
        if (*path, part) in places.values and not is_tag:
            path = (*path, part)
    return (*path, detail["loc"][-1]) if detail["type"] == "missing" else path


def _in(path: yaml.KeyPath) -> str:
    return f" in `{'.'.join(map(str, path[:-1]))}`" if len(path) > 1 else ""


def _step_to_word(value: str, words: list[str]) -> str:
    """The next step for a word in place of one of a few."""
    is_python = words == ["none", "cpython"] and re.match(r"(?:cp|py)?3|abi3|true|c", value.lower())
    near = "cpython" if is_python else nearest(value, words)
    suggestion = near or next((w for w in words if w and value.lower().startswith(w)), "")
    suggestion = suggestion or next((w for w in choices_of_word(value) if w in words), "")
    choices = f"one of: {', '.join(f'`{word}`' for word in words)}"
    if words == ["migraphx", "rocm"]:
        if re.match(r"(?i)cpu", value):
            return "remove it: the CPU provider is always built; `migraphx` is AMD's"
        if re.match(r"(?i)cuda|tensorrt|trt|nv|openvino|directml|dml|gpu|hip", value):
            return "write `migraphx`, the provider for AMD's GPUs"
    return f"did you mean `{suggestion}`? It is {choices}" if suggestion else f"write {choices}"


def _words(detail: Any) -> list[str]:
    """The words that a literal may be."""
    return re.findall(r"'([^']*)'", detail["ctx"]["expected"]) or [str(detail["ctx"]["expected"])]
