"""How deep, wide and long a tree may be, and what is taken from it."""

from __future__ import annotations

import os
import signal
import struct
from pathlib import Path

import pytest

from stackbuild.core.cancel import Stopper
from stackbuild.core.errors import Interruption
from stackbuild.core.tree_walk import Bounds, OutOfBounds
from stackbuild.store import tree
from stackbuild.store.store import StagingFolder, Store
from support.stores import deep

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
