"""Finds rule sets: bundled ones by name, others by path, with the support headers that lie beside them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from stackbuild import data
from stackbuild.errors import Mistake, RecipeError, UsageError
from stackbuild.hipify.rules import Rule, Rules, joined, read

BASE = "base"
SUPPORT = "support"
SUPPORT_HEADER = "support:"


def names() -> list[str]:
    """The bundled rule sets."""
    return sorted(path.stem for path in data.folder("hipify").glob("*.yaml"))


def load(wanted: Iterable[str]) -> Rules:
    """Rule sets by bundled name or path, the first taking precedence, and `base` last. Raises UsageError, RecipeError."""
    return joined([_one(name) for name in [*(n for n in wanted if n != BASE), BASE]])


def _one(name: str) -> Rules:
    path = Path(name)
    if path.suffix not in (".yaml", ".yml"):
        path = data.folder("hipify") / f"{name}.yaml"
        if not path.is_file():
            known = ", ".join(names())
            raise UsageError(f"no rule set is called {name!r}", next=f"bundled are {known}; a path ends with .yaml")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the rule set cannot be read: {error}", where=str(path), next="check the path") from error
    return _with_support(read(text, str(path)), path.parent / SUPPORT)


def _support_of(rule: Rule) -> tuple[str, ...]:
    if rule.kind == "shim":
        return rule.match
    return tuple(to.removeprefix(SUPPORT_HEADER) for to in rule.to or () if to.startswith(SUPPORT_HEADER))


def _with_support(rules: Rules, folder: Path) -> Rules:
    """The set with the text of each support header that its shim rules name. Raises RecipeError for a missing one."""
    shims: dict[str, str] = {}
    missing = []
    for rule in rules.rules:
        for name in _support_of(rule):
            try:
                shims[name] = (folder / name).read_text(encoding="utf-8")
            except OSError:
                missing.append(Mistake(rule.place, f"no support header {name!r}", f"put it at {folder / name}"))
    if missing:
        raise RecipeError(tuple(missing))
    return replace(rules, shims=shims)
