"""A build tree that a step did not finish is resumed by the same step on the same inputs, and only while it can be trusted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from stackbuild.build import build_tree as buildtree
from stackbuild.build.build_tree import begin_tree
from stackbuild.model.plan import Command, Need, Step
from stackbuild.store import resume_mark
from stackbuild.store.records import Record
from stackbuild.store.resume_mark import MARK, UnfinishedMark
from stackbuild.store.store import StagingFolder, Store

CONFIGURE, BUILD = Command(("cmake",), "configure"), Command(("cmake", "--build"), "build")
STEP = Step("tool", "run", (Need("dep", "k1", "/deps/dep"),), commands=(CONFIGURE, BUILD))
TREES = {"dep": "t1"}
BY = ("r", "sandbox")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def store(root: Path) -> Iterator[Store]:
    made = Store(root, "run")
    yield made
    made.close()


def begin(store: Store, step: Step = STEP, trees: dict[str, str] = TREES, by: tuple[str, str] = BY) -> tuple[StagingFolder, str]:
    staging = store.stage(step.name)
    return staging, begin_tree(step, trees, staging, store, by)


def work(staging: StagingFolder, step: Step = STEP, log: str = ".ninja_log") -> None:
    tree = staging.build / step.name
    (tree / log).parent.mkdir(exist_ok=True)
    (tree / log).touch()
    (tree / "object.o").touch()
    (staging.out / "half").touch()
    (staging.upper / "etc").mkdir()
    (staging.build / ".ccache-stats").touch()


def stopped(root: Path, **words: object) -> None:
    """A run that was stopped in the middle of the step."""
    store = Store(root, "earlier")
    work(begin(store, **words)[0], words.get("step", STEP))  # type: ignore[arg-type]
    store.close()


def killed(root: Path, kept: tuple[str, ...] = ("r.tool",), **words: object) -> None:
    """The same killed: its lock goes with it, and its folder is found by the next."""
    store = Store(root, "earlier")
    store._alive.pop_all()
    staging = begin(store, **words)[0]  # type: ignore[arg-type]
    work(staging, words.get("step", STEP))  # type: ignore[arg-type]
    (root / "tmp" / "earlier.alive").unlink()
    (root / "tmp" / "earlier.alive").touch()
    cleaner = Store(root, "cleaner")
    reaped = cleaner.reap()
    assert reaped.runs == ("earlier",) and reaped.resumable == kept
    cleaner.close()


@pytest.mark.parametrize("end", [stopped, killed])
def test_it_is_gone_on_in_with_nothing_else_of_that_run(root: Path, end: object, store: Store) -> None:
    end(root)  # type: ignore[operator]
    staging, said = begin(store)
    assert "resumes" in said
    assert sorted(p.name for p in (staging.build / "tool").iterdir()) == [".ninja_log", "object.o"]
    assert [p.name for p in staging.build.iterdir()] == ["tool"], "the counts of that run's compiles are its own"
    assert not list(staging.out.iterdir()) and not list(staging.upper.iterdir())
    assert not list((root / "failed").iterdir())


def test_it_is_gone_on_in_as_often_as_runs_are_killed(root: Path, store: Store) -> None:
    for _ in range(3):
        killed(root)
    assert "resumes" in begin(store)[1]


@pytest.mark.parametrize(
    ("step", "trees"),
    [
        (replace(STEP, commands=(Command(("cmake", "-DX=1"), "configure"), BUILD)), TREES),
        (STEP, {"dep": "made again, with other bytes"}),
    ],
)
def test_other_inputs_begin_anew_and_leave_it_where_it_is(root: Path, store: Store, step: Step, trees: dict[str, str]) -> None:
    killed(root)
    staging, said = begin(store, step, trees)
    assert said == "" and not list((staging.build / "tool").iterdir())
    assert (root / "failed" / "r.tool" / "build" / "tool" / "object.o").exists()


def test_another_recipe_begins_anew(root: Path, store: Store) -> None:
    killed(root)
    assert begin(store, by=("other", "sandbox"))[1] == ""


def test_another_runner_begins_anew(root: Path, store: Store) -> None:
    """A container outlives the run that began it until the docker runner removes it."""
    killed(root, by=("r", "docker"))
    assert "docker runner's" in begin(store)[1]


def test_a_tree_that_ninja_has_not_begun_is_not_trusted(root: Path, store: Store) -> None:
    killed(root)
    (root / "failed" / "r.tool" / "build" / "tool" / ".ninja_log").unlink()
    assert "had not begun to compile" in begin(store)[1]


def test_a_link_in_place_of_the_tree_is_not_followed(root: Path, store: Store, tmp_path: Path) -> None:
    killed(root)
    tree = root / "failed" / "r.tool" / "build" / "tool"
    tree.rename(tmp_path / "elsewhere")
    tree.symlink_to(tmp_path / "elsewhere")
    staging, said = begin(store)
    assert "put another thing in its place" in said and not (staging.build / "tool").is_symlink()


def test_the_note_may_lie_one_folder_below(root: Path, store: Store) -> None:
    staging, _ = begin(store)
    work(staging, log="Release/.ninja_log")
    store.keep_failed("r.tool", staging)
    assert "resumes" in begin(store)[1]


def test_a_scripts_and_makes_commands_begin_anew(root: Path, store: Store) -> None:
    """They may not be such that they can be done twice; so do make's, and after a mere configure phase there is nothing to resume in."""
    for commands in ((BUILD,), (CONFIGURE,), (Command(("cmake", "-G", "Unix Makefiles"), "configure"), BUILD)):
        step = replace(STEP, commands=commands)
        killed(root, (), step=step)
        assert begin(store, step)[1] == "" and not list((root / "failed").iterdir())


def test_when_the_machine_went_down_a_killed_runs_tree_is_lost_and_a_stopped_ones_is_not(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files may name others whose bytes never reached the disk; what is stopped is flushed."""
    stopped(root)
    (tmp_path / "boot").write_text("another start\n")
    monkeypatch.setattr(resume_mark, "BOOT", tmp_path / "boot")
    now = Store(root, "now")
    assert "resumes" in begin(now)[1]
    now._alive.pop_all()  # killed, and the machine goes down
    (root / "tmp" / "now.alive").unlink()
    (root / "tmp" / "now.alive").touch()
    (tmp_path / "boot").write_text("a third\n")
    after = Store(root, "after")
    reaped = after.reap()
    assert reaped.lost_steps == ("r.tool",) and reaped.resumable == ()
    assert begin(after)[1] == "" and not (root / "failed" / "r.tool").exists()
    after.close()


def test_a_kept_tree_from_before_the_machine_went_down_says_why_it_is_not_used(
    root: Path, tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed(root)
    (tmp_path / "boot").write_text("another start\n")
    monkeypatch.setattr(resume_mark, "BOOT", tmp_path / "boot")
    assert "went down" in begin(store)[1]


def test_a_tree_that_a_process_still_writes_to_is_left_alone(root: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(root)
    monkeypatch.setattr(buildtree, "QUIET_SECONDS", 0.0)
    monkeypatch.setattr(buildtree, "is_written_to", lambda folder: folder == root / "failed" / "r.tool")
    assert "still writes" in begin(store)[1]


def test_a_step_that_failed_by_itself_is_kept_to_look_at_and_not_gone_on_in(root: Path, store: Store) -> None:
    staging, _ = begin(store)
    work(staging)
    staging.unmark()
    store.keep_failed("r.tool", staging)
    assert begin(store)[1] == ""
    assert (root / "failed" / "r.tool" / "build" / "tool" / "object.o").exists()


@pytest.mark.parametrize("bad", ["", "{", "[]", "null", '{"name": "r.tool"}', '{"name": 1, "inputs": 2, "runner": 3, "boot": 4}'])
def test_a_broken_mark_is_none(root: Path, store: Store, bad: str) -> None:
    killed(root)
    (root / "failed" / "r.tool" / MARK).write_text(bad)
    assert begin(store)[1] == ""


@pytest.mark.parametrize("name", ["r.other", "../tool", "../../x.tool", "/tmp/x.tool"])
def test_a_mark_of_another_name_is_nobodys(root: Path, name: str) -> None:
    dead = root / "tmp" / "dead" / "tool"
    store = Store(root, "run")
    dead.mkdir(parents=True)
    (dead / MARK).write_text(json.dumps({"name": name, "inputs": "x", "runner": "sandbox", "boot": ""}))
    (root / "tmp" / "dead.alive").touch()
    assert store.reap().resumable == ()
    assert not dead.exists() and not list((root / "failed").iterdir())
    store.close()


def test_a_removal_that_is_killed_leaves_nothing_that_is_trusted(root: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(root)
    monkeypatch.setattr("stackbuild.store.atomic.remove", lambda path: None)
    store.forget_failed("r.tool")
    assert (root / "failed" / "r.tool" / "build").exists() and UnfinishedMark.of(root / "failed" / "r.tool") is None


def test_a_tree_that_could_not_be_kept_at_the_end_of_its_run_is_found_by_the_next(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(root, "earlier")
    work(begin(store)[0])
    with monkeypatch.context() as patch, pytest.raises(OSError, match="weak disk"):
        patch.setattr(Store, "_lock_failed", failing)
        store.close()
    after = Store(root, "after")
    assert after.reap().resumable == ("r.tool",)
    after.close()
    assert not list((root / "tmp").iterdir())


def failing(store: Store, name: str) -> None:
    raise OSError("weak disk")


def test_a_dead_runs_tree_whose_output_is_there_by_now_goes(root: Path, store: Store) -> None:
    """Another run waited for its lock and made the step anew."""
    other = store.stage("tool")
    record = Record(STEP.key, "tool", "r", store.keep(other), STEP.key_text, 0.0, "run", "", {})
    store.record_alike(record, STEP.content_text(TREES))
    killed(root, ())
    assert not list((root / "failed").iterdir())


def test_a_finished_steps_tree_goes(root: Path, store: Store) -> None:
    killed(root)
    staging, _ = begin(store)
    store.keep(staging)
    store.forget_failed("r.tool")
    assert not list((root / "failed").iterdir()) and not staging.root.exists()


@pytest.mark.parametrize(
    ("row", "writable"),
    [
        ("41 30 254:1 /data/store/failed/r.tool/build /build rw,relatime - ext4 /dev/vda rw", True),
        ("41 30 254:1 /failed/r.tool/build /build rw - ext4 /dev/vdb rw", True),
        ("41 30 254:1 /data/store/failed/r.tool /mnt rw - ext4 /dev/vda rw", True),
        ("41 30 254:1 /data/store/failed/r.tool/build /build ro,relatime - ext4 /dev/vda rw", False),
        ("41 30 254:1 /data/store/failed/r.tool.cp312/build /build rw - ext4 /dev/vda rw", False),
        ("41 30 254:1 /data/store/failed/r.tool/build//deleted /build rw - ext4 /dev/vda rw", False),
        ("41 30 254:1 / / rw - ext4 /dev/vda rw", False),
    ],
)
def test_who_writes_to_a_tree_is_told_by_mounts(tmp_path: Path, row: str, writable: bool) -> None:
    assert resume_mark.shows_writable(f"20 1 0:5 / /proc rw - proc proc rw\n{row}\n", tmp_path / "failed" / "r.tool") == writable
