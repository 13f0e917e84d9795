"""Values that a recipe's models accept and nobody means: no value, placeholders, repeated items, keys one level off. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from stackbuild.core.digest import Json
from stackbuild.core.errors import Mistake
from stackbuild.core.model import Model
from stackbuild.core.shell_words import shell_word
from stackbuild.core.yaml import KeyPath, Places
from stackbuild.model.gates import growth_meant
from stackbuild.model.recipe import Recipe
from stackbuild.recipe.forms import tidy
from stackbuild.recipe.schema_nodes import boolean_keys, components_by_kind, keys_at

_AS_WRITTEN = ("run", "env", "clang_flags", "summary", "reason", "by")
"""Keys whose texts reach a command or a reader as they are."""
_MAY_BE_EMPTY = ("name", "wheel", "lock", "url")
"""Keys of which an empty text is the default."""
_PLACEHOLDERS = ("none", "nil", "n/a", "na", "todo", "tbd", "fixme", "xxx", "changeme", "undefined", "...", "…")
_NAMES = ("source", "headers", "onnxruntime", "tool", "needs", "bundled", "suite")
"""Keys whose words must be defined elsewhere, which is checked there."""
_SWITCHES = ("yes", "no", "on", "off")
"""What older YAML reads as true and false: here it is a text."""


def nulls(data: Json, path: KeyPath = ()) -> Iterator[KeyPath]:
    """The paths of keys and items without a value."""
    for key, value in _rows(data):
        if value is None:
            yield (*path, key)
        else:
            yield from nulls(value, (*path, key))


def null_mistake(path: KeyPath, places: Places) -> Mistake:
    """The mistake of a key or an item without a value."""
    if isinstance(path[-1], int):
        return Mistake(
            places.of_value(path), f"`{_spelling(path)}` is an item without a value", "write it, or remove it"
        )
    next = f"write a value after `{path[-1]}:`, or remove the key"
    return Mistake(places.of_value(path), f"`{_spelling(path)}` has no value", next)


def value_mistakes(data: Json, recipe: Recipe, places: Places) -> Iterator[Mistake]:
    """Every value of a valid recipe that is not what it looks like."""
    yield from (null_mistake(path, places) for path in nulls(data))
    yield from _of_texts(data, (), places)
    yield from _repetitions(data, (), places)
    yield from _scalars(data, (), recipe, places)
    yield from _growths(data, places)
    yield from _requests(data, places)


def _growths(data: Json, places: Places) -> Iterator[Mistake]:
    """Growths of memory as plain numbers above 1: percents, or the ratio, were probably meant."""
    gates = data.get("gates") if isinstance(data, dict) else None
    for i, gate in enumerate(gates if isinstance(gates, list) else ()):
        growth = gate.get("grows_at_most") if isinstance(gate, dict) else None
        if isinstance(growth, float) and growth > 1:
            what, step = growth_meant(growth)
            yield Mistake(places.of_value(("gates", i, "grows_at_most")), f"`gates.{i}.grows_at_most`: {what}", step)


def _requests(data: Json, places: Places) -> Iterator[Mistake]:
    """Heads of pull requests where a tag, a branch or a commit is looked for."""
    sources = data.get("sources") if isinstance(data, dict) else None
    for name, source in _rows(sources):
        ref = source.get("ref") if isinstance(source, dict) else None
        if isinstance(ref, str) and (local := re.fullmatch(r"(?:refs/remotes/)?(?:origin|upstream)/(.+)", ref)):
            what = f"`sources.{name}.ref`: `{ref}` is a name of your own clone, and the repository has `{local[1]}`"
            yield Mistake(places.of_value(("sources", name, "ref")), what, f"write `ref: {local[1]}`")
        if isinstance(ref, str) and re.fullmatch(r"(?:refs/)?(?:pull|merge-requests)/\d+(?:/(?:head|merge))?", ref):
            what = f"`sources.{name}.ref`: `{ref}` is a pull request, and no tag, branch or commit"
            head = ref.removeprefix("refs/") + ("" if ref.endswith(("head", "merge")) else "/head")
            step = f"write its commit, which `git ls-remote {shell_word(source.get('git'))} refs/{head}` prints"
            yield Mistake(places.of_value(("sources", name, "ref")), what, step)


def _of_texts(data: Json, path: KeyPath, places: Places) -> Iterator[Mistake]:
    for key, value in _rows(data):
        deeper = (*path, key)
        if isinstance(value, str) and (mistake := _of_text(value, deeper, places)):
            yield mistake
        elif not isinstance(value, str):
            yield from _of_texts(value, deeper, places)


def _of_text(text: str, path: KeyPath, places: Places) -> Mistake | None:
    key = next((part for part in reversed(path) if isinstance(part, str)), "")
    at, where = places.of_value(path), _spelling(path)
    of_command = bool({*path} & {*_AS_WRITTEN, "options", "variants"})
    if not text.strip():
        if (of_command and key != "summary") or (key in _MAY_BE_EMPTY and not isinstance(path[-1], int)):
            return None
        how = "write the item, or remove it" if isinstance(path[-1], int) else f"write it out: `{key}: …`"
        return Mistake(
            at, f"`{where}` is an empty text", how if key == "summary" else how.replace("…`", "…`, or remove the key")
        )
    word = text.strip().lower()
    if word in (*_PLACEHOLDERS, *_SWITCHES) and key in _NAMES:
        return None
    if word in _PLACEHOLDERS and key not in ("abi", "run") and not {"options", "variants"} & {*path}:
        what = f"`{where}` is the text {text!r}, which stands for no value here"
        return Mistake(at, what, f"write the value after `{key}:`, or remove the key")
    if of_command:
        return None
    if word in _SWITCHES and key not in boolean_keys():
        return Mistake(at, f"`{where}` is the text {text!r}", f"write what `{key}` names; it is not true or false")
    if (bare := tidy(text)) != text:
        return Mistake(at, f"`{where}` is {text!r}: {_extra(text, bare)}", f"write `{bare}`")
    return None


def _extra(text: str, bare: str) -> str:
    """What a text has beside what was meant."""
    head, _, tail = text.partition(bare)
    return f"{(head + tail)!r} is not part of it" if bare in text and (head + tail).strip() else "blanks are part of it"


def _repetitions(data: Json, path: KeyPath, places: Places) -> Iterator[Mistake]:
    for key, value in _rows(data):
        deeper = (*path, key)
        if isinstance(value, list) and "run" not in deeper:
            for i, item in enumerate(value):
                if isinstance(item, str | dict) and item in value[:i]:
                    what = f"{item!r} is" if isinstance(item, str) else "this item is"
                    yield Mistake(
                        places.of_value((*deeper, i)),
                        f"`{_spelling(deeper)}`: {what} listed twice",
                        "remove one of them",
                    )
        yield from _repetitions(value, deeper, places)


def _scalars(data: Json, path: KeyPath, value: Any, places: Places) -> Iterator[Mistake]:
    """Texts, and `true` and `false`, where the recipe holds a number; texts and numbers where it holds a truth value."""
    for key, raw in _rows(data):
        member = _member(value, key)
        deeper = (*path, key)
        if isinstance(member, bool):
            if not isinstance(raw, bool):
                yield _no_truth_value(raw, member, deeper, places)
        elif isinstance(member, int | float):
            if isinstance(raw, bool):
                what = f"`{_spelling(deeper)}` must be a number, not {str(raw).lower()}"
                yield Mistake(places.of_value(deeper), what, "write a number, or remove the key")
            elif isinstance(raw, float) and isinstance(member, int):
                what = f"`{_spelling(deeper)}` is {raw}, and a whole number is wanted"
                yield Mistake(places.of_value(deeper), what, f"write `{_line(key, str(member))}`")
            elif isinstance(raw, str) and _is_plain_number(raw):
                what = f"`{_spelling(deeper)}` is the text {raw!r}, and a number is wanted"
                next = f"write `{_line(key, raw.strip().replace('_', ''))}`, without quotes"
                yield Mistake(places.of_value(deeper), what, next)
        elif member is not None:
            yield from _scalars(raw, deeper, member, places)


def _no_truth_value(raw: Json, meant: bool, path: KeyPath, places: Places) -> Mistake:
    is_text = isinstance(raw, str)
    what = f"`{_spelling(path)}` is the {'text' if is_text else 'number'} {raw!r}, and a truth value is wanted"
    next = f"write `{_line(path[-1], str(meant).lower())}`" + (", without quotes" if is_text else "")
    return Mistake(places.of_value(path), what, next)


def _line(key: int | str, text: str) -> str:
    return text if isinstance(key, int) else f"{key}: {text}"


def _is_plain_number(text: str) -> bool:
    """Whether the text is a number in quotes. `12 ms` and `60 dB` are not: a unit belongs to what they say."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _member(value: Any, key: int | str) -> Any:
    if isinstance(value, Model):
        return getattr(value, "schema_" if key == "schema" else str(key), None)
    if isinstance(value, dict):
        return value[key]
    return value[key] if isinstance(value, tuple) and isinstance(key, int) else None


def keys_off(data: Json, places: Places) -> Iterator[tuple[Mistake, KeyPath, KeyPath]]:
    """Keys that stand one level too high, below the mapping that takes them, or too deep, among a component's options.

    Each with its path and with the path of the mapping that it belongs to.
    """
    yield from _keys_too_high(data, (), (), places)
    yield from keys_in_open_sections(data, places)


def owners_of_keys_off(data: Json, places: Places) -> set[KeyPath]:
    """The mappings whose keys stand elsewhere: that one of them has no value is a consequence."""
    return {owner for _, _, owner in keys_off(data, places)}


def keys_in_open_sections(data: Json, places: Places) -> Iterator[tuple[Mistake, KeyPath, KeyPath]]:
    """Those of them that a valid recipe can have: `options` and `env` take any key. Nothing of the schema is read."""
    components = data.get("components") if isinstance(data, dict) else None
    for name, component in _rows(components):
        fields = component if isinstance(component, dict) else {}
        model = components_by_kind().get(str(fields.get("kind")))
        keys = {*model.model_fields} if model else _COMPONENT_KEYS
        for section in ("options", "env"):
            entries = fields.get(section)
            for key in [key for key in entries if key in keys] if isinstance(entries, dict) else []:
                path: KeyPath = ("components", name, section, key)
                what = f"`{key}` is a key of the component, and stands in its `{section}`"
                yield Mistake(places.of_key(path), what, f"indent it as far as `{section}:`"), path, path[:2]


_COMPONENT_KEYS = {"kind", "source", "needs", "version", "memory"}
_ENTRIES = (("sources",), ("components",), ("verify", "wheels"))
"""Mappings whose keys are names that the recipe gives."""


def _keys_too_high(
    data: Any, path: KeyPath, loc: KeyPath, places: Places
) -> Iterator[tuple[Mistake, KeyPath, KeyPath]]:
    rows = list(data.items()) if isinstance(data, dict) else []
    keys = keys_at(loc) if path not in _ENTRIES else []
    above = ""
    for key, value in rows:
        is_entry = path in _ENTRIES and (isinstance(value, dict) or not _is_key(key, path))
        if key in keys or is_entry:
            deeper = (*loc, key)
            if path == ("components",) and isinstance(value, dict) and isinstance(value.get("kind"), str):
                deeper = (*deeper, value["kind"])
            if isinstance(value, dict):
                yield from _keys_too_high(value, (*path, key), deeper, places)
            above = key if isinstance(value, dict) or value is None else above
        elif above and key in _keys_of((*path, above), data[above], loc):
            what = f"`{key}` is a key of `{_spelling((*path, above))}`, and is not indented below it"
            yield (
                Mistake(places.of_key((*path, key)), what, f"indent `{key}:` below `{above}:`, by 2 more"),
                (*path, key),
                (*path, above),
            )


def _is_key(key: str, path: KeyPath) -> bool:
    """Whether a name of an entry is a key that such entries have."""
    if path == ("components",):
        return any(key in model.model_fields for model in components_by_kind().values())
    return key in keys_at((*path, "x"))


def _keys_of(path: KeyPath, value: Any, loc: KeyPath) -> list[str]:
    """The keys that the mapping at a path may have and has not."""
    if path[:1] == ("components",) and len(path) == 2:
        models = components_by_kind()
        model = models.get(str(value.get("kind"))) if isinstance(value, dict) else None
        keys = [*model.model_fields] if model else [k for each in models.values() for k in each.model_fields]
    else:
        keys = keys_at((*loc, path[-1]))
    return [key for key in keys if not isinstance(value, dict) or key not in value]


def _rows(data: Json) -> list[tuple[Any, Any]]:
    return list(data.items()) if isinstance(data, dict) else list(enumerate(data)) if isinstance(data, list) else []


def _spelling(path: KeyPath) -> str:
    return ".".join(map(str, path))
