"""What a step may hand over, and trees too deep for a path: refused or removed, never a crash."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stackbuild.core.tree_walk import OutOfBounds
from stackbuild.store import atomic
from stackbuild.store.maintenance import collect, unfinished_steps
from stackbuild.store.store import StagingFolder, Store
from support.stores import again, deep


@pytest.mark.parametrize("name", ["d", "d" * 255])
def test_a_tree_3000_deep_is_removed_by_the_next_run(store: Store, staging: StagingFolder, name: str) -> None:
    for folder in (staging.out, staging.build, staging.upper):
        deep(folder, 3000, name)
    with pytest.raises(OutOfBounds, match=r"deep|bytes"):
        store.keep(staging)
    store._alive.pop_all()  # as if killed: nothing is cleared
    after = again(store)
    (store.root / "tmp" / f"{store.run}.alive").rename(store.root / "tmp" / "dead.alive")
    store.tmp.rename(store.root / "tmp" / "dead")
    assert "dead" in after.reap().runs
    assert not (store.root / "tmp" / "dead").exists()


def test_a_deep_build_tree_that_was_kept_is_told_and_collected(store: Store, staging: StagingFolder) -> None:
    deep(staging.build, 3000)
    store.keep_failed("r.s", staging)
    assert [row.name for row in unfinished_steps(store)] == ["r.s"]
    collect(store, 0, 4e9)
    assert unfinished_steps(store) == ()


def test_a_deep_tree_among_the_stored_ones_is_damage(store: Store, staging: StagingFolder) -> None:
    (staging.out / "a").touch()
    name = store.keep(staging)
    deep(store.tree(name), 3000)
    assert "deep" in again(store).check(name)
    atomic.remove(store.root / "quarantine")  # pytest cannot


@pytest.mark.parametrize("kind", ["file", "link", "folder", "fifo"])
def test_whatever_it_is_it_is_removed_and_no_link_is_followed(tmp_path: Path, kind: str) -> None:
    kept, gone = tmp_path / "kept", tmp_path / "gone"
    kept.mkdir()
    (kept / "a").touch()
    make = {
        "file": gone.touch,
        "link": lambda: gone.symlink_to(kept),
        "folder": lambda: (
            gone.mkdir(),
            (gone / "out").symlink_to(kept),
            (gone / "shut").mkdir(),
            (gone / "shut").chmod(0),
        ),
        "fifo": lambda: os.mkfifo(gone),
    }
    make[kind]()
    atomic.remove(gone)
    assert not os.path.lexists(gone) and (kept / "a").exists()
    atomic.remove(gone)
    atomic.remove(gone / "below" / "nothing")
