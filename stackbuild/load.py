"""text → Recipe: every mistake at once, each with its place, its cause and the next step.

Pure but for reading the named file.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackbuild import yamlread
from stackbuild.components import CMake, Component, Kernels, Script
from stackbuild.data import folder
from stackbuild.errors import Mistake, RecipeError, UsageError
from stackbuild.model import ValidationError
from stackbuild.recipe import Recipe
from stackbuild.yamlread import Places


@dataclass(frozen=True)
class Loaded:
    """A recipe, the folder that its relative paths start from, and where its lock lies."""

    recipe: Recipe
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
    return Loaded(recipe, path.parent, path.with_name(f"{path.stem}.lock.yaml"))


def _find(name: str) -> Path:
    known = bundled()
    if name in known:
        return known[name]
    path = Path(name)
    if path.is_file():
        return path
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    raise UsageError(
        f"no recipe {name!r}: neither a bundled recipe nor a file",
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
    try:
        recipe = Recipe.model_validate(data)
    except ValidationError as error:
        raise RecipeError(_mistakes(error, places)) from None
    wrong = [*_wrong_references(recipe, places), *_cycle(recipe, places)]
    if wrong:
        raise RecipeError(tuple(wrong))
    return recipe


def _mistakes(error: ValidationError, places: Places) -> tuple[Mistake, ...]:
    made = {
        _mistake(d, places) for d in error.errors(include_url=False) if not (d["type"] == "too_short" and d["input"])
    }
    return tuple(sorted(made, key=lambda m: [int(n) if n.isdigit() else 0 for n in m.place.rsplit(":", 2)[1:]]))


def _mistake(detail: Any, places: Places) -> Mistake:
    path = _path(detail["loc"], places)
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
            return Mistake(places.of_value(path), f"`{where}`: {what}", hint or "mend it as the message says")
        case _:
            given = _short(detail["input"])
            return Mistake(places.of_value(path), f"`{where}`: {detail['msg'].lower()}, not {given}", _form(detail))


def _path(loc: tuple[int | str, ...], places: Places) -> yamlread.Path:
    """The path in the file: pydantic puts tags of unions into its locations; a file has none."""
    path: tuple[int | str, ...] = ()
    for part in loc:
        if (*path, part) in places.values or part is loc[-1]:
            path = (*path, part)
    return path


def _in(path: yamlread.Path) -> str:
    return f" in `{'.'.join(map(str, path[:-1]))}`" if len(path) > 1 else ""


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _form(detail: Any) -> str:
    if "pattern" in detail.get("ctx", {}):
        return f"it must match {detail['ctx']['pattern']}"
    if detail["type"] == "string_type":
        return 'put it in quotes, such as "3.11"'
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
    from stackbuild.recipe import schema

    whole = schema()
    node: dict[str, Any] = whole
    for part in loc:
        node = _step_into(whole, node, part)
    return sorted(_resolved(whole, node).get("properties", {}))


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
        source = _source_of(component)
        if source is not None and source not in recipe.sources:
            at = places.of_value(("components", name, "source"))
            wrong.append(Mistake(at, f"`{source}` is no source", _close(source, sorted(recipe.sources))))
    return wrong


def _source_of(component: Component) -> str | None:
    return component.source if isinstance(component, (Script, CMake, Kernels)) else None


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
