"""Options of several commands that take a recipe, and what they ask of one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from stackbuild.cli.app import option
from stackbuild.cli.completion import recipe_gfx, recipe_pythons, steps, words
from stackbuild.tables.runners import RUNNERS

if TYPE_CHECKING:
    from stackbuild.model.choice import Choice
    from stackbuild.model.plan import Step
    from stackbuild.recipe.prepare import PreparedRecipe
    from stackbuild.sources.mirror import Mirror

Gfx = Annotated[
    list[str] | None,
    option("--gfx", help="Only these GPU targets of the recipe; may be repeated.", autocompletion=recipe_gfx),
]
Until = Annotated[
    str,
    option(
        "--until",
        metavar="STEP",
        autocompletion=steps,
        help="Stop once this step is built: nothing is measured and published. `configure` stops after every configure phase.",
    ),
]
Pythons = Annotated[
    list[str] | None,
    option(
        "--python", help="Build for these Pythons of the recipe only; may be repeated.", autocompletion=recipe_pythons
    ),
]
MirrorOption = Annotated[
    Path | None, option("--mirror", metavar="DIR", help="Take every source from this folder, none from a network.")
]
RunnerName = Annotated[
    str,
    option(
        "--runner",
        help=f"{', '.join(RUNNERS[:-1])} or {RUNNERS[-1]}.",
        autocompletion=words(*RUNNERS),
        envvar="STACKBUILD_RUNNER",
        show_envvar=False,
    ),
]
Jobs = Annotated[
    int,
    option(
        "--jobs",
        "-j",
        min=0,
        max=1024,
        help="Jobs at once over all steps; 0 means one a core.",
        envvar="STACKBUILD_JOBS",
        show_envvar=False,
    ),
]


def tell_doubts(prepared_recipe: PreparedRecipe) -> None:
    """Warn of what the compatibility table does not know, as a real build does."""
    from stackbuild.views.console import err

    for line in prepared_recipe.doubts:
        err().print(f"warning: {line}", markup=False)


def tell_open(warning: str) -> None:
    """Warn, in the words of the build that would stop at it, of steps that the lock does not answer for."""
    from stackbuild.views.console import err

    if warning:
        err().print(f"warning: {warning}", markup=False)


def tell_lacking(steps: Iterable[Step], mirror: Mirror | None) -> None:
    """Warn of what the mirror lacks of what these steps fetch, all of it."""
    from stackbuild.checks.mirror import lacking
    from stackbuild.views.console import err

    if mirror is not None and (places := lacking(steps, mirror)):
        err().print(f"warning: {mirror.lacks_all(places)}", markup=False)


def choice_of(gfx: list[str] | None, until: str, python: list[str] | None = None) -> Choice:
    from stackbuild.core.interpreter import this_glibc, this_python
    from stackbuild.model.choice import Choice

    return Choice(tuple(gfx or ()), (this_python(),), until, tuple(python or ()), this_glibc())
