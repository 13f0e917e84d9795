"""Trees and their manifests: equal content is one tree, and every damage is found."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from stackbuild.store import atomic as files
from stackbuild.store import tree
from stackbuild.store.maintenance import check_store
from stackbuild.store.store import Store
from support.stores import KEY, again, fill, put


def test_the_same_content_is_one_tree_whatever_its_times_and_umask(store: Store) -> None:
    first = put(store)
    staging = store.stage("other")
    fill(staging.out)
    os.utime(staging.out / "tool", (1, 1))
    (staging.out / "tool").chmod(0o555)
    assert store.keep(staging) == first.tree


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
    for path in sorted(
        p
        for kind in ("trees", "manifests", "records")
        for p in (root / kind).rglob("*")
        if p.is_file() and not p.is_symlink()
    ):
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
        assert found is None or (found == record and fresh.check(found.tree) != ""), (
            f"{name} with other bytes was taken"
        )
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
