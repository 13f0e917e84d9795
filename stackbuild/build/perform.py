"""Does one step: finds it in the store, or runs it in a session or on the host side, and keeps what it made."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from stackbuild.actions import Job
from stackbuild.build.build_tree import WENT_DOWN, begin_tree
from stackbuild.build.cmake_log import unused
from stackbuild.build.jobserver import Jobserver
from stackbuild.core.cancel import Stopper
from stackbuild.core.errors import MachineLacks, Stop, Stopped
from stackbuild.core.log_excerpt import DISK_FULL, OUT_OF_MEMORY, excerpt
from stackbuild.model.events import Compiles, Emit, How, Note, StepBroke, StepFinished, StepStarted
from stackbuild.model.plan import CONVERSION, Command, Step
from stackbuild.runners.protocol import Exec, Mount, Outcome, Room, Runner, Session
from stackbuild.sources.local import LocalSource
from stackbuild.sources.mirror import Mirror
from stackbuild.store.atomic import write_hint
from stackbuild.store.records import Record
from stackbuild.store.store import Staging, Store, full

LOG_END = 1 << 20


@dataclass(frozen=True)
class Built:
    """A step with its output: which tree, and how it came about."""

    step: str
    key: str
    tree: str
    how: How
    seconds: float


@dataclass(frozen=True)
class Workshop:
    """Everything a step is done with: one a run."""

    recipe: str
    called: str
    run: str
    store: Store
    runner: Runner
    jobserver: Jobserver
    stopper: Stopper
    emit: Emit
    logs: Path
    locals: Mapping[str, LocalSource]
    mirror: Mirror | None
    actions: Mapping[str, Callable[[Job], dict[str, str]]]
    expected: Mapping[str, float]


class Broken(Exception):
    """A step failed; its StepBroke has been emitted."""

    def __init__(self, event: StepBroke) -> None:
        super().__init__(event.what)
        self.event = event


class BadInput(Exception):
    """The output of a needed step did not verify and is in quarantine: it has to be made again."""

    def __init__(self, step: str) -> None:
        super().__init__(step)
        self.step = step


def perform(step: Step, trees: Mapping[str, str], shop: Workshop) -> Built:
    """Make sure the step's output is in the store; `trees` are the outputs it needs, by step.

    Raises Broken, BadInput, Stopped, MachineLacks.
    """

    waited: list[str] = []

    def waiting(pid: str) -> None:
        waited.append(pid)
        shop.emit(Note("info", f"{step.name}: another stackbuild (pid {pid}) is at it; waiting"))

    with shop.jobserver.token(shop.stopper), shop.store.lock(step.key, waiting, shop.stopper.check):
        if record := shop.store.find(step.key):
            return finished(step, record.tree, "cached", 0.0, shop)
        if waited:  # for one that may have been killed, and have left its build tree, and a container that writes to it
            tell_removed(shop.runner.reap(), shop)
            recover(shop)
        for name, tree in trees.items():
            if not is_sound(name, tree, shop):
                raise BadInput(name)
        if twin := shop.store.find(step.content_key(trees)):
            shop.store.record(replace(twin, key=step.key, key_text=step.key_text, like=twin.key))
            return finished(step, twin.tree, "reused", 0.0, shop)
        return _make(step, trees, shop)


def recover(shop: Workshop) -> None:
    """What killed runs left in the store: their build trees are kept to go on in, all else is removed."""
    left = shop.store.reap()
    tell_removed(left.runs, shop)
    for name in left.kept:
        shop.emit(Note("info", f"kept the build tree that a killed run had left of {name}"))
    for name in left.lost:
        shop.emit(Note("warning", f"the build tree that a run had left of {name} is not gone on in: {WENT_DOWN}"))


def tell_removed(left: tuple[str, ...], shop: Workshop) -> None:
    for what in left:
        shop.emit(Note("info", f"removed what a killed run had left: {what}"))


def is_sound(name: str, tree: str, shop: Workshop) -> bool:
    """Whether the stored output of that step has its digest; where not, it is in quarantine and a warning is out."""
    if reason := shop.store.check(tree):
        shop.emit(
            Note("warning", f"{name}: its stored output is damaged ({reason}); put into quarantine, making it again")
        )
    return not reason


def finished(step: Step, tree: str, how: How, seconds: float, shop: Workshop, compiles: Compiles = Compiles()) -> Built:
    if step.action == "hipify":
        _keep_report(step, tree, shop)
    shop.emit(StepFinished(step.name, step.key, tree, how, seconds, compiles))
    return Built(step.name, step.key, tree, how, seconds)


def _keep_report(step: Step, tree: str, shop: Workshop) -> None:
    """Put what a conversion reported into the run's folder, also where it was made by an earlier run."""
    report = shop.store.tree(tree) / CONVERSION
    if report.is_file():
        write_hint(shop.logs.parent / f"{step.name}.json", report.read_text("utf-8", "surrogateescape"), shop.store.tmp)


def _make(step: Step, trees: Mapping[str, str], shop: Workshop) -> Built:
    staging = shop.store.stage(step.name)
    log = shop.logs / f"{step.name}.log"
    shop.emit(StepStarted(step.name, step.key, str(log), shop.expected.get(step.name, 0.0)))
    started = time.monotonic()
    notes, compiles = (_in_session if step.action == "run" else _on_host)(step, trees, staging, log, shop)
    seconds = time.monotonic() - started
    tree = shop.store.keep(staging)
    record = Record(
        key=step.key,
        step=step.name,
        recipe=shop.recipe,
        tree=tree,
        key_text=step.key_text,
        seconds=round(seconds, 3),
        made_by=shop.run,
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        notes=notes,
    )
    shop.store.record_alike(record, step.content_key(trees))
    shop.store.record(record)  # last: with it the step is done
    shop.store.forget_failed(f"{shop.recipe}.{step.name}")
    return finished(step, tree, "run", seconds, shop, compiles)


def _on_host(
    step: Step, trees: Mapping[str, str], staging: Staging, log: Path, shop: Workshop
) -> tuple[dict[str, str], Compiles]:
    inputs = {name: shop.store.tree(tree) for name, tree in trees.items()}

    def warn(text: str) -> None:
        shop.emit(Note("warning", text))

    job = Job(step, staging.out, staging.work, log, shop.stopper, inputs, shop.locals, shop.mirror, warn)
    try:
        return shop.actions[step.action](job), Compiles()
    except (Stopped, MachineLacks):
        raise
    except Stop as stop:
        text = end_of(log) if log.exists() else ""
        event = StepBroke(step.name, stop.what, f"({step.action})", excerpt(text), str(log), stop.next)
        shop.emit(event)
        raise Broken(event) from None


def _in_session(
    step: Step, trees: Mapping[str, str], staging: Staging, log: Path, shop: Workshop
) -> tuple[dict[str, str], Compiles]:
    if said := begin_tree(step, trees, staging, shop.store, (shop.recipe, shop.runner.name)):
        shop.emit(Note("info", said))
    room = room_of(step, trees, staging, shop)
    env = tuple(sorted({**dict(step.env), **_live_env(trees, shop)}.items()))
    with shop.runner.open(room) as session:
        for command in step.commands:
            with log.open("a", encoding="utf-8") as file:
                file.write(f"$ {' '.join(command.argv)}\n")
            said_before = log.stat().st_size
            outcome = session.run(Exec(command.argv, env, f"/build/{step.name}", log), shop.stopper)
            ignored = _ignored(step, command, log, said_before) if outcome.code == 0 else ()
            if outcome.code != 0 or ignored:
                _fail(step, command.argv, outcome, (staging, log, session), shop, ignored)
    return {"runner": shop.runner.name}, _compiles(staging)


def _ignored(step: Step, command: Command, log: Path, since: int) -> tuple[str, ...]:
    """CMake cache entries that the step gave and the configure phase reports as unused."""
    if not step.must_use or command.phase != "configure":
        return ()
    with log.open("rb") as file:
        file.seek(since)
        return unused(file.read().decode(errors="replace"), step.must_use)


def end_of(log: Path) -> str:
    """The last megabyte of a log: what failures are read from, however much was written."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - LOG_END))
        return file.read().decode("utf-8", "replace")


def _against_cuda(step: Step, text: str, log: Path, shop: Workshop) -> str:
    """The end of a log with places in a converted source as places in the CUDA source; those lines end the log, too."""
    for need in step.needs:
        record = shop.store.find(need.key) if need.part else None
        if record is None:
            continue
        from stackbuild.hipify.tree.relocate import relocate_step

        told = relocate_step(text, shop.store.tree(record.tree) / CONVERSION, need.at)
        moved = [new for old, new in zip(text.split("\n"), told.split("\n"), strict=True) if new != old]
        if moved:
            with log.open("a", encoding="utf-8") as file:
                file.write("\n".join(("", "# the same places in the CUDA source:", *moved, "")))
        text = told
    return text


def room_of(step: Step, trees: Mapping[str, str], staging: Staging, shop: Workshop) -> Room:
    """Where the step's commands run: its needs read-only, `/out` and `/build` its own, ccache and jobserver shared."""
    mounts = [Mount(shop.store.tree(trees[n.step]) / n.part, n.at) for n in step.needs if n.at]
    mounts += [Mount(staging.out, "/out", writable=True), Mount(staging.build, "/build", writable=True)]
    mounts += [
        Mount(shop.store.root / "ccache", "/ccache", writable=True),
        Mount(shop.jobserver.path, "/jobserver", writable=True),
    ]
    base = trees[step.base]
    memory = step.resources.memory
    return Room(shop.store.tree(base), base, staging.upper, staging.work, tuple(mounts), memory, shop.run)


def _live_env(trees: Mapping[str, str], shop: Workshop) -> dict[str, str]:
    """Environment that cannot change an output and is in no key: the jobserver, and where ccache keeps its own."""
    return {
        "CCACHE_COMPILERCHECK": f"string:{trees['base']}",
        "CCACHE_DIR": "/ccache",
        "CCACHE_SLOPPINESS": "include_file_mtime,include_file_ctime",
        "CCACHE_STATSLOG": "/build/.ccache-stats",
        "CCACHE_TEMPDIR": "/tmp",
        "MAKEFLAGS": shop.jobserver.makeflags,
    }


def _compiles(staging: Staging) -> Compiles:
    """What ccache's statistics log says of this step: one counter a line, file names as comments."""
    path = staging.build / ".ccache-stats"
    lines = path.read_text(errors="replace").split() if path.exists() else []
    return Compiles(
        hits=lines.count("direct_cache_hit") + lines.count("preprocessed_cache_hit"), misses=lines.count("cache_miss")
    )


def _fail(
    step: Step,
    argv: tuple[str, ...],
    outcome: Outcome,
    scene: tuple[Staging, Path, Session],
    shop: Workshop,
    ignored: tuple[str, ...] = (),
) -> None:
    """Tell what went wrong, keep the step's folders, and raise."""
    staging, log, session = scene
    text = _against_cuda(step, end_of(log), log, shop)
    if DISK_FULL.search(text) and not ignored:
        raise full(shop.store.root)
    exhausted = False
    if ignored:
        what = f"the project ignores {', '.join(ignored)}: renamed upstream, or a typing error; `unused_ok:` allows it"
    elif outcome.out_of_memory or OUT_OF_MEMORY.search(text):
        limit = step.resources.memory >> 20
        exhausted = True
        what = f"out of memory: it may use {limit} MiB; raise `memory:` of the component, or lower --jobs"
    elif outcome.code == 126 and step.name and shop.runner.name == "docker" and not text:
        raise MachineLacks("the Docker engine could not start the command", where=step.name, next="look at its log")
    else:
        what = f"exit code {outcome.code}"
    (staging.root / "kept").write_text(session.keep())
    if not exhausted:
        staging.unmark()
    shop.store.keep_failed(f"{shop.recipe}.{step.name}", staging)
    look = f"stackbuild shell --recipe {shlex.quote(shop.called)} {step.name}"
    event = StepBroke(step.name, what, " ".join(argv), excerpt(text), str(log), look)
    shop.emit(event)
    raise Broken(event)
