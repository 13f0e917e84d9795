"""`build`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from stackbuild.cli.app import AllowPath, RecipeName, app, option
from stackbuild.cli.completion import steps
from stackbuild.cli.recipe_options import (
    Gfx,
    Jobs,
    MirrorOption,
    Pythons,
    RunnerName,
    Until,
    choice_of,
    tell_doubts,
    tell_open,
)
from stackbuild.cli.shared_options import TlsArguments, sharing

if TYPE_CHECKING:
    from stackbuild.build.context import BuildContext, StepPlacement
    from stackbuild.build.order import Order
    from stackbuild.core.errors import StepFailed
    from stackbuild.model.choice import Choice
    from stackbuild.model.loaded_recipe import LoadedRecipe
    from stackbuild.plan.current import CurrentPlan
    from stackbuild.verification.requirement import RequiredRungs


@dataclass(frozen=True)
class BuildArguments:
    """What is built of a recipe, how, and where its outputs come from."""

    until: Until = ""
    only: Annotated[
        str,
        option(
            "--only",
            metavar="STEP",
            help="Run this step alone; what it needs must be in the store.",
            autocompletion=steps,
        ),
    ] = ""
    gfx: Gfx = None
    python: Pythons = None
    mirror: MirrorOption = None
    runner: RunnerName = "auto"
    jobs: Jobs = 0
    keep_going: Annotated[
        bool, option("--keep-going", "-k", help="Go on past failures where nothing depends on them.")
    ] = False
    locked: Annotated[
        bool, option("--locked", help="Refuse what differs from the lock, also where the archive moved on.")
    ] = False
    fail_on_rebuild: Annotated[
        bool, option("--fail-on-rebuild", help="Fail (exit 3) when any step would have to run.")
    ] = False
    from_scratch: Annotated[
        bool,
        option(
            "--from-scratch",
            help="For releases: run every step, without compiler cache, earlier build trees and stored outputs.",
        ),
    ] = False
    require: Annotated[
        list[str] | None,
        option(
            "--require",
            metavar="[NAME:]RUNGS",
            help="Publish nothing where one of these was skipped, as in `verify`; may be repeated.",
        ),
    ] = None
    dry_run: Annotated[bool, option("--dry-run", help="Show the commands of every step that would run; run none.")] = (
        False
    )
    allow_path: AllowPath = None
    sign: Annotated[
        list[Path] | None,
        option("--sign", metavar="KEY", help="Sign the index with this OpenSSH ed25519 private key; may be repeated."),
    ] = None
    remote: Annotated[
        str, option("--remote", metavar="URL", help="Take outputs from this remote alone; needs --trust.")
    ] = ""
    trust: Annotated[
        list[Path] | None,
        option("--trust", metavar="FILE", help="Public key whose records of --remote count; may be repeated."),
    ] = None
    no_remote: Annotated[bool, option("--no-remote", help="Ask no remote and push to none.")] = False
    on: Annotated[
        str,
        option(
            "--on",
            metavar="ADDRESS",
            help="Let workers do the steps: the scheduler's address, as tcp+tls://HOST:PORT.",
            envvar="STACKBUILD_ON",
            show_envvar=False,
        ),
    ] = ""
    yes: Annotated[
        bool, option("--yes", "-y", help="Do not ask before a build of many hours; without a terminal nobody is asked.")
    ] = False
    json: Annotated[bool, option("--json", help="Stream the run's events as JSON lines on stdout.")] = False

    def refuse_contradictions(self) -> None:
        """Raises UsageError where two options do not go together, and for a runner that there is not."""
        from stackbuild.core.errors import UsageError
        from stackbuild.tables.runners import RUNNERS, runner_meant

        if self.until and self.only:
            raise UsageError("--until and --only cannot be used together", next="give one of them")
        if self.require and (self.until or self.only):
            raise UsageError(
                "--require is about a whole build: wheels are proved to their end there",
                next="leave out --until and --only, or --require",
            )
        if self.from_scratch and (self.only or self.fail_on_rebuild):
            other = "--only" if self.only else "--fail-on-rebuild"
            raise UsageError(f"--from-scratch runs every step, {other} does not", next="give one of them")
        if self.on and (self.from_scratch or self.no_remote or self.mirror):
            other = "--from-scratch" if self.from_scratch else "--no-remote" if self.no_remote else "--mirror"
            raise UsageError(
                f"--on and {other} cannot be used together: workers take inputs from the remote store, not from this machine",
                next="leave one out; a worker takes the mirror that its own STACKBUILD_MIRROR names",
            )

        if self.runner not in RUNNERS:
            raise UsageError(f"no runner {self.runner!r}", where="--runner", next=runner_meant(self.runner))

    @property
    def is_rehearsal(self) -> bool:
        """Whether no command runs. A rehearsal takes nothing from a mirror, so the environment's may be gone."""
        return self.dry_run or self.runner == "fake"

    @property
    def required_rungs(self) -> tuple[RequiredRungs, ...]:
        """Raises UsageError for an unknown rung."""
        if not self.require:
            return ()
        from stackbuild.verification.requirement import required_rungs_of

        return required_rungs_of(self.require)

    @property
    def choice(self) -> Choice:
        return choice_of(self.gfx, self.until or self.only, self.python)

    def order(self, loaded_recipe: LoadedRecipe, tls: TlsArguments) -> Order:
        """Raises a Stop for a key, a mirror, a remote or an address that cannot be used."""
        from stackbuild.build.order import Order
        from stackbuild.cli.shared_options import chosen_remotes
        from stackbuild.publishing.ssh_keys import load_signing_key
        from stackbuild.sources.mirror import mirror_of

        return Order(
            self.choice,
            self.runner,
            self.jobs,
            self.keep_going,
            self.locked,
            self.fail_on_rebuild,
            bool(self.only),
            tuple(map(load_signing_key, self.sign or ())),
            mirror_of(self.mirror, {} if self.is_rehearsal else os.environ),
            self.from_scratch,
            remotes=chosen_remotes(self.remote, self.trust or [], self.no_remote),
            place=self._placement(loaded_recipe, tls) if self.on and not self.is_rehearsal else None,
        )

    def _placement(
        self, loaded_recipe: LoadedRecipe, tls: TlsArguments
    ) -> Callable[[BuildContext], AbstractContextManager[StepPlacement]]:
        """Opens the connection to a scheduler. Raises UsageError for what is not an address, or not safe."""
        from stackbuild.cluster.address import TlsFiles, parse_address
        from stackbuild.cluster.open import placement

        address = parse_address(self.on, TlsFiles(tls.tls_ca, tls.tls_cert, tls.tls_key))
        usual = "docker" if loaded_recipe.recipe.base.image is not None else "sandbox"
        return placement(address, usual if self.runner == "auto" else self.runner)


@app.command()
@sharing(BuildArguments, TlsArguments)
def build(recipe: RecipeName, arguments: BuildArguments, tls: TlsArguments) -> None:
    """Build a recipe; verify, measure, judge and publish it.

    Example: stackbuild build --recipe debian-13
    """
    from stackbuild.core.errors import StepFailed
    from stackbuild.pipeline.release import release
    from stackbuild.recipe.load import load
    from stackbuild.views.build import print_event, view
    from stackbuild.views.release import draw_release

    arguments.refuse_contradictions()
    required_rungs = arguments.required_rungs
    if arguments.is_rehearsal:
        _rehearse(recipe, arguments, tls)
        return
    loaded_recipe = load(recipe, arguments.allow_path or ())
    order = arguments.order(loaded_recipe, tls)
    if arguments.json:
        release(loaded_recipe, order, (print_event,), required_rungs)
        return
    first_plan = None if arguments.yes or not sys.stdin.isatty() else _confirm_plan(loaded_recipe, order)
    with view() as watching:
        try:
            release_report = release(loaded_recipe, order, (watching,), required_rungs, first_plan)
        except StepFailed as stop:
            raise (_steps_failed(watching.failed_steps) if watching.failed_steps else stop) from None
    draw_release(release_report, order.choice.until)


def _rehearse(recipe: str, arguments: BuildArguments, tls: TlsArguments) -> None:
    """Show the commands of every step that would run."""
    from stackbuild.build.dry_run import dry
    from stackbuild.recipe.prepare import prepare
    from stackbuild.views.release import draw_dry_run

    prepared_recipe = prepare(recipe, arguments.choice, arguments.allow_path or ())
    tell_doubts(prepared_recipe)
    rehearsal = dry(prepared_recipe, arguments.order(prepared_recipe.loaded_recipe, tls))
    tell_open(rehearsal.open_warning)
    draw_dry_run(rehearsal.steps, arguments.json)


def _confirm_plan(loaded_recipe: LoadedRecipe, order: Order) -> CurrentPlan:
    """The plan of a build, that of many hours once the person at the terminal agrees. Raises UsageError."""
    from stackbuild.build.build import long_build
    from stackbuild.core.errors import UsageError
    from stackbuild.plan.current import plan_now
    from stackbuild.recipe.prepare import prepare_loaded
    from stackbuild.store.store import open_store

    prepared_recipe = prepare_loaded(loaded_recipe, order.choice)
    with open_store() as store:
        first_plan = plan_now(prepared_recipe, store)
        question = long_build(first_plan, order, store)
    if question and not _agrees(question):
        raise UsageError("the build was not begun", next="--yes begins without asking")
    return first_plan


def _steps_failed(steps: list[str]) -> StepFailed:
    """The end of a run whose failures are on the screen already. It does not repeat a cause, a log or a next step."""
    from stackbuild.core.errors import StepFailed

    return StepFailed(f"the build failed: {', '.join(steps)}")


def _agrees(question: str) -> bool:
    """The answer to a question on the terminal. Enter alone means yes, the end of the input means no."""
    from stackbuild.views.console import err

    err().print(question, markup=False, highlight=False)
    err().print("Begin? [Y/n] ", end="", markup=False)
    answer = sys.stdin.readline()
    return bool(answer) and answer.strip().lower() in ("", "y", "yes")
