"""Trust between runs: a compiler cache of one recipe, base and lock; from scratch nothing that was made before."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from stackbuild.build.context import BuildContext
from stackbuild.build.perform import STATISTICS, StepRun, _compiles, session_spec
from stackbuild.build.schedule import Limits, schedule
from stackbuild.model.events import Note
from stackbuild.runners.protocol import SessionSpec
from support.fake_build import MEMORY, FakeCommands, fake_context, fast_folder, plan_of, step

ONE = step("one")
PLAN = plan_of(ONE, step("two", (ONE,)))


def cache_of(context: BuildContext, base: str = "b" * 64) -> Path | None:
    spec: SessionSpec = session_spec(StepRun(step("one"), {"base": base}, context.store.stage("one")), context)
    return next((mount.source for mount in spec.mounts if mount.at == "/ccache"), None)


def test_a_compiler_cache_is_shared_by_one_recipe_on_one_base_with_one_lock(tmp_path: Path) -> None:
    with fake_context(FakeCommands(), tmp_path / "store") as context:
        others = (replace(context, recipe="other"), replace(context, lock_digest="other"))
        found = [cache_of(context), *map(cache_of, others), cache_of(context, "c" * 64)]
        assert len(set(found)) == 4 and all(path is not None and path.is_dir() for path in found)
        assert cache_of(context) == found[0]
        assert all(path is not None and path.parent == context.store.root / "ccache" for path in found)


def test_from_scratch_every_step_runs_again_without_a_compiler_cache(tmp_path: Path) -> None:
    with fast_folder() as root:
        with fake_context(FakeCommands(), root) as context:
            schedule(PLAN, context, Limits(2, MEMORY * 10))
        commands = FakeCommands()
        with fake_context(commands, root) as context:
            schedule(PLAN, context, Limits(2, MEMORY * 10))
            assert commands.began == []
        with fake_context(commands, root, from_scratch=True) as context:
            schedule(PLAN, context, Limits(2, MEMORY * 10))
            assert sorted(commands.began) == ["base", "one", "two"] and commands.finished("run") == {"base", "one", "two"}
            assert cache_of(context) is None
            assert not [event for event in commands.events if isinstance(event, Note) and "from scratch" in event.text]


def test_an_output_that_is_another_one_from_scratch_is_told() -> None:
    with fast_folder() as root:
        with fake_context(FakeCommands(), root) as context:
            schedule(PLAN, context, Limits(2, MEMORY * 10))
            record = context.store.find(PLAN.by_name["two"].key)
            assert record is not None
            poisoned = context.store.stage("two")
            (poisoned.out / "made").write_text("answer=66")
            context.store.record(replace(record, tree=context.store.keep(poisoned)))
        commands = FakeCommands()
        with fake_context(commands, root, from_scratch=True) as context:
            schedule(PLAN, context, Limits(2, MEMORY * 10))
            said = [event.text for event in commands.events if isinstance(event, Note) and event.level == "warning"]
            assert len(said) == 1 and said[0].startswith("two: made from scratch, its output differs")
            found = context.store.find(PLAN.by_name["two"].key)
            assert found is not None and found.tree == record.tree


@pytest.mark.timeout(20)
def test_statistics_that_are_no_file_count_nothing(tmp_path: Path) -> None:
    with fake_context(FakeCommands(), tmp_path / "store") as context:
        staging = context.store.stage("one")
        os.mkfifo(staging.build / STATISTICS)
        assert _compiles(staging).hits == _compiles(staging).misses == 0
        (staging.build / STATISTICS).unlink()
        (tmp_path / "outside").write_text("direct_cache_hit\n")
        (staging.build / STATISTICS).symlink_to(tmp_path / "outside")
        assert _compiles(staging).hits == 0
        (staging.build / STATISTICS).unlink()
        (staging.build / STATISTICS).write_text("# a.c\ndirect_cache_hit\n# b.c\ncache_miss\n# c.c\npreprocessed_cache_hit\n")
        assert (_compiles(staging).hits, _compiles(staging).misses) == (2, 1)
