"""A small build on the fake runner, in a process of its own that is there to be killed: `python -m support.killed_build STORE`."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from stackbuild.build.schedule import Limits, schedule
from stackbuild.core.errors import Stop
from stackbuild.machine.os_errors import machine_lack
from stackbuild.model.events import Note
from stackbuild.model.plan import Command, Need, Plan, Resources, Step
from stackbuild.runners.protocol import Exec, ExecResult, SessionSpec
from support.fake_build import BASE, MEMORY, FakeCommands, fake_context, output, plan_of, step

OBJECTS = 3
went_on: list[str] = []
"""What builds of this process said of trees that they resumed in."""


class BuildSystemCommands(FakeCommands):
    """The step `tool` is a build system's: its tree notes what is finished, and all else is made again."""

    def answer(self, spec: SessionSpec, exec: Exec) -> ExecResult:
        if exec.argv[0] != "cmake":
            return super().answer(spec, exec)
        tree = next(m.source for m in spec.mounts if m.at == "/build") / "tool"
        log, out = tree / ".ninja_log", output(spec) / "made"
        assert exec.argv[1] != "-S" or not out.exists(), "the output of a killed run is not handed on"
        for name in map(str, range(OBJECTS if exec.argv[1] == "--build" else 0)):
            if name not in (log.read_text().splitlines() if log.exists() else ()):
                (tree / name).write_text(f"object {name}\n")
                with log.open("a") as file:
                    file.write(f"{name}\n")
        if exec.argv[1] == "--install":
            out.write_text("".join((tree / str(i)).read_text() for i in range(OBJECTS)))
        return ExecResult(0, 0.0)


def tool(word: str = "") -> Step:
    commands = (("-S", "configure"), ("--build", "build"), ("--install", "install"))
    made = tuple(Command(("cmake", flag, word), phase) for flag, phase in commands)  # type: ignore[arg-type]
    return Step("tool", "run", (Need("base", BASE.key),), (), made, (), "base", Resources(MEMORY))


def plan() -> Plan:
    one = step("one")
    return plan_of(one, step("two", (one,)), step("three"), tool())


def build(root: Path) -> dict[str, str]:
    """Each step's output digest."""
    commands = BuildSystemCommands()
    with fake_context(commands, root) as context:
        context.store.reap()
        _, broken = schedule(plan(), context, Limits(2, MEMORY * 10))
        assert not broken
        went_on.extend(event.text for event in commands.events if isinstance(event, Note) and "goes on" in event.text)
        context.store.remember("0" * 64, {"verified": True})
        found = [(s.name, context.store.find(s.key)) for s in plan().steps]
        return {name: record.tree for name, record in found if record is not None}


def main() -> int:
    try:
        build(Path(sys.argv[1]))
    except (Stop, OSError) as error:
        stop = error if isinstance(error, Stop) else machine_lack(error)
        with contextlib.suppress(OSError):  # the fault may be meant for this very write
            os.write(2, f"{stop}\n".encode())
        return stop.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
