"""What a failed step says: the cause in words, the lines of its log that matter, and how to look at it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from stackbuild.build.cmake_log import unused_entries
from stackbuild.build.context import BrokenStep, BuildContext
from stackbuild.core.errors import MachineLacks
from stackbuild.core.log_excerpt import DISK_FULL, OUT_OF_MEMORY, clean, excerpt
from stackbuild.core.shell_words import shell_word, shell_words
from stackbuild.model.events import StepBroke
from stackbuild.model.plan import CONVERSION, Command, Step
from stackbuild.runners.protocol import ExecResult, Session
from stackbuild.store.disk import is_full
from stackbuild.store.store import StagingFolder, disk_full

LOG_END = 1 << 20
"""Bytes at the end of a log that causes are looked for in."""


@dataclass(frozen=True)
class FailedCommand:
    """A command that ends its step, with its log; `ignored_names` are the CMake cache entries that it did not use, `hindrance` is
    why it could not be begun."""

    step: Step
    command: Command
    result: ExecResult
    log: Path
    ignored_names: tuple[str, ...] = ()
    hindrance: str = ""


def ignored_options(step: Step, command: Command, log: Path, since: int) -> tuple[str, ...]:
    """CMake cache entries that the step gave and the configure phase reports as unused; `since` is an offset in the log."""
    if not step.must_use or command.phase != "configure":
        return ()
    with log.open("rb") as file:
        file.seek(since)
        return unused_entries(file.read().decode(errors="replace"), step.must_use)


def log_end(log: Path) -> str:
    """The last megabyte of a log: what failures are read from, however much was written."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - LOG_END))
        return file.read().decode("utf-8", "replace")


def raise_failure(failure: FailedCommand, staging: StagingFolder, session: Session, context: BuildContext) -> NoReturn:
    """Keep the step's folders, say what went wrong, and raise.

    Raises BrokenStep, MachineLacks where the disk is full or the engine failed.
    """
    step = failure.step
    text = _with_cuda_places(step, log_end(failure.log), failure.log, context)
    if DISK_FULL.search(text) and not failure.ignored_names and is_full(context.store.tmp):
        raise disk_full(context.store.root)
    exhausted = not failure.ignored_names and _ran_out(failure.result, text)
    what = _cause(failure, exhausted, text, context)
    (staging.root / "kept").write_text(session.snapshot())
    if not exhausted:
        staging.unmark()
    context.store.keep_failed(f"{context.recipe}.{step.name}", staging)
    look = f"stackbuild shell --recipe {shell_word(context.given_name)} {shell_word(step.name)}"
    command = shell_words(failure.command.argv)
    lines = tuple(line for line in excerpt(text) if line != clean(f"$ {command}"))  # it stands above them
    event = StepBroke(step.name, what, command, lines, str(failure.log), look)
    context.emit(event)
    raise BrokenStep(event)


def _ran_out(result: ExecResult, text: str) -> bool:
    """Whether memory ran out: by what was counted, and where nothing counts by the words of compilers in the log."""
    return bool(OUT_OF_MEMORY.search(text)) if result.out_of_memory is None else result.out_of_memory


def _cause(failure: FailedCommand, exhausted: bool, text: str, context: BuildContext) -> str:
    """Why the command ends its step, in words. Raises MachineLacks where the fault is the engine's."""
    if failure.hindrance:
        return failure.hindrance
    if failure.ignored_names:
        names = ", ".join(failure.ignored_names)
        return f"the project ignores {names}: renamed upstream, or a typing error; `unused_ok:` allows it"
    if exhausted:
        limit = failure.step.resources.memory >> 20
        return f"out of memory: it may use {limit} MiB; raise `memory:` of the component, or lower --jobs"
    if failure.result.code == 126 and failure.step.name and context.runner.name == "docker" and not text:
        raise MachineLacks(
            "the Docker engine could not start the command",
            where=failure.step.name,
            next="look at its log",
            topic="docker",
        )
    return f"exit code {failure.result.code}"


def _with_cuda_places(step: Step, text: str, log: Path, context: BuildContext) -> str:
    """The end of a log with places in a converted source as places in the CUDA source; those lines end the log, too."""
    for need in step.needs:
        record = context.store.find(need.key) if need.part else None
        if record is None:
            continue
        from stackbuild.hipify.tree.relocate import relocate_step

        moved_failure = relocate_step(text, context.store.tree(record.tree) / CONVERSION, need.at)
        pairs = zip(text.split("\n"), moved_failure.split("\n"), strict=True)
        if new_names := [new for old, new in pairs if new != old]:
            with log.open("a", encoding="utf-8") as file:
                file.write("\n".join(("", "# the same places in the CUDA source:", *new_names, "")))
        text = moved_failure
    return text
