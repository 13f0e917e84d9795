"""`shell` in what a hostile step left."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.build import shell
from stackbuild.build.schedule import Limits, schedule
from stackbuild.model.events import Note
from stackbuild.runners import fake
from support.fake_build import BASE, MEMORY, FakeCommands, fake_context, plan_of, step


@pytest.mark.parametrize("leave", [lambda tree: tree.symlink_to("/nonexist"), lambda tree: tree.touch()])
def test_a_build_tree_that_the_step_took_away(tmp_path: Path, leave: object, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    monkeypatch.setattr(fake._FakeSession, "exec_interactive", lambda self, argv, env, cwd: begun.append(cwd) or 0)
    commands = FakeCommands(failing=frozenset({"a"}))
    with fake_context(commands, tmp_path) as context:
        schedule(plan_of(step("a")), context, Limits(1, MEMORY))
        base = context.store.find(BASE.key)
        assert base is not None
        shell._enter(step("a"), {"base": base.tree}, context, ("pwd",))
        tree = tmp_path / "failed" / "t.a" / "build" / "a"
        tree.rename(tree.with_name("z"))
        leave(tree)  # type: ignore[operator]
        shell._enter(step("a"), {"base": base.tree}, context, ("pwd",))
    assert begun == ["/build/a", "/build"]
    (note,) = [event.text for event in commands.events if isinstance(event, Note) and "in place of" in event.text]
    assert note == "the step put another thing in place of /build/a; the shell begins in /build"
