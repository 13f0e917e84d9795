"""`store ls|check|gc|copy`, `logs`, `shell`. What a store shares is in `cli/share.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from stackbuild.cli.app import AllowPath, JsonOption, RecipeName, app, argument, group, leave, option
from stackbuild.cli.completion import logged_steps, runs, steps, words
from stackbuild.core.shell_words import shell_word

store = group("store", "Look after built outputs. They lie in $STACKBUILD_STORE, or ~/.cache/stackbuild/store.")


@store.command("ls")
def ls(json: JsonOption = False) -> None:
    """List what is in the store, and what unfinished steps left.

    Example: stackbuild store ls
    """
    from stackbuild.store.maintenance import listing, unfinished_steps
    from stackbuild.store.read_only import open_to_read
    from stackbuild.views.console import print_json
    from stackbuild.views.store import draw_listing

    with open_to_read() as local_store:
        rows, interrupted_steps = listing(local_store), unfinished_steps(local_store)
    if json:
        print_json({"items": rows, "unfinished": interrupted_steps}, "stackbuild.store/1")
    else:
        draw_listing(rows, interrupted_steps, local_store.root)


@store.command("check")
def check(json: JsonOption = False) -> None:
    """Read every file of the store against its digest.

    Damaged outputs go into quarantine and are built again. Exit 7 if any.

    Example: stackbuild store check
    """
    from stackbuild.core.cancel import Stopper
    from stackbuild.store.maintenance import check_store
    from stackbuild.store.read_only import open_existing
    from stackbuild.views.console import err, print_json
    from stackbuild.views.store import draw_damage

    with Stopper().on_signals(), open_existing() as local_store, err().status("reading the store …"):
        report = check_store(local_store)
    print_json(report, "stackbuild.store-check/1") if json else draw_damage(report)
    if report:
        leave(7)


@store.command("gc")
def gc(
    days: Annotated[
        float,
        option(
            "--days",
            min=0.0,
            max=36500.0,
            help="Keep what is younger than so many days; the latest of each step stays.",
        ),
    ] = 30.0,
    max_size: Annotated[
        str,
        option("--max-size", metavar="SIZE", help="Then remove the oldest outputs, too, until no more is left: 8G."),
    ] = "",
    dry_run: Annotated[bool, option("--dry-run", help="Say what would be removed; remove nothing.")] = False,
    json: JsonOption = False,
) -> None:
    """Remove old outputs that no recipe's latest build uses.

    Leftovers of failed and stopped steps are removed at the same age.

    Example: stackbuild store gc --days 7
    """
    import time

    from stackbuild.core.sizes import size_of
    from stackbuild.store.maintenance import collect
    from stackbuild.store.read_only import open_existing
    from stackbuild.views.console import print_json
    from stackbuild.views.store import draw_freed

    bound = size_of(max_size) if max_size else 0
    with open_existing() as local_store:
        report = collect(local_store, days, time.time(), bound, dry_run)
    print_json(report, "stackbuild.store-gc/1") if json else draw_freed(report, dry_run)


@store.command("copy")
def copy(
    step: Annotated[
        str, argument(help="The step whose output is copied: a name of `stackbuild plan`.", autocompletion=steps)
    ],
    to: Annotated[Path, option("--to", metavar="DIR", help="The new folder.")],
    recipe: RecipeName,
    json: JsonOption = False,
) -> None:
    """Copy a step's output out of the store.

    It is read against its digest first.

    Example: stackbuild store copy wheelhouse.3.11 --recipe debian-13 --to wheelhouse
    """
    import shutil

    from stackbuild.core.cancel import Stopper
    from stackbuild.core.copy_file import copy_with_status
    from stackbuild.core.errors import UsageError
    from stackbuild.recipe.load import load
    from stackbuild.store.read_only import open_to_read
    from stackbuild.views.console import err, print_json
    from stackbuild.views.store import draw_copied

    name = load(recipe).recipe.name
    if to.exists():
        raise UsageError("this is there already", where=str(to), next="name a new folder")
    with Stopper().on_signals(), open_to_read() as local_store:
        match = next((record for record in local_store.latest(name) if record.step == step), None)
        if match is None:
            raise UsageError(
                f"the store has no output of step {step} of {name}",
                next=f"stackbuild build --recipe {shell_word(recipe)} --until {shell_word(step)}",
            )
        if reason := local_store.check(match.tree):
            raise UsageError(f"the stored output is damaged: {reason}", next="build it again")
        with err().status(f"copying {step} …"):
            shutil.copytree(local_store.tree(match.tree), to, symlinks=True, copy_function=copy_with_status)
    print_json({"step": step, "tree": match.tree, "folder": to}, "stackbuild.store-copy/1") if json else draw_copied(
        step, to
    )


@app.command()
def logs(
    step: Annotated[
        str, argument(help="The step's name; none lists the steps of the last run.", autocompletion=logged_steps)
    ] = "",
    run: Annotated[str, option("--run", help="A run's id; the last one when left out.", autocompletion=runs)] = "",
    json: JsonOption = False,
) -> None:
    """Print the log of a step of the last run (or of another).

    Example: stackbuild logs kernels
    """
    from stackbuild.build.runs import log_of, logs_of
    from stackbuild.store.store import default_root
    from stackbuild.views.console import print_json
    from stackbuild.views.store import draw_log, draw_logs

    if json:
        paths = [log_of(default_root(), run, step)] if step else logs_of(default_root(), run)
        print_json({"logs": [{"step": path.stem, "path": path} for path in paths]}, "stackbuild.logs/1")
    elif step:
        draw_log(log_of(default_root(), run, step))
    else:
        draw_logs(logs_of(default_root(), run))


@app.command()
def shell(
    recipe: RecipeName,
    step: Annotated[str, argument(help="A step that runs in a session.", autocompletion=steps)],
    command: Annotated[list[str] | None, argument(help="A command instead of a shell, after `--`.")] = None,
    runner: Annotated[
        str, option("--runner", help="auto, sandbox or docker.", autocompletion=words("auto", "sandbox", "docker"))
    ] = "auto",
    allow_path: AllowPath = None,
) -> None:
    """Open a shell where a step ran, as its failure left it.

    A step that did not fail opens fresh on its inputs. No network, as in the build.

    The build tree of a step that was stopped or killed can only be read there: the next build resumes in it.

    Example: stackbuild shell --recipe debian-13 kernels
    """
    from stackbuild.build.order import Order
    from stackbuild.build.shell import open_shell
    from stackbuild.recipe.load import load
    from stackbuild.views.build import PlainView

    leave(open_shell(load(recipe, allow_path or ()), step, Order(runner=runner), tuple(command or ()), (PlainView(),)))
