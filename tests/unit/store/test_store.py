"""The store: whole or absent, verified on use, records last, bad entries in quarantine, locks that die with their holder."""

from __future__ import annotations

import json
import os
import random
from dataclasses import replace
from pathlib import Path

import pytest

from stackbuild.core import digest
from stackbuild.core.errors import MachineLacks
from stackbuild.store import atomic as files
from stackbuild.store import tree
from stackbuild.store.maintenance import check_store
from stackbuild.store.records import Record
from stackbuild.store.store import ReapReport, Store, default_root, new_run_id
from support.stores import KEY, again, fill, put


def test_what_is_kept_is_found_again(store: Store) -> None:
    record = put(store)
    assert again(store).find(KEY) == record
    assert store.check(record.tree) == ""
    with tree.open_folder(store.tree(record.tree)) as top:
        found = {one.path for one in tree.walk(top)}
    assert found == {"sub", "sub/code", "tool", "link", "empty", "nothing"}
    assert not (store.tree(record.tree) / "tool").stat().st_mode & 0o222
    assert not list(store.tmp.iterdir())


def test_the_same_content_is_one_tree_whatever_its_times_and_umask(store: Store) -> None:
    first = put(store)
    staging = store.stage("other")
    fill(staging.out)
    os.utime(staging.out / "tool", (1, 1))
    (staging.out / "tool").chmod(0o555)
    assert store.keep(staging) == first.tree


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


@pytest.mark.parametrize("change", ["content", "mode", "name", "link", "kind", "extra", "less"])
def test_every_difference_is_another_tree(store: Store, change: str) -> None:
    first = put(store)
    staging = store.stage("other")
    out = staging.out
    fill(out)
    {
        "content": lambda: (out / "sub/code").write_bytes(b"\x00\x01" * 499 + b"\x00\x02"),
        "mode": lambda: (out / "tool").chmod(0o644),
        "name": lambda: (out / "tool").rename(out / "toll"),
        "link": lambda: ((out / "link").unlink(), (out / "link").symlink_to("sub/codE")),
        "kind": lambda: ((out / "empty").rmdir(), (out / "empty").touch()),
        "extra": lambda: (out / "more").touch(),
        "less": lambda: (out / "nothing").unlink(),
    }[change]()
    assert store.keep(staging) != first.tree


def test_names_that_are_no_text_and_names_with_newlines_survive(store: Store) -> None:
    staging = store.stage("s")
    for name in (b"\xff\xfe", b"a\nb", b'q"uote', b"back\\slash", "\u2028".encode()):
        (staging.out / os.fsdecode(name)).write_text("x")
    kept = store.keep(staging)
    assert again(store).check(kept) == ""
    assert len(list(store.tree(kept).iterdir())) == 5


def damages(root: Path, chosen: random.Random) -> list[tuple[str, bytes]]:
    """Ways a file's bytes can go bad, for every file of the store that an answer depends on."""
    found = []
    for path in sorted(p for kind in ("trees", "manifests", "records") for p in (root / kind).rglob("*") if p.is_file() and not p.is_symlink()):
        data = path.read_bytes()
        name = str(path.relative_to(root))
        ways = [b"", data[: len(data) // 2], b"\0" * len(data), data + b"x", data[1:]]
        for _ in range(5):
            at, bit = chosen.randrange(max(1, len(data) * 8)) // 8, 1 << chosen.randrange(8)
            ways.append(data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :] if data else b"y")
        found += [(name, way) for way in ways if way != data]
    return found


def test_every_damage_is_detected_before_use(store: Store) -> None:
    record = put(store)
    cases = damages(store.root, random.Random(7))
    assert len(cases) > 35
    for name, bad in cases:
        path = store.root / name
        good, mode = path.read_bytes(), path.stat().st_mode
        path.chmod(0o644)
        path.write_bytes(bad)
        path.chmod(mode)
        fresh = again(store)
        found = fresh.find(KEY)
        assert found is None or (found == record and fresh.check(found.tree) != ""), f"{name} with other bytes was taken"
        assert list((store.root / "quarantine").iterdir()), name
        fresh.close()
        put(store)  # what a build does about it
        store._verified_trees.clear()
        assert path.read_bytes() == good
        for old in (store.root / "quarantine").iterdir():
            files.remove(old)


@pytest.mark.parametrize("harm", ["mode", "unlink", "extra", "retarget", "swap-kind"])
def test_damage_that_is_no_byte_is_detected(store: Store, harm: str) -> None:
    record = put(store)
    root = store.tree(record.tree)
    {
        "mode": lambda: (root / "tool").chmod(0o777),
        "unlink": lambda: (root / "nothing").unlink(),
        "extra": lambda: (root / "empty" / "guest").touch(),
        "retarget": lambda: ((root / "link").unlink(), (root / "link").symlink_to("/etc/passwd")),
        "swap-kind": lambda: ((root / "empty").rmdir(), (root / "empty").symlink_to("/")),
    }[harm]()
    fresh = again(store)
    assert [d.tree for d in check_store(fresh)] == [record.tree]
    assert fresh.find(KEY) is None
    assert check_store(fresh) == ()


def test_a_tree_and_its_manifest_changed_together_are_detected(store: Store) -> None:
    record = put(store)
    root, manifest = store.tree(record.tree), store.root / "manifests" / record.tree[:2] / record.tree
    (root / "tool").chmod(0o755)
    (root / "tool").write_text("#!/bin/evil\n")
    (root / "tool").chmod(0o555)
    manifest.write_text(tree.manifest(tree.survey(root)))
    assert "manifest" in again(store).check(record.tree)


def test_every_character_of_a_record_is_covered_by_its_digest(store: Store) -> None:
    record = put(store)
    text = record.text()
    for at in range(len(text)):
        for other in ("0", "a"):
            changed = text[:at] + other + text[at + 1 :]
            try:
                found = Record.read(changed)
            except ValueError:
                continue
            assert changed == text or found == record, f"{text[at - 20 : at + 20]!r} may change unseen"


@pytest.mark.parametrize(
    "other",
    [
        {"notes": {"packages": "not json"}},
        {"notes": {"packages": "[1]"}},
        {"notes": {"patches": '{"a": 1}'}},
        {"notes": ["a"]},
        {"seconds": float("nan")},
        {"seconds": 10**400},
    ],
)
def test_a_record_that_no_step_writes_is_none(store: Store, other: dict[str, object]) -> None:
    """An older stackbuild took such records from remotes. Every later plan would stop at them."""
    store.record(replace(put(store), **other))  # type: ignore[arg-type]
    assert again(store).find(KEY) is None
    assert list((store.root / "quarantine").iterdir())


def test_a_clean_store_raises_no_alarm(store: Store) -> None:
    put(store)
    assert check_store(again(store)) == ()
    assert not list((store.root / "quarantine").iterdir())


def test_a_record_is_believed_only_under_its_own_key(store: Store) -> None:
    record = put(store)
    other = digest.of_text("other")
    path = store.root / "records" / other[:2] / f"{other}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(record.text())
    assert store.find(other) is None


def test_a_record_whose_text_has_another_key_is_not_believed(store: Store) -> None:
    """A whole record with the right digest, put there for a step that it is not about."""
    record = put(store)
    wanted = digest.of_text("step: wanted\n")
    for forged in (replace(record, key=wanted), replace(record, key=wanted, like=record.key)):
        store.record(forged)
        assert store.find(wanted) is None
    assert len(list((store.root / "quarantine").iterdir())) == 2


def test_a_content_key_is_found_by_its_own_text(store: Store) -> None:
    record = put(store)
    store.record_alike(record, "content\nneed base: 1\n")
    found = store.find(digest.of_text("content\nneed base: 1\n"))
    assert found and (found.tree, found.like) == (record.tree, record.key)


@pytest.mark.parametrize("text", ["", "[" * 200_000, "{}", "[]", "null", "5", '"x"', "{", '{"schema": "stackbuild.record/1"}', "\x00" * 50])
def test_what_is_no_record_is_a_miss(store: Store, text: str) -> None:
    put(store)
    path = store.root / "records" / KEY[:2] / f"{KEY}.json"
    path.write_text(text)
    assert store.find(KEY) is None
    assert not path.exists()


def test_record_with_another_schema_is_a_miss(store: Store) -> None:
    body = json.loads(put(store).text())
    body["schema"] = "stackbuild.record/99"
    body["sha256"] = digest.of_value({k: v for k, v in body.items() if k != "sha256"})
    with pytest.raises(ValueError, match="schema"):
        Record.read(json.dumps(body))


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
    assert order[: order.index("rename trees")].count("fsync file tmp") == 4, "three files of the tree, and its manifest"
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
