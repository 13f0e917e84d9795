"""What a step may hand over, and trees too deep for a path: refused or removed, never a crash."""

from __future__ import annotations

import os
import signal
import struct
from pathlib import Path

import pytest

from stackbuild.core.cancel import Stopper
from stackbuild.core.errors import Interruption
from stackbuild.store import atomic, tree
from stackbuild.store.maintenance import collect, unfinished_steps
from stackbuild.store.store import StagingFolder, Store
from stackbuild.store.tree import Bounds, OutOfBounds
from support.stores import again, deep


@pytest.fixture
def staging(store: Store) -> StagingFolder:
    return store.stage("s")


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


BOUNDS = Bounds(depth=4, path=40, entries=10, bytes=1000, sparse=100)


@pytest.mark.parametrize(
    ("said", "make"),
    [
        ("5 deep", lambda out: deep(out, 6)),
        ("a path of 41 bytes", lambda out: (out / ("n" * 41)).touch()),
        ("a path of 42 bytes", lambda out: (out / ("ü" * 21)).touch()),
        ("more than 10 files", lambda out: [(out / str(i)).touch() for i in range(11)]),
        ("all holes", lambda out: os.truncate(os.open(out / "sparse", os.O_CREAT | os.O_WRONLY), 101)),
        ("longer than", lambda out: os.truncate(os.open(out / "sparse", os.O_CREAT | os.O_WRONLY), 1001)),
    ],
)
def test_what_is_beyond_the_bounds_is_refused_before_it_is_read(tmp_path: Path, said: str, make: object) -> None:
    make(tmp_path)  # type: ignore[operator]
    with pytest.raises(OutOfBounds, match=said):
        tree.survey(tmp_path, BOUNDS)


def test_what_is_just_within_the_bounds_is_taken(tmp_path: Path) -> None:
    deep(tmp_path, 4)
    (tmp_path / ("n" * 40)).write_bytes(b"x" * 1000)
    assert len(tree.survey(tmp_path, BOUNDS)) == 9


def test_a_signal_ends_the_reading_of_a_tree(tmp_path: Path) -> None:
    (tmp_path / "long").touch()
    os.truncate(tmp_path / "long", 2 << 20)
    with Stopper().on_signals():
        text = tree.manifest(tree.survey(tmp_path))
        signal.raise_signal(signal.SIGTERM)
        for read in (tree.survey, tree.seal, lambda root: tree.difference(text, root)):
            with pytest.raises(Interruption):
                read(tmp_path)


def test_modes_that_only_harm_are_taken_away(store: Store, staging: StagingFolder) -> None:
    (staging.out / "su").touch()
    (staging.out / "su").chmod(0o6755)
    (staging.out / "shared").mkdir()
    (staging.out / "shared").chmod(0o2000)
    (staging.out / "open").mkdir()
    (staging.out / "open").chmod(0o1777)
    os.mkfifo(staging.out / "fifo")
    (staging.out / "fifo").chmod(0o666)
    staging.out.chmod(0o777)
    kept = store.tree(store.keep(staging))
    modes = [(kept / name).stat().st_mode & 0o7777 for name in ("", "open", "fifo")]
    assert modes == [0o755, 0o755, 0o600]
    assert (kept / "su").stat().st_mode & 0o7777 == 0o555
    assert (kept / "shared").stat().st_mode & 0o7777 == 0o700


CAPABILITY = struct.pack("<5I", 0x02000001, 1 << 7, 0, 0, 0)
"""cap_setuid+ep, as setcap writes it. Source: the kernel's `struct vfs_cap_data`."""


def test_no_extended_attribute_is_kept(store: Store, staging: StagingFolder) -> None:
    file, folder = staging.out / "file", staging.out / "folder"
    file.touch()
    folder.mkdir()
    for path in (staging.out, file, folder):
        os.setxattr(path, "user.of", b"a step")
    for path in (staging.out, folder):
        os.setxattr(path, "system.posix_acl_default", access_list(NOBODY))
    os.setxattr(file, "system.posix_acl_access", access_list(NOBODY))
    if os.geteuid() == 0:
        os.setxattr(file, "security.capability", CAPABILITY)
    file.chmod(0)
    kept = store.tree(store.keep(staging))
    assert [os.listxattr(path) for path in (kept, kept / "file", kept / "folder")] == [[], [], []]
    assert (kept / "file").stat().st_mode & 0o7777 == 0o400


NOBODY = 65534


def access_list(user: int) -> bytes:
    """A POSIX access control list with all rights for one user more. Source: the kernel's `posix_acl_xattr_entry`."""
    owner, named, group, mask, other = 1, 2, 4, 16, 32
    rows = ((owner, 7, -1), (named, 7, user), (group, 5, -1), (mask, 7, -1), (other, 5, -1))
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *row) for row in rows)


@pytest.mark.parametrize("kind", ["file", "link", "folder", "fifo"])
def test_whatever_it_is_it_is_removed_and_no_link_is_followed(tmp_path: Path, kind: str) -> None:
    kept, gone = tmp_path / "kept", tmp_path / "gone"
    kept.mkdir()
    (kept / "a").touch()
    make = {
        "file": gone.touch,
        "link": lambda: gone.symlink_to(kept),
        "folder": lambda: (gone.mkdir(), (gone / "out").symlink_to(kept), (gone / "shut").mkdir(), (gone / "shut").chmod(0)),
        "fifo": lambda: os.mkfifo(gone),
    }
    make[kind]()
    atomic.remove(gone)
    assert not os.path.lexists(gone) and (kept / "a").exists()
    atomic.remove(gone)
    atomic.remove(gone / "below" / "nothing")
