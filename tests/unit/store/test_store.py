"""The store: whole or absent, verified on use, records last, bad entries in quarantine, locks that die with their holder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stackbuild.core import digest
from stackbuild.core.errors import MachineLacks
from stackbuild.core.tree_walk import open_folder, walk
from stackbuild.store.maintenance import check_store
from stackbuild.store.store import ReapReport, Store, default_root, new_run_id
from support.stores import KEY, again, put


def test_what_is_kept_is_found_again(store: Store) -> None:
    record = put(store)
    assert again(store).find(KEY) == record
    assert store.check(record.tree) == ""
    with open_folder(store.tree(record.tree)) as top:
        found = {one.path for one in walk(top)}
    assert found == {"sub", "sub/code", "tool", "link", "empty", "nothing"}
    assert not (store.tree(record.tree) / "tool").stat().st_mode & 0o222
    assert not list(store.tmp.iterdir())


@pytest.mark.parametrize("mask", [0o000, 0o002])
def test_nobody_else_may_write_to_a_store_whatever_the_mask(tmp_path: Path, mask: int) -> None:
    """A record that another user put there would be believed."""
    root = tmp_path / "store"
    before = os.umask(mask)
    try:
        for name in ("records/ab", "tmp"):
            (root / name).mkdir(parents=True)  # an older stackbuild made them so
        (root / "records/ab/x.json").touch()
        store = Store(root, new_run_id())
        put(store)
        store.remember("0" * 64, 1)
        store.close()
    finally:
        os.umask(before)
    lax = [path for path in (root, *root.rglob("*")) if not path.is_symlink() and path.stat().st_mode & 0o022]
    assert not lax


def test_a_folder_that_all_share_is_no_store(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    with pytest.raises(MachineLacks, match="all users may write"):
        Store(tmp_path, new_run_id())


def test_a_clean_store_raises_no_alarm(store: Store) -> None:
    put(store)
    assert check_store(again(store)) == ()
    assert not list((store.root / "quarantine").iterdir())


def test_a_content_key_is_found_by_its_own_text(store: Store) -> None:
    record = put(store)
    store.record_alike(record, "content\nneed base: 1\n")
    found = store.find(digest.of_text("content\nneed base: 1\n"))
    assert found and (found.tree, found.like) == (record.tree, record.key)


@pytest.mark.parametrize("bad", [b"", b"\0" * 65, b"../../../etc/passwd\n", b"\xff\xfe", b"a/b\n"])
def test_a_damaged_pointer_to_the_latest_is_as_if_there_was_none(store: Store, bad: bytes) -> None:
    record = put(store)
    assert store.latest("r") == (record,)
    (store.root / "latest" / "r.s.key").write_bytes(bad)
    assert store.latest("r") == ()


@pytest.mark.parametrize("kind", ["records", "manifests", "memos", "latest"])
@pytest.mark.parametrize("what", ["fifo", "folder", "link", "socket"])
def test_what_is_no_file_in_its_place_is_a_miss_and_not_waited_for(store: Store, kind: str, what: str) -> None:
    record = put(store)
    store.remember(KEY, 5)
    places = {
        "records": store.root / "records" / KEY[:2] / f"{KEY}.json",
        "memos": store.root / "memos" / KEY[:2] / f"{KEY}.json",
        "manifests": store.root / "manifests" / record.tree[:2] / record.tree,
        "latest": store.root / "latest" / "r.s.key",
    }
    place = places[kind]
    copy = store.root / "copy"
    place.rename(copy)
    make = {
        "fifo": lambda: os.mkfifo(place),
        "folder": place.mkdir,
        "link": lambda: place.symlink_to(copy),
        "socket": lambda: os.mknod(place, 0o140600),
    }
    make[what]()
    fresh = again(store)
    found = fresh.find(KEY)
    assert {
        "records": found is None,
        "manifests": found is None or fresh.check(found.tree) != "",
        "memos": fresh.recall(KEY) is None,
        "latest": fresh.latest("r") == (),
    }[kind]
    fresh.close()


def test_memos_are_checked_when_recalled(store: Store) -> None:
    value = {"a": [1, 2.5, "ü", None], "b": {"c": True}}
    store.remember(KEY, value)
    assert store.recall(KEY) == value
    assert store.recall(digest.of_text("other")) is None
    path = store.root / "memos" / KEY[:2] / f"{KEY}.json"
    good = path.read_bytes()
    for at in range(len(good)):
        path.write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :])
        assert store.recall(KEY) is None, at
    path.write_bytes(good[:-3])
    assert store.recall(KEY) is None
    path.write_bytes(good)
    other = digest.of_text("other")
    moved = store.root / "memos" / other[:2] / f"{other}.json"
    moved.parent.mkdir(exist_ok=True)
    moved.write_bytes(good)
    assert store.recall(other) is None


class Died(Exception):
    """Stands for a SIGKILL: nothing after it happens."""


def test_dying_at_any_step_of_keeping_leaves_no_half_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every call that changes the disk is made to be the last one, in turn. (Real SIGKILLs: tests/integration.)"""
    real = {name: getattr(os, name) for name in ("rename", "fsync", "mkdir", "unlink", "open", "chmod", "replace")}
    calls = points = 0

    def dying(name: str) -> object:
        def call(*args: object, **words: object) -> object:
            nonlocal calls
            calls += 1
            if calls == points:
                raise Died
            return real[name](*args, **words)

        return call

    for points in range(1, 400):
        root = tmp_path / f"store{points}"
        store = Store(root, "run-1")
        calls = 0
        with monkeypatch.context() as patch:
            for name in real:
                patch.setattr(os, name, dying(name))
            try:
                put(store)
                done = True
            except Died:
                done = False
        if done:
            break
        after = Store(root, "run-2")
        found = after.find(KEY)
        assert found is None or after.check(found.tree) == "", f"dying at call {points} left a half entry"
        assert put(after).tree
        assert after.check(after.find(KEY).tree) == ""
    else:
        pytest.fail("more points than expected")
    assert points > 25


def test_the_record_comes_after_everything_it_stands_on(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    real_rename, real_fsync = os.rename, os.fsync

    def rename(source: Path, target: Path, **words: object) -> None:
        order.append("rename " + Path(target).relative_to(store.root.parent).parts[1:2][0])
        real_rename(source, target)

    def fsync(fd: int) -> None:
        path = Path(f"/proc/self/fd/{fd}")
        inside = path.readlink().relative_to(store.root).parts
        order.append(f"fsync {'dir' if path.is_dir() else 'file'} {inside[0] if inside else '.'}")
        real_fsync(fd)

    monkeypatch.setattr(os, "rename", rename)
    monkeypatch.setattr(os, "fsync", fsync)
    put(store)
    renames = [row for row in order if row.startswith("rename")]
    assert renames == ["rename trees", "rename manifests", "rename records", "rename latest"]
    assert order[: order.index("rename trees")].count("fsync file tmp") == 4, (
        "three files of the tree, and its manifest"
    )
    assert order[order.index("rename trees") - 1] == "fsync dir tmp", order
    assert order[order.index("rename trees") + 1] == "rename manifests", order
    named = order[order.index("rename manifests") + 1 : order.index("rename records")]
    assert {"fsync dir trees", "fsync dir manifests"} <= set(named) and named[-1] == "fsync file tmp", order
    assert order[order.index("rename records") + 1] == "fsync dir records", order


def test_reaping_takes_the_dead_and_leaves_the_living(tmp_path: Path) -> None:
    living, me = Store(tmp_path / "store", "living"), Store(tmp_path / "store", "me")
    dead = tmp_path / "store" / "tmp" / "dead"
    (dead / "s" / "work" / "work").mkdir(parents=True)
    (dead / "s" / "work" / "work").chmod(0)  # as overlayfs leaves it
    (tmp_path / "store" / "tmp" / "dead.alive").touch()
    assert me.reap() == ReapReport(("dead",), (), ())
    assert me.reap() == ReapReport((), (), ())
    assert living.tmp.is_dir() and not dead.exists()
    living.close()
    assert not living.tmp.exists()


def test_a_folder_that_cannot_be_a_store_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MachineLacks) as caught:
        Store(tmp_path / "file" / "store", "r")
    assert caught.value.exit_code == 7 and "STACKBUILD_STORE" in caught.value.next


def test_a_store_of_another_format_is_left_alone_and_a_damaged_mark_mended(store: Store) -> None:
    record = put(store)
    for bad in ("", "\0\0", "x"):
        (store.root / "format").write_text(bad)
        assert again(store).find(KEY) == record
        assert (store.root / "format").read_text() == "1\n"
    (store.root / "format").write_text("2\n")
    with pytest.raises(MachineLacks, match="format '2'"):
        again(store)


def test_where_the_store_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert default_root() == tmp_path / "store"
    monkeypatch.delenv("STACKBUILD_STORE")
    assert default_root() == tmp_path / "xdg-cache" / "stackbuild" / "store"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert default_root() == tmp_path / "home" / ".cache" / "stackbuild" / "store"
