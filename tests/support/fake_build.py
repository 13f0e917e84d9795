"""A build context on the fake runner, for tests of the schedule: what a build is done with, without a process."""

from __future__ import annotations

import contextlib
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from stackbuild.actions import Job
from stackbuild.build.context import BuildContext
from stackbuild.build.jobserver import Jobserver
from stackbuild.build.sharing import RemoteSharing
from stackbuild.core.cancel import Stopper
from stackbuild.model.events import Event, StepFinished, StepStarted
from stackbuild.model.plan import Command, Need, Plan, Resources, Step
from stackbuild.remote.settings import Settings
from stackbuild.runners.fake import Fake
from stackbuild.runners.protocol import Exec, ExecResult, SessionSpec
from stackbuild.store.store import Store, new_run_id

BASE = Step("base", "debian", params=(("suite", "test"),))
MEMORY = 1 << 20


def output(spec: SessionSpec) -> Path:
    return next(m.source for m in spec.mounts if m.at == "/out")


@dataclass
class FakeCommands:
    """Answers the commands of a run, and remembers when each ran beside which."""

    failing: frozenset[str] = frozenset()
    same: frozenset[str] = frozenset()
    """Steps whose output does not depend on what they are made from."""
    seconds: float = 0.0
    memory: Mapping[str, int] = field(default_factory=dict)
    codes: Mapping[str, ExecResult] = field(default_factory=dict)
    during: Callable[[str], None] = lambda name: None
    events: list[Event] = field(default_factory=list)
    began: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    most_at_once: int = 0
    most_memory: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, spec: SessionSpec, exec: Exec) -> ExecResult:
        name = exec.argv[1]
        with self.lock:
            self.began.append(name)
            now = [n for n in self.began if n not in self.ended]
            self.most_at_once = max(self.most_at_once, len(now))
            if len(now) > 1:
                self.most_memory = max(self.most_memory, sum(self.memory.get(n, MEMORY) for n in now))
        self.during(name)
        time.sleep(self.seconds)
        (output(spec) / "made").write_text(
            name if name in self.same else f"{name} {exec.argv[2:]} {self._inputs(spec)}"
        )
        with self.lock:
            self.ended.append(name)
        if name in self.codes:
            return self.codes[name]
        return ExecResult(1 if name in self.failing else 0, 0.0)

    def _inputs(self, spec: SessionSpec) -> list[str]:
        return sorted((m.source / "made").read_text() for m in spec.mounts if m.at.startswith("/deps/"))

    def make_base(self, job: Job) -> dict[str, str]:
        with self.lock:
            self.began.append(job.step.name)
            self.ended.append(job.step.name)
        (job.out / "made").write_text(job.step.key)
        return {}

    @property
    def started(self) -> list[str]:
        return [e.step for e in self.events if isinstance(e, StepStarted)]

    def finished(self, kind: str) -> set[str]:
        return {e.step for e in self.events if isinstance(e, StepFinished) and e.how == kind}


def step(name: str, needs: tuple[Step, ...] = (), memory: int = MEMORY, word: str = "") -> Step:
    """A step that runs `make NAME [WORD]` on the base."""
    wired = (Need("base", BASE.key), *(Need(n.name, n.key, f"/deps/{n.name}") for n in needs))
    argv = ("make", name, *((word,) if word else ()))
    return Step(name, "run", wired, (), (Command(argv),), (), "base", Resources(memory))


def plan_of(*steps: Step, wanted: tuple[str, ...] = ()) -> Plan:
    used = {need.step for s in steps for need in s.needs}
    return Plan("t", (BASE, *steps), wanted or tuple(s.name for s in steps if s.name not in used))


@contextlib.contextmanager
def fast_folder() -> Iterator[Path]:
    """A folder in memory where there is one: these tests are not about the disk."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None, prefix="stackbuild-test-") as folder:
        yield Path(folder)


@contextlib.contextmanager
def fake_context(
    commands: FakeCommands,
    root: Path,
    jobs: int = 2,
    from_scratch: bool = False,
    remotes: Settings | None = None,
) -> Iterator[BuildContext]:
    store = Store(root, new_run_id())
    jobserver = Jobserver(store.tmp / "jobserver", jobs)
    logs = store.root / "runs" / store.run
    logs.mkdir()
    try:
        yield BuildContext(
            recipe="t",
            given_name="t",
            run=store.run,
            store=store,
            runner=Fake(commands.answer),
            jobserver=jobserver,
            stopper=Stopper(),
            emit=commands.events.append,
            logs=logs,
            locals={},
            mirror=None,
            actions={"debian": commands.make_base},
            expected_seconds={},
            lock_digest="",
            sharing=RemoteSharing("t", store, commands.events.append, lambda: None).open_remotes(remotes, from_scratch),
            from_scratch=from_scratch,
        )
    finally:
        jobserver.close()
        store.close()
