"""text → Recipe: every mistake at once, each with its place, its cause and the next step.

Pure but for reading the named file.
"""

from __future__ import annotations

import contextlib
import difflib
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from stackbuild import yamlread
from stackbuild.components import Component
from stackbuild.data import folder
from stackbuild.digest import Json
from stackbuild.errors import Mistake, RecipeError, UsageError
from stackbuild.model import ValidationError
from stackbuild.recipe import Recipe, schema
from stackbuild.yamlread import Places

MOST = 100
"""So many mistakes are looked at; a file that has more is no recipe."""


@dataclass(frozen=True)
class Loaded:
    """A recipe, as what it was `called`, the folder that its relative paths start from, and where its lock lies."""

    recipe: Recipe
    called: str
    folder: Path
    lock_path: Path


def bundled() -> dict[str, Path]:
    """The recipes that ship with stackbuild, by name."""
    found = sorted(folder("recipes").glob("*.yaml"))
    return {p.stem: p for p in found if not p.name.endswith(".lock.yaml") and p.stem != "compatibility"}


def load(name: str) -> Loaded:
    """The recipe of that bundled name or path. Raises UsageError where there is none, RecipeError where it is wrong."""
    path = _find(name)
    recipe = parse(_read(path), str(path))
    return Loaded(recipe, name, path.parent, path.with_name(f"{path.stem}.lock.yaml"))


def text_of(name: str) -> str:
    """The text of that recipe, as it was written. Raises as `load`."""
    return _read(_find(name))


def _find(name: str) -> Path:
    known = bundled()
    if name in known:
        return known[name]
    path = Path(name)
    with contextlib.suppress(OSError):  # such as a name that is too long
        if path.is_file():
            return path
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    raise UsageError(
        f"no recipe {_short(name)}: neither a bundled recipe nor a file",
        next=f"{hint}`stackbuild recipe list` shows the bundled ones: {', '.join(known) or 'none'}",
    )


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > yamlread.MAX_BYTES:
            raise RecipeError((Mistake(f"{path}:1:1", "larger than 1 MiB", "a recipe is a page; split it"),))
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise RecipeError((Mistake(f"{path}:1:1", f"not UTF-8: byte {error.start}", "save it as UTF-8"),)) from None
    except OSError as error:
        raise UsageError(f"cannot read it: {error.strerror}", where=str(path), next="check its permissions") from None


def parse(text: str, name: str) -> Recipe:
    """A recipe from its text; `name` is said in messages. Raises RecipeError with every mistake found."""
    data, places = yamlread.compose(text, name)
    if not isinstance(data, dict):
        raise RecipeError(
            (Mistake(f"{name}:1:1", "a recipe is a mapping", "start from `stackbuild recipe show debian-13`"),)
        )
    if nul := _with_nul(data, ()):
        raise RecipeError(
            tuple(Mistake(places.of_value(p), "a NUL character in a text", "take the `\\0` out: no command can be given it") for p in nul)
        )
    try:
        recipe = Recipe.model_validate(data)
    except ValidationError as error:
        raise RecipeError(_mistakes(error, places)) from None
    wrong = [*_wrong_references(recipe, places), *_cycle(recipe, places)]
    if wrong:
        raise RecipeError(tuple(wrong))
    return recipe


def _with_nul(data: Json, path: yamlread.Path) -> list[yamlread.Path]:
    """The paths of texts with a NUL: nothing that is handed to the system can hold one."""
    if isinstance(data, str):
        return [path] if "\0" in data else []
    rows = list(data.items()) if isinstance(data, dict) else list(enumerate(data)) if isinstance(data, list) else []
    found = [(*path, key) for key, _ in rows if isinstance(key, str) and "\0" in key]
    return found + [deep for key, value in rows for deep in _with_nul(value, (*path, key))]


def _mistakes(error: ValidationError, places: Places) -> tuple[Mistake, ...]:
    details = (d for d in error.errors(include_url=False) if not (d["type"] == "too_short" and d["input"]))
    made = {_mistake(d, places) for d in islice(details, MOST)}
    return tuple(sorted(made, key=lambda m: [int(n) if n.isdigit() else 0 for n in m.place.rsplit(":", 2)[1:]]))


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
            return Mistake(places.of_value((*path, "kind")), f"unknown kind {tag!r}", _close(tag, _kinds()))
        case "value_error":
            message = str(detail["ctx"]["error"])
            what, _, hint = message.partition("; ")
            hint = hint or f"see `{next((p for p in reversed(path) if isinstance(p, str)), 'recipe')}` in docs/recipes.md"
            return Mistake(places.of_value(path), f"`{where}`: {what}", hint)
        case "string_pattern_mismatch":
            of = places.of_key if detail["loc"][-1] == "[key]" else places.of_value
            what = f"`{where}` does not have the right form: {_short(detail['input'])}"
            return Mistake(of(path), what, f"it must match {detail['ctx']['pattern']}")
        case kind if kind in _WANTED or detail["loc"][-1] in _SCALARS:
            wanted, hint = _ONE_VALUE if detail["loc"][-1] in _SCALARS and path[-1:] != detail["loc"][-1:] else _WANTED[kind]
            return Mistake(places.of_value(path), f"`{where}` must be {wanted}, not {_short(detail['input'])}", hint)
        case _:
            said = detail["msg"][:1].lower() + detail["msg"][1:]
            return Mistake(places.of_value(path), f"`{where}`: {said}, not {_short(detail['input'])}", _form(detail))


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


def _path(detail: Any, places: Places) -> yamlread.Path:
    """The path in the file: pydantic puts tags of unions into its locations; a file has none."""
    path: tuple[int | str, ...] = ()
    for part in detail["loc"]:
        if (*path, part) in places.values:
            path = (*path, part)
    return (*path, detail["loc"][-1]) if detail["type"] == "missing" else path


def _in(path: yamlread.Path) -> str:
    return f" in `{'.'.join(map(str, path[:-1]))}`" if len(path) > 1 else ""


def _short(value: object) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _form(detail: Any) -> str:
    if detail["type"] == "literal_error":
        return f"one of: {detail['ctx']['expected']}"
    return "the reference is docs/recipes.md"


def _kinds() -> list[str]:
    from typing import get_args

    from stackbuild.components import AnyComponent

    return [get_args(c.model_fields["kind"].annotation)[0] for c in get_args(get_args(AnyComponent)[0])]


def _close(word: str, known: list[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"did you mean `{close[0]}`?" if close else f"known are: {', '.join(known)}"


def _did_you_mean(loc: tuple[int | str, ...], path: yamlread.Path) -> str:
    return _close(str(path[-1]), _keys_at(loc[:-1]))


def _keys_at(loc: tuple[int | str, ...]) -> list[str]:
    """The keys a mapping at that pydantic location may have, read from the JSON schema."""
    whole = _schema()
    node: dict[str, Any] = whole
    for part in loc:
        node = _step_into(whole, node, part)
    return sorted(_resolved(whole, node).get("properties", {}))


@cache
def _schema() -> dict[str, Any]:
    return schema()


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


def _wrong_references(recipe: Recipe, places: Places) -> list[Mistake]:
    wrong = []
    for name, component in recipe.components.items():
        for i, need in enumerate(component.needs):
            if need not in recipe.components:
                at = places.of_value(("components", name, "needs", i))
                wrong.append(
                    Mistake(
                        at, f"`{name}` needs `{need}`, which is no component", _close(need, sorted(recipe.components))
                    )
                )
        for key, named in _sources_of(component).items():
            if named not in recipe.sources:
                at = places.of_value(("components", name, key))
                wrong.append(Mistake(at, f"`{named}` is no source", _close(named, sorted(recipe.sources))))
    for name, source in recipe.sources.items():
        if source.bundled is not None and not _ships(source.bundled):
            at = places.of_value(("sources", name, "bundled"))
            wrong.append(Mistake(at, f"no folder `{source.bundled}` ships with stackbuild", "usually it is `kernels`"))
    return wrong


def _ships(name: str) -> bool:
    try:
        return folder(name).is_dir()
    except FileNotFoundError:
        return False


def _sources_of(component: Component) -> dict[str, str]:
    """The keys of a component that name sources, and the names."""
    return {k: v for k in ("source", "headers", "onnxruntime") if isinstance(v := getattr(component, k, None), str)}


def _cycle(recipe: Recipe, places: Places) -> list[Mistake]:
    """The first cycle of `needs`, if there is one."""
    from graphlib import CycleError, TopologicalSorter

    try:
        TopologicalSorter({n: c.needs for n, c in recipe.components.items()}).prepare()
    except CycleError as error:
        round_ = error.args[1]
        at = places.of_value(("components", round_[1], "needs"))
        return [
            Mistake(at, f"components need each other: {' → '.join(reversed(round_))}", "take one of these `needs` away")
        ]
    return []
