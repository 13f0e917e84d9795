"""Remembers instead of running. Ships in the product: `--dry-run` is built from it, and so are most tests."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from stackbuild.core.cancel import Stopper
from stackbuild.runners.protocol import Exec, Outcome, Room, Session

Answer = Callable[[Room, Exec], Outcome]


def leaves_a_mark(room: Room, exec: Exec) -> Outcome:
    """The answer of a dry run: every command succeeds and the output says what would have been run."""
    out = next(m.source for m in room.mounts if m.at == "/out")
    with (Path(out) / "commands").open("a", encoding="utf-8") as file:
        file.write(" ".join(exec.argv) + "\n")
    return Outcome(0, 0.0)


@dataclass
class Fake:
    """Every exec is kept in `ran`, and answered by `answer`."""

    answer: Answer = leaves_a_mark
    name: str = "fake"
    ran: list[tuple[Room, Exec]] = field(default_factory=list)

    @contextlib.contextmanager
    def open(self, room: Room) -> Iterator[Session]:
        yield _FakeSession(self, room)

    def revisit(self, room: Room, kept: str) -> contextlib.AbstractContextManager[Session]:
        return self.open(room)

    def reap(self) -> tuple[str, ...]:
        return ()


@dataclass
class _FakeSession:
    fake: Fake
    room: Room

    def run(self, exec: Exec, stopper: Stopper) -> Outcome:
        stopper.check()
        self.fake.ran.append((self.room, exec))
        return self.fake.answer(self.room, exec)

    def enter(self, argv: tuple[str, ...], env: tuple[tuple[str, str], ...], cwd: str) -> int:
        return 0

    def keep(self) -> str:
        return ""
