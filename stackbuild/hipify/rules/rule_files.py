"""Finds rule sets: bundled ones by name, others by path, with the support headers that lie beside them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from stackbuild.core import resources
from stackbuild.core.errors import Mistake, RecipeError, UsageError
from stackbuild.core.plain_file import read_plain, read_regular
from stackbuild.hipify.rules.rules import SUPPORT_PREFIX, ConversionRule, RuleSet, join, read
from stackbuild.tables.near_words import question

BASE = "base"
ALWAYS = (BASE, "libraries")
SUPPORT = "support"
MAX_BYTES = 4 << 20


def names() -> list[str]:
    """The bundled rule sets."""
    return sorted(path.stem for path in resources.folder("hipify").glob("*.yaml"))


def load(names_or_paths: Iterable[str]) -> RuleSet:
    """Rule sets by bundled name or path, the first taking precedence; `base` and `libraries` last. Raises UsageError, RecipeError."""
    return join([_one(name) for name in [*(n for n in names_or_paths if n not in ALWAYS), *ALWAYS]])


def load_compat() -> RuleSet:
    """The rules of `--compat hipify`: what hipify-clang does beside its tables, and nothing else."""
    return join([_one("hipify"), _one("libraries")])


def _one(name: str) -> RuleSet:
    path = Path(name)
    is_bundled = path.suffix not in (".yaml", ".yml")
    if is_bundled:
        path = resources.folder("hipify") / f"{name}.yaml"
        if not path.is_file():
            listing = ", ".join(names())
            raise UsageError(
                f"no rule set is called {name!r}",
                next=f"{question(name, names())}bundled are {listing}; a path ends with .yaml",
            )
    return _with_support(read(_text(path), str(path)), path.parent / SUPPORT, is_bundled)


def _text(path: Path) -> str:
    """The text of a rule set. Raises UsageError if it is not a file, larger than a set may be, or not UTF-8."""
    try:
        if path.exists() and not path.is_file():
            raise OSError("it is not a file")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise OSError(f"it is larger than {MAX_BYTES >> 20} MiB")
        return data.decode("utf-8")
    except (OSError, ValueError) as error:
        why = (isinstance(error, OSError) and error.strerror) or error
        raise UsageError(f"the rule set cannot be read: {why}", where=str(path), next="check the path") from error


def _support_of(rule: ConversionRule) -> tuple[str, ...]:
    if rule.kind == "shim":
        return rule.match
    return tuple(to.removeprefix(SUPPORT_PREFIX) for to in rule.to or () if to.startswith(SUPPORT_PREFIX))


def _with_support(rules: RuleSet, folder: Path, is_bundled: bool) -> RuleSet:
    """The set with the text of each support header that its shim rules name. Raises RecipeError for a missing one.

    No link is followed but those of an installation: what it leads to would get into what is converted.
    """
    shims: dict[str, str] = {}
    missing = []
    for rule in rules.rules:
        for name in _support_of(rule):
            limit = MAX_BYTES + 1
            data = read_regular(folder / name, limit) if is_bundled else read_plain(folder, name, limit)
            if data is None:
                missing.append(Mistake(rule.place, f"no support header {name!r}", f"put it at {folder / name}"))
                continue
            try:
                shims[name] = data.decode("utf-8")
            except ValueError:
                missing.append(Mistake(rule.place, f"the support header {name!r} is not UTF-8", "convert it"))
            if len(data) > MAX_BYTES:
                what = f"the support header {name!r} is larger than {MAX_BYTES >> 20} MiB"
                missing.append(Mistake(rule.place, what, "make it smaller"))
    if missing:
        raise RecipeError(tuple(missing))
    return replace(rules, shims=shims)
