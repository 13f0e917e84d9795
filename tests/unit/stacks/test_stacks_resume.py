"""A build tree that was left by a stopped or exhausted step is gone on in once, and by the same key only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from stackbuild.events import Event, Note
from stackbuild.perform import _begin_tree, _leave_tree
from stackbuild.plan import Command, Step
from stackbuild.store.store import Store

STEP = Step(name="tool", action="run", commands=(Command(("cmake",), "configure"),))
OTHER = Step(name="tool", action="run", commands=(Command(("cmake", "-DX=1"), "configure"),))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "store", "run")
    yield made
    made.close()


def begin(store: Store, step: Step) -> tuple[Path, list[Event]]:
    told: list[Event] = []
    staging = store.stage(step.name)
    shop = SimpleNamespace(store=store, recipe="r", emit=told.append)
    _begin_tree(step, staging, shop)  # type: ignore[arg-type]
    return staging.build / step.name, told


def leave(store: Store, step: Step, mark: bool) -> None:
    staging = store.stage(step.name)
    (staging.build / step.name).mkdir()
    (staging.build / step.name / "object.o").touch()
    folder = store.keep_failed(f"r.{step.name}", staging)
    if mark:
        _leave_tree(step, folder)


def test_a_marked_tree_of_the_same_key_is_gone_on_in_once(store: Store) -> None:
    leave(store, STEP, mark=True)
    tree, told = begin(store, STEP)
    assert (tree / "object.o").exists()
    assert isinstance(told[0], Note) and "goes on" in told[0].text
    again, _ = begin(store, STEP)
    assert not list(again.iterdir())


def test_another_key_begins_anew(store: Store) -> None:
    leave(store, STEP, mark=True)
    tree, told = begin(store, OTHER)
    assert not list(tree.iterdir()) and not told


def test_a_tree_whose_compiler_failed_is_kept_to_look_at_and_not_gone_on_in(store: Store) -> None:
    leave(store, STEP, mark=False)
    tree, _ = begin(store, STEP)
    assert not list(tree.iterdir())
    assert (store.root / "failed" / "r.tool" / "build" / "tool" / "object.o").exists()
