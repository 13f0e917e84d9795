"""What the shell completes: recipes, runs and the words that an option takes. Nothing is loaded but what a completion asks for."""

from __future__ import annotations

from collections.abc import Callable

Completion = Callable[[str], list[str]]


def words(*known: str) -> Completion:
    """Completes to those words."""

    def beginning(incomplete: str) -> list[str]:
        return [word for word in known if word.startswith(incomplete)]

    return beginning


def recipes(incomplete: str) -> list[str]:
    """Completes to bundled recipes; where none fits, the shell goes on with the names of files."""
    from stackbuild.recipe.load import bundled

    return words(*bundled())(incomplete)


def gpus(incomplete: str) -> list[str]:
    """Completes to GPU targets, and to the names of products once a capital letter is typed."""
    from stackbuild.tables.targets import BUILDABLE

    products = sorted(product for target in BUILDABLE.values() for product in target.products)
    return words(*BUILDABLE, *(products if incomplete[:1].isupper() else ()))(incomplete)


def runs(incomplete: str) -> list[str]:
    """Completes to the runs of the store, the latest first."""
    from stackbuild.build.runs import planned_runs
    from stackbuild.core.errors import Stop
    from stackbuild.store.store import default_root

    try:
        return words("last", *reversed(planned_runs(default_root())))(incomplete)
    except (Stop, OSError):  # no store, nothing to complete: the command itself says so
        return []
