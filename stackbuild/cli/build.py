"""`build`, `plan`, `explain`, `lock`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from stackbuild.cli.app import AllowPath, JsonOption, RecipeName, app, argument, leave, option
from stackbuild.cli.completion import recipe_gfx, recipe_pythons, steps, words
from stackbuild.cli.shared_options import TlsArguments, sharing

if TYPE_CHECKING:
    from stackbuild.build.context import BuildContext, StepPlacement
    from stackbuild.core.errors import StepFailed
    from stackbuild.model.loaded import LoadedRecipe
    from stackbuild.plan.resolve import Choice
    from stackbuild.verification.requirement import RequiredRungs

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
        help="auto, sandbox, docker or fake.",
        autocompletion=words("auto", "sandbox", "docker", "fake"),
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


@app.command()
@sharing(TlsArguments)
def build(
    recipe: RecipeName,
    until: Until = "",
    only: Annotated[
        str,
        option(
            "--only",
            metavar="STEP",
            help="Run this step alone; what it needs must be in the store.",
            autocompletion=steps,
        ),
    ] = "",
    gfx: Gfx = None,
    python: Pythons = None,
    mirror: MirrorOption = None,
    runner: RunnerName = "auto",
    jobs: Jobs = 0,
    keep_going: Annotated[
        bool, option("--keep-going", "-k", help="Go on past failures where nothing depends on them.")
    ] = False,
    locked: Annotated[
        bool, option("--locked", help="Refuse what differs from the lock, also where the archive moved on.")
    ] = False,
    fail_on_rebuild: Annotated[
        bool, option("--fail-on-rebuild", help="Fail (exit 3) when any step would have to run.")
    ] = False,
    from_scratch: Annotated[
        bool,
        option(
            "--from-scratch",
            help="For releases: run every step, without compiler cache, earlier build trees and stored outputs.",
        ),
    ] = False,
    require: Annotated[
        list[str] | None,
        option(
            "--require",
            metavar="[NAME:]RUNGS",
            help="Publish nothing where one of these was skipped, as in `verify`; may be repeated.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, option("--dry-run", help="Show the commands of every step that would run; run none.")
    ] = False,
    allow_path: AllowPath = None,
    sign: Annotated[
        list[Path] | None,
        option("--sign", metavar="KEY", help="Sign the index with this OpenSSH ed25519 private key; may be repeated."),
    ] = None,
    remote: Annotated[
        str, option("--remote", metavar="URL", help="Take outputs from this remote alone; needs --trust.")
    ] = "",
    trust: Annotated[
        list[Path] | None,
        option("--trust", metavar="FILE", help="Public key whose records of --remote count; may be repeated."),
    ] = None,
    no_remote: Annotated[bool, option("--no-remote", help="Ask no remote and push to none.")] = False,
    on: Annotated[
        str,
        option(
            "--on",
            metavar="ADDRESS",
            help="Let workers do the steps: the scheduler's address, as tcp+tls://HOST:PORT.",
            envvar="STACKBUILD_ON",
            show_envvar=False,
        ),
    ] = "",
    yes: Annotated[
        bool, option("--yes", "-y", help="Do not ask before a build of many hours; without a terminal nobody is asked.")
    ] = False,
    json: Annotated[bool, option("--json", help="Stream the run's events as JSON lines on stdout.")] = False,
    *,
    tls: TlsArguments,
) -> None:
    """Build a recipe; verify, measure, judge and publish it.

    Example: stackbuild build --recipe debian-13
    """
    from stackbuild.build.build import BuildPlan, long_build, plan_build
    from stackbuild.build.order import Order
    from stackbuild.cli.shared_options import chosen_remotes
    from stackbuild.core.errors import StepFailed, UsageError
    from stackbuild.pipeline.release import release
    from stackbuild.publishing.signing import load_signing_key
    from stackbuild.recipe.load import load
    from stackbuild.sources.mirror import mirror_of
    from stackbuild.store.store import open_store
    from stackbuild.views.build import print_event, view
    from stackbuild.views.release import draw_dry_run, draw_release

    if until and only:
        raise UsageError("--until and --only cannot be used together", next="give one of them")
    if require and (until or only):
        raise UsageError(
            "--require is about a whole build: wheels are proved to their end there",
            next="leave out --until and --only, or --require",
        )
    required_rungs = _rungs_of(require) if require else ()
    if from_scratch and (only or fail_on_rebuild):
        other = "--only" if only else "--fail-on-rebuild"
        raise UsageError(f"--from-scratch runs every step, {other} does not", next="give one of them")
    if on and (from_scratch or no_remote or mirror):
        other = "--from-scratch" if from_scratch else "--no-remote" if no_remote else "--mirror"
        raise UsageError(
            f"--on and {other} cannot be used together: workers take inputs from the remote store, not from this machine",
            next="leave one out; a worker takes the mirror that its own STACKBUILD_MIRROR names",
        )
    is_rehearsal = dry_run or runner == "fake"  # it takes nothing from a mirror, so the environment's may be gone
    source_mirror = mirror_of(mirror, {} if is_rehearsal else os.environ)
    loaded_recipe = load(recipe, allow_path or ())
    choice = choice_of(gfx, until or only, python)
    order = Order(
        choice,
        runner,
        jobs,
        keep_going,
        locked,
        fail_on_rebuild,
        bool(only),
        tuple(map(load_signing_key, sign or ())),
        source_mirror,
        from_scratch,
        remotes=chosen_remotes(remote, trust or [], no_remote),
        place=_placement(on, tls, loaded_recipe, runner) if on and not is_rehearsal else None,
    )
    if is_rehearsal:
        _tell_doubts(loaded_recipe)
        from stackbuild.build.dry_run import dry

        draw_dry_run(dry(loaded_recipe, order), json)
        return
    if json:
        release(loaded_recipe, order, (print_event,), required_rungs)
        return
    first_plan: BuildPlan | None = None
    if not yes and sys.stdin.isatty():
        with open_store() as store:
            first_plan = plan_build(loaded_recipe, order, store)
            question = long_build(first_plan, loaded_recipe, order, store)
        if question and not _agrees(question):
            raise UsageError("the build was not begun", next="--yes begins without asking")
    with view() as watching:
        try:
            release_report = release(loaded_recipe, order, (watching,), required_rungs, first_plan)
        except StepFailed as stop:
            raise (_steps_failed(watching.failed_steps) if watching.failed_steps else stop) from None
    draw_release(release_report)


def _rungs_of(texts: list[str]) -> tuple[RequiredRungs, ...]:
    from stackbuild.verification.requirement import required_rungs_of

    return required_rungs_of(texts)


def _placement(
    on: str, tls: TlsArguments, loaded_recipe: LoadedRecipe, runner: str
) -> Callable[[BuildContext], AbstractContextManager[StepPlacement]]:
    """Opens the connection to a scheduler. Raises UsageError for an address that is none or is not safe."""
    from stackbuild.cluster.address import TlsFiles, parse_address
    from stackbuild.cluster.open import placement

    address = parse_address(on, TlsFiles(tls.tls_ca, tls.tls_cert, tls.tls_key))
    name = runner if runner != "auto" else "docker" if loaded_recipe.recipe.base.image is not None else "sandbox"
    return placement(address, name)


def _steps_failed(steps: list[str]) -> StepFailed:
    """The end of a run whose failures are on the screen already: no cause, log or next step is said twice."""
    from stackbuild.core.errors import StepFailed

    return StepFailed(f"the build failed: {', '.join(steps)}")


def _agrees(question: str) -> bool:
    """Ask on the terminal; Enter alone is yes, the end of input no."""
    from stackbuild.views.console import err

    err().print(question, markup=False, highlight=False)
    err().print("Begin? [Y/n] ", end="", markup=False)
    answer = sys.stdin.readline()
    return bool(answer) and answer.strip().lower() in ("", "y", "yes")


@app.command()
def plan(
    recipe: RecipeName,
    until: Until = "",
    gfx: Gfx = None,
    python: Pythons = None,
    detailed_exitcode: Annotated[
        bool, option("--detailed-exitcode", help="Exit 0: nothing to do; 10: steps to run.")
    ] = False,
    allow_path: AllowPath = None,
    json: JsonOption = False,
) -> None:
    """Show a recipe's steps and why each would run. Runs nothing.

    A step whose key is in the store is not run again. The hours of steps that never ran here are guesses.

    Example: stackbuild plan --recipe debian-13 --detailed-exitcode
    """
    from stackbuild.plan.current import current_plan
    from stackbuild.plan.estimates import step_times
    from stackbuild.plan.status import status
    from stackbuild.recipe.load import load
    from stackbuild.recipe.references import refuse_mistakes
    from stackbuild.store.durations import step_seconds
    from stackbuild.views.console import print_json
    from stackbuild.views.plan import draw_plan

    loaded_recipe = load(recipe, allow_path or ())
    refuse_mistakes(loaded_recipe)
    _tell_doubts(loaded_recipe)
    with current_plan(loaded_recipe, choice_of(gfx, until, python)) as (current, store):
        rows = status(current, store)
        took = step_seconds(store, current.recipe)
    times = step_times((row.step for row in rows if row.state == "run"), loaded_recipe.recipe, took)
    if json:
        print_json({"recipe": current.recipe, "steps": rows, "times": times}, "stackbuild.plan/1")
    else:
        draw_plan(rows, times)
    if detailed_exitcode and any(row.state == "run" for row in rows):
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
    from stackbuild.recipe.load import load
    from stackbuild.sources.local import local_sources
    from stackbuild.views.console import print_json
    from stackbuild.views.plan import draw_explanation

    loaded_recipe = load(recipe, allow_path or ())
    with current_plan(loaded_recipe, choice_of(gfx, "")) as (current, store):
        explanation = explain_step(current, step, store, local_sources(loaded_recipe))
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
        locked = read_lock(loaded_recipe)
        if json:
            print_json(
                {"lock": loaded_recipe.lock_path, "fresh": True, "open": missing_entries(loaded_recipe.recipe, locked)},
                "stackbuild.lock/1",
            )
        err().print(f"{loaded_recipe.lock_path}: fresh", markup=False)
        return
    with err().status("asking the archives …"):
        answer = update(loaded_recipe, source_mirror)
    write_lock(answer.lock, loaded_recipe)
    err().print(f"wrote {loaded_recipe.lock_path}: {len(answer.lock.packages)} packages", markup=False)
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
    if answer.unreachable or open_:
        leave(3)


def _tell_doubts(loaded_recipe: LoadedRecipe) -> None:
    """Warn of what the compatibility table does not know, as a real build does."""
    from stackbuild.plan.compatibility import doubts
    from stackbuild.views.console import err

    for line in doubts(loaded_recipe):
        err().print(f"warning: {line}", markup=False)


def choice_of(gfx: list[str] | None, until: str, python: list[str] | None = None) -> Choice:
    from stackbuild.core.interpreter import this_glibc, this_python
    from stackbuild.plan.resolve import Choice

    return Choice(tuple(gfx or ()), (this_python(),), until, tuple(python or ()), this_glibc())
