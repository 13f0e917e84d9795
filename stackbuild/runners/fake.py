"""Remembers instead of running. Ships in the product: `--dry-run` is built from it, and so are most tests."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from stackbuild.core.cancel import Stopper
from stackbuild.runners.protocol import Exec, ExecResult, Session, SessionSpec

ExecHandler = Callable[[SessionSpec, Exec], ExecResult]


def write_commands(spec: SessionSpec, exec: Exec) -> ExecResult:
    """The answer of a dry run: every command succeeds and the output says what would have been run."""
    out = next(m.source for m in spec.mounts if m.at == "/out")
    with (Path(out) / "commands").open("a", encoding="utf-8") as file:
        file.write(" ".join(exec.argv) + "\n")
    return ExecResult(0, 0.0)


@dataclass
class Fake:
    """Every exec is kept in `ran`, and answered by `answer`."""

    answer: ExecHandler = write_commands
    name: str = "fake"
    ran: list[tuple[SessionSpec, Exec]] = field(default_factory=list)

    @contextlib.contextmanager
    def open(self, spec: SessionSpec) -> Iterator[Session]:
        yield _FakeSession(self, spec)

    def reopen(self, spec: SessionSpec, snapshot: str) -> contextlib.AbstractContextManager[Session]:
        return self.open(spec)

    def reap(self) -> tuple[str, ...]:
        return ()


@dataclass
class _FakeSession:
    fake: Fake
    spec: SessionSpec

    def run(self, exec: Exec, stopper: Stopper) -> ExecResult:
        stopper.check()
        self.fake.ran.append((self.spec, exec))
        return self.fake.answer(self.spec, exec)

    def exec_interactive(self, argv: tuple[str, ...], env: tuple[tuple[str, str], ...], cwd: str) -> int:
        return 0

    def snapshot(self) -> str:
        return ""
