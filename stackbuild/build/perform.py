"""Does one step: finds it in the store, or runs it in a session or on the host side, and keeps what it made."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from stackbuild.actions import Job
from stackbuild.build.build_tree import WENT_DOWN, begin_tree
from stackbuild.build.context import BadInput, BrokenStep, BuildContext, StepOutput
from stackbuild.build.failure import FailedCommand, ignored_options, log_end, raise_failure
from stackbuild.core.digest import of_value
from stackbuild.core.errors import Interruption, MachineLacks, Stop
from stackbuild.core.log_excerpt import excerpt
from stackbuild.core.plain_file import read_plain
from stackbuild.core.tree_walk import OutOfBounds
from stackbuild.model.events import Compiles, How, Note, StepBroke, StepFinished, StepStarted
from stackbuild.model.plan import CONVERSION, Step
from stackbuild.remote.ancestry import input_notes
from stackbuild.runners.protocol import Exec, ExecResult, Mount, SessionSpec
from stackbuild.store.atomic import write_hint
from stackbuild.store.records import PEAK_MEMORY, Record
from stackbuild.store.store import StagingFolder

STATISTICS, STATISTICS_MOST = ".ccache-stats", 64 << 20
"""ccache's log of hits and misses in `/build`, and how many of its bytes are read: some 60 a compile."""
REPORT_MOST = 256 << 20
"""Bytes of a conversion's report that are read."""


@dataclass(frozen=True)
class StepRun:
    """A step, the digests of the outputs that it needs, by step, and the folders that it runs in."""

    step: Step
    trees: Mapping[str, str]
    staging: StagingFolder


def perform(step: Step, trees: Mapping[str, str], context: BuildContext) -> StepOutput:
    """Make sure the step's output is in the store; `trees` are the outputs it needs, by step.

    Raises BrokenStep, BadInput, Stopped, MachineLacks.
    """

    waiting_names: list[str] = []

    def waiting(pid: str) -> None:
        waiting_names.append(pid)
        context.emit(Note("info", f"{step.name}: another stackbuild (pid {pid}) is at it; waiting"))

    with context.jobserver.token(context.stopper), context.store.lock(step.key, waiting, context.stopper.check):
        if record := context.find_record(step.key):
            return finish(step, record.tree, "cached", 0.0, context)
        if staging_tree := _taken_over(step, step.key_text, "r", context):
            return finish(step, staging_tree.tree, "cached", 0.0, context)
        if (
            waiting_names
        ):  # for one that may have been killed, and have left its build tree, and a container that writes to it
            report_removed(context.runner.reap(), context)
            recover(context)
        for name, tree in trees.items():
            if not is_sound(name, tree, context):
                raise BadInput(name)
        content = step.content_text(trees)
        if twin := context.find_record(step.content_key(trees)) or _taken_over(step, content, "c", context):
            context.store.record(replace(twin, key=step.key, key_text=step.key_text, like=twin.key))
            return finish(step, twin.tree, "reused", 0.0, context)
        return _make(step, trees, context)


def _taken_over(step: Step, text: str, kind: Literal["r", "c"], context: BuildContext) -> Record | None:
    """The record of an output that a remote had, by the text of the step's key (r) or content key (c)."""
    return context.sharing.take_over(step.name, text, kind) if context.sharing else None


def recover(context: BuildContext) -> None:
    """What killed runs left in the store: their build trees are kept to resume in, all else is removed."""
    reap_report = context.store.reap()
    report_removed(reap_report.runs, context)
    for name in reap_report.resumable:
        context.emit(Note("info", f"kept the build tree that a killed run had left of {name}"))
    for name in reap_report.lost_steps:
        context.emit(Note("warning", f"the build tree that a run had left of {name} is not resumed: {WENT_DOWN}"))


def report_removed(reap_report: tuple[str, ...], context: BuildContext) -> None:
    for what in reap_report:
        context.emit(Note("info", f"removed what a killed run had left: {what}"))


def is_sound(name: str, tree: str, context: BuildContext) -> bool:
    """Whether the stored output of that step has its digest; where not, it is in quarantine and a warning is out."""

    def begins(size: int) -> None:
        context.emit(Note("info", f"checking {name}, {size / 1e9:.2f} GB"))

    if reason := context.store.check(tree, begins):
        context.emit(
            Note("warning", f"{name}: its stored output is damaged ({reason}); put into quarantine, making it again")
        )
    return not reason


def finish(
    step: Step,
    tree: str,
    how: How,
    seconds: float,
    context: BuildContext,
    compiles: Compiles = Compiles(),
    peak_memory: int = 0,
    machine: str = "",
) -> StepOutput:
    """The step with its output, which is an event; `machine` is "" where this one ran it."""
    if step.action == "hipify":
        _keep_report(step, tree, context)
    context.emit(StepFinished(step.name, step.key, tree, how, seconds, compiles, peak_memory, machine))
    return StepOutput(step.name, step.key, tree, how, seconds)


def _keep_report(step: Step, tree: str, context: BuildContext) -> None:
    """Put what a conversion reported into the run's folder, also where it was made by an earlier run."""
    report = read_plain(context.store.tree(tree), CONVERSION, REPORT_MOST)
    if report is not None:
        write_hint(
            context.logs.parent / f"{step.name}.json", report.decode("utf-8", "surrogateescape"), context.store.tmp
        )


def _make(step: Step, trees: Mapping[str, str], context: BuildContext) -> StepOutput:
    staging = context.store.stage(step.name)
    log = context.logs / f"{step.name}.log"
    context.emit(StepStarted(step.name, step.key, str(log), context.expected_seconds.get(step.name, 0.0)))
    start_time = time.monotonic()
    run = StepRun(step, trees, staging)
    notes, compiles = (_in_session if step.action == "run" else _on_host)(run, log, context)
    seconds = time.monotonic() - start_time
    origin_notes = input_notes(context.store, {need.key: trees[need.step] for need in step.needs})
    before = context.store.find(step.key) if context.from_scratch else None
    tree = _keep(step, staging, log, context)
    if before is not None and before.tree != tree:
        context.emit(Note("warning", _differs(step.name, before)))
    record = Record(
        key=step.key,
        step=step.name,
        recipe=context.recipe,
        tree=tree,
        key_text=step.key_text,
        seconds=round(seconds, 3),
        made_by=context.run,
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        notes={**notes, **origin_notes},
    )
    context.store.record_alike(record, step.content_text(trees))
    context.store.record(record)  # last: with it the step is done
    context.store.forget_failed(f"{context.recipe}.{step.name}")
    return finish(step, tree, "run", seconds, context, compiles, int(notes.get(PEAK_MEMORY, 0)))


def _keep(step: Step, staging: StagingFolder, log: Path, context: BuildContext) -> str:
    """The digest of the step's output, in the store now. Raises BrokenStep where it is beyond the store's bounds."""
    try:
        return context.store.keep(staging)
    except OutOfBounds as beyond:
        staging.unmark()  # the same tree would give the same output
        event = StepBroke(step.name, f"its output is refused: {beyond.what}", "", (), str(log), beyond.next)
        context.emit(event)
        raise BrokenStep(event) from None


def _differs(step: str, before: Record) -> str:
    return (
        f"{step}: made from scratch, its output differs from the one that the store had (made {before.made_at} by run"
        f" {before.made_by}): the step is not reproducible, or that output came about by something else than its inputs"
    )


def _on_host(run: StepRun, log: Path, context: BuildContext) -> tuple[dict[str, str], Compiles]:
    step, staging = run.step, run.staging
    inputs = {name: context.store.tree(tree) for name, tree in run.trees.items()}

    def warn(text: str) -> None:
        context.emit(Note("warning", text))

    job = Job(step, staging.out, staging.work, log, context.stopper, inputs, context.locals, context.mirror, warn)
    try:
        return context.actions[step.action](job), Compiles()
    except (Interruption, MachineLacks):
        raise
    except Stop as stop:
        text = log_end(log) if log.exists() else ""
        what = stop.what if not stop.where or stop.where in stop.what else f"{stop.where}: {stop.what}"
        where = str(log) if log.exists() else ""
        event = StepBroke(step.name, what, f"({step.action})", excerpt(text), where, stop.next)
        context.emit(event)
        raise BrokenStep(event) from None


def _in_session(run: StepRun, log: Path, context: BuildContext) -> tuple[dict[str, str], Compiles]:
    step, staging = run.step, run.staging
    if context.from_scratch:
        (staging.build / step.name).mkdir()
    elif begun_tree := begin_tree(step, run.trees, staging, context.store, (context.recipe, context.runner.name)):
        context.emit(Note("info", begun_tree))
    spec = session_spec(run, context)
    env = tuple(sorted({**dict(step.env), **_live_env(run.trees, context)}.items()))
    peak = 0
    with context.runner.open(spec) as session:
        for command in step.commands:
            with log.open("a", encoding="utf-8") as file:
                file.write(f"$ {shlex.join(command.argv)}\n")
            before = log.stat().st_size
            if (tree := staging.build / step.name).is_symlink() or not tree.is_dir():
                not_run = ExecResult(1, 0.0, out_of_memory=False)
                hindrance = f"a command before this one put another thing in place of /build/{step.name}"
                raise_failure(FailedCommand(step, command, not_run, log, (), hindrance), staging, session, context)
            result = session.run(Exec(command.argv, env, f"/build/{step.name}", log), context.stopper)
            peak = max(peak, result.peak_memory)
            ignored_names = ignored_options(step, command, log, before) if result.code == 0 else ()
            if result.code != 0 or ignored_names:
                raise_failure(FailedCommand(step, command, result, log, ignored_names), staging, session, context)
    return {"runner": context.runner.name, **({PEAK_MEMORY: str(peak)} if peak else {})}, _compiles(staging)


def session_spec(run: StepRun, context: BuildContext) -> SessionSpec:
    """Where the step's commands run: its needs read-only, `/out` and `/build` its own, the jobserver that of the run."""
    step, trees, staging = run.step, run.trees, run.staging
    mounts = [Mount(context.store.tree(trees[n.step]) / n.part, n.at) for n in step.needs if n.at]
    mounts += [Mount(staging.out, "/out", writable=True), Mount(staging.build, "/build", writable=True)]
    mounts += [Mount(context.jobserver.path, "/jobserver", writable=True)]
    base = trees[step.base]
    if not context.from_scratch:
        mounts += [Mount(_compiler_cache(base, context), "/ccache", writable=True)]
    memory = step.resources.memory
    return SessionSpec(context.store.tree(base), base, staging.upper, staging.work, tuple(mounts), memory, context.run)


def _compiler_cache(base: str, context: BuildContext) -> Path:
    """The cache that steps of this recipe share, on this base and with this lock: none of another recipe's steps writes to
    it. Its time is that of its last use, for `store gc`."""
    folder = context.store.root / "ccache" / of_value([context.recipe, base, context.lock_digest])[:32]
    folder.mkdir(exist_ok=True)
    os.utime(folder)
    return folder


def _live_env(trees: Mapping[str, str], context: BuildContext) -> dict[str, str]:
    """Environment that cannot change an output and is in no key: the jobserver, and where ccache keeps its own."""
    return {
        **({"CCACHE_DISABLE": "1"} if context.from_scratch else {"CCACHE_DIR": "/ccache"}),
        "CCACHE_COMPILERCHECK": f"string:{trees['base']}",
        "CCACHE_SLOPPINESS": "include_file_mtime,include_file_ctime",
        "CCACHE_STATSLOG": f"/build/{STATISTICS}",
        "CCACHE_TEMPDIR": "/tmp",
        "MAKEFLAGS": context.jobserver.makeflags,
    }


def _compiles(staging: StagingFolder) -> Compiles:
    """What ccache's statistics log says of this step: one counter a line, file names as comments."""
    lines = (read_plain(staging.build, STATISTICS, STATISTICS_MOST) or b"").split()
    hits = lines.count(b"direct_cache_hit") + lines.count(b"preprocessed_cache_hit")
    return Compiles(hits=hits, misses=lines.count(b"cache_miss"))
