"""What the shell completes: recipes, runs and the words that an option takes. Nothing is loaded but what a completion asks for."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Completion = Callable[[str], list[str]]


@dataclass(frozen=True)
class BashLine:
    """The words before the cursor as bash splits them, and the one that is completed, each as it stands in the line."""

    words: tuple[str, ...]
    incomplete: str

    @classmethod
    def of(cls, words: str, at: int) -> BashLine:
        """`words` are those of the line, one a line. Bash makes three of `--option=value`: the sign is not one of ours."""
        whole = words.split("\n")
        before = [word for n, word in enumerate(whole[1:at], 1) if word != "=" or whole[n - 1][:2] != "--"]
        incomplete = whole[at] if at < len(whole) else ""
        return cls(tuple(before), "" if incomplete == "=" and whole[at - 1][:2] == "--" else incomplete)

    def spelling(self, value: str) -> str:
        """How a value is inserted so that the shell reads it as one word: in the quotes that are open, else with escapes."""
        quote = self.incomplete[:1]
        if quote == "'":
            return quote + value.replace("'", "'\\''")
        if quote == '"':
            return quote + re.sub(r'([\\"$`])', r"\\\1", value)
        return re.sub(r"([^\w@%+=:,./-])", r"\\\1", value)


def words(*prefix: str) -> Completion:
    """Completes to those words."""

    def beginning(incomplete: str) -> list[str]:
        return [word for word in prefix if word.startswith(incomplete)]

    return beginning


def recipes(incomplete: str) -> list[str]:
    """Completes to bundled recipes; where none fits, the shell goes on with the names of files."""
    from stackbuild.recipe.load import bundled_recipes

    return words(*bundled_recipes())(incomplete)


def targets(incomplete: str) -> list[str]:
    """Completes to GPU targets."""
    from stackbuild.tables.targets import BUILDABLE

    return words(*BUILDABLE)(incomplete)


def gpus(incomplete: str) -> list[str]:
    """Completes to GPU targets, and to the names of products once a capital letter is typed."""
    from stackbuild.tables.targets import BUILDABLE

    products = sorted(product for target in BUILDABLE.values() for product in target.products)
    return [*targets(incomplete), *(words(*products)(incomplete) if incomplete[:1].isupper() else ())]


def topics(incomplete: str) -> list[str]:
    """Completes to the topics of errors."""
    from stackbuild.tables.topics import topics

    return words(*topics())(incomplete)


def runs(incomplete: str) -> list[str]:
    """Completes to the runs of the store, the latest first."""
    from stackbuild.build.runs import planned_runs
    from stackbuild.core.errors import Stop
    from stackbuild.store.store import default_root

    try:
        return words("last", *reversed(planned_runs(default_root())))(incomplete)
    except (Stop, OSError):  # no store, nothing to complete: the command itself says so
        return []


def steps(ctx: Any, incomplete: str) -> list[str]:
    """Completes to the steps of the recipe that the line names: all, before its lock says which of them have dependencies."""
    from stackbuild.core.errors import Stop
    from stackbuild.recipe.load import load
    from stackbuild.recipe.matrix import expand

    try:
        recipe = load(_recipe_of(ctx)).recipe
    except Stop:
        return []
    sources = [f"source.{name}" for name in recipe.sources]
    houses = [f"wheelhouse.{python}" for python in recipe.python] if recipe.wheels else []
    return words("base", *sources, *(each.step for each in expand(recipe).components), *houses)(incomplete)


def logged_steps(ctx: Any, incomplete: str) -> list[str]:
    """Completes to the steps that the run, or the last one, has a log of."""
    from stackbuild.build.runs import logs_of
    from stackbuild.core.errors import Stop
    from stackbuild.store.store import default_root

    try:
        return words(*(path.stem for path in logs_of(default_root(), str(ctx.params.get("run") or ""))))(incomplete)
    except (Stop, OSError):
        return []


def recipe_gfx(ctx: Any, incomplete: str) -> list[str]:
    """Completes to the GPU targets of the recipe that the line names."""
    from stackbuild.core.errors import Stop
    from stackbuild.recipe.load import load

    try:
        return words(*load(_recipe_of(ctx)).recipe.gfx)(incomplete)
    except Stop:
        return []


def recipe_pythons(ctx: Any, incomplete: str) -> list[str]:
    """Completes to the Pythons of the recipe that the line names."""
    from stackbuild.core.errors import Stop
    from stackbuild.recipe.load import load

    try:
        return words(*load(_recipe_of(ctx)).recipe.python)(incomplete)
    except Stop:
        return []


def rule_ids(incomplete: str) -> list[str]:
    """Completes to the ids of rules."""
    from stackbuild.checks.catalogue import rules_by_id

    return words(*rules_by_id())(incomplete)


def _recipe_of(ctx: Any) -> str:
    """The recipe that the line names before the word that is completed, else $STACKBUILD_RECIPE."""
    return str(ctx.params.get("recipe") or ctx.params.get("name") or os.environ.get("STACKBUILD_RECIPE", ""))
