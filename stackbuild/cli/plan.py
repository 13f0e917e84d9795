"""`plan`, `explain`, `lock`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from stackbuild.cli.app import AllowPath, JsonOption, RecipeName, app, argument, leave, option
from stackbuild.cli.completion import steps
from stackbuild.cli.recipe_options import (
    Gfx,
    MirrorOption,
    Pythons,
    Until,
    choice_of,
    tell_doubts,
    tell_lacking,
    tell_open,
)


@app.command()
def plan(
    recipe: RecipeName,
    until: Until = "",
    gfx: Gfx = None,
    python: Pythons = None,
    mirror: Annotated[
        Path | None,
        option(
            "--mirror", metavar="DIR", help="Say what this folder lacks of what the steps to run take from a mirror."
        ),
    ] = None,
    detailed_exitcode: Annotated[
        bool, option("--detailed-exitcode", help="Exit 0: nothing to do; 10: steps to run.")
    ] = False,
    allow_path: AllowPath = None,
    json: JsonOption = False,
) -> None:
    """Show a recipe's steps and why each would run. Runs nothing.

    A step whose key is in the store is not run again. The hours of steps that never ran here are guesses. A lock that is open,
    and a mirror that lacks something, are warnings here; a build would stop at them.

    Example: stackbuild plan --recipe debian-13 --detailed-exitcode
    """
    from stackbuild.plan.current import timed_plan
    from stackbuild.recipe.prepare import prepare
    from stackbuild.sources.mirror import VARIABLE, mirror_of
    from stackbuild.views.console import print_json
    from stackbuild.views.plan import draw_plan

    prepared_recipe = prepare(recipe, choice_of(gfx, until, python), allow_path or ())
    current = timed_plan(prepared_recipe)
    tell_doubts(prepared_recipe)
    tell_open(current.status.open_warning)
    usual_mirror = os.environ.get(VARIABLE)
    if mirror or (usual_mirror and Path(usual_mirror).is_dir()):  # a plan takes nothing from it: it may be gone
        tell_lacking(current.status.to_run, mirror_of(mirror, os.environ))
    if json:
        now = current.status
        body = {"recipe": now.plan.recipe, "steps": now.rows, "times": current.times, "open": now.open_steps}
        print_json(body, "stackbuild.plan/1")
    else:
        draw_plan(current)
    if detailed_exitcode and any(row.state == "run" for row in current.status.rows):
        leave(10)


@app.command()
def explain(
    recipe: RecipeName,
    step: Annotated[str, argument(help="The step's name, as `stackbuild plan` shows it.", autocompletion=steps)],
    gfx: Gfx = None,
    allow_path: AllowPath = None,
    json: JsonOption = False,
) -> None:
    """Print what a step's key depends on, and what changed.

    A step runs when its key is not in the store. The change since the last build here is followed to its cause: a commit,
    a package, a patch, or files of a folder.

    Example: stackbuild explain --recipe debian-13 kernels
    """
    from stackbuild.plan.current import current_plan
    from stackbuild.plan.explain import explain_step
    from stackbuild.recipe.prepare import prepare
    from stackbuild.sources.local import local_sources
    from stackbuild.views.console import print_json
    from stackbuild.views.plan import draw_explanation

    prepared_recipe = prepare(recipe, choice_of(gfx, ""), allow_path or ())
    with current_plan(prepared_recipe) as (current, store):
        explanation = explain_step(current, step, store, local_sources(prepared_recipe.loaded_recipe))
    print_json(explanation, "stackbuild.explanation/1") if json else draw_explanation(explanation)


@app.command()
def lock(
    recipe: RecipeName,
    mirror: MirrorOption = None,
    check: Annotated[bool, option("--check", help="Write nothing; exit 3 when the lock is missing or stale.")] = False,
    json: JsonOption = False,
) -> None:
    """Pin tags, digests and packages of a recipe in its lock.

    Debian's archive, git servers and the package index are asked; the lock lies beside the recipe. Entries that cannot be
    reached keep their old value or stay unresolved; they are listed and the command exits 3. A tag, a branch or a digest
    that changed since the lock before is listed, too.

    Example: stackbuild lock --recipe debian-13
    """
    from stackbuild.lock.update import update
    from stackbuild.model.lock import missing_entries
    from stackbuild.recipe.load import load
    from stackbuild.recipe.lock_file import read_lock, write_lock
    from stackbuild.sources.mirror import mirror_of
    from stackbuild.views.console import err, print_json

    source_mirror = mirror_of(mirror, os.environ)
    loaded_recipe = load(recipe)
    if check:
        known_lock = read_lock(loaded_recipe)
        if json:
            print_json(
                {
                    "lock": loaded_recipe.lock_path,
                    "fresh": True,
                    "open": missing_entries(loaded_recipe.recipe, known_lock),
                },
                "stackbuild.lock/1",
            )
        err().print(f"{loaded_recipe.lock_path}: fresh", markup=False)
        return
    with err().status("asking the archives …"):
        answer = update(loaded_recipe, source_mirror)
    if answer.unchanged:
        err().print(f"{loaded_recipe.lock_path} stays as it is", markup=False)
    else:
        write_lock(answer.lock, loaded_recipe)
        packages = f": {len(answer.lock.packages)} packages" if answer.lock.packages else ""
        err().print(f"wrote {loaded_recipe.lock_path}{packages}", markup=False)
    open_ = missing_entries(loaded_recipe.recipe, answer.lock)
    if json:
        body = {
            "lock": loaded_recipe.lock_path,
            "fresh": True,
            "open": open_,
            "moved": answer.moves,
            "unreachable": answer.unreachable,
        }
        print_json(body, "stackbuild.lock/1")
    was = "moved since the lock before; look at what changed before you commit it:"
    for title, lines in ((was, answer.moves), ("could not be asked:", answer.unreachable), ("still open:", open_)):
        if lines:
            err().print("\n".join((title, *lines)), markup=False)
    if answer.unreachable:
        err().print(
            "next: check the network and run this again; `--mirror DIR` takes sources from a folder", markup=False
        )
    if answer.unreachable or open_:
        leave(3)
