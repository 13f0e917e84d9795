"""Snapshots of source folders."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stackbuild.actions import snapshot
from stackbuild.core.errors import UsageError
from stackbuild.sources.local import LocalSource


def test_a_snapshot_sees_every_change_of_a_source(tmp_path: Path) -> None:
    folder = tmp_path / "src"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a.c").write_text("a")
    (folder / "run").write_text("x")
    (folder / "to-file").symlink_to("run")
    (folder / "to-folder").symlink_to("sub")
    (folder / "dangling").symlink_to("nowhere")
    seen = {snapshot.content(LocalSource(folder))}
    for change in (
        lambda: (folder / "sub" / "a.c").write_text("b"),
        lambda: (folder / "run").chmod(0o755),
        lambda: (folder / "sub" / "a.c").rename(folder / "sub" / "b.c"),
        lambda: ((folder / "to-file").unlink(), (folder / "to-file").symlink_to("sub/b.c")),
        lambda: ((folder / "to-folder").unlink(), (folder / "to-folder").symlink_to("/")),
        lambda: (folder / "new").touch(),
        lambda: (folder / "dangling").unlink(),
    ):
        change()
        seen.add(snapshot.content(LocalSource(folder)))
    assert len(seen) == 8
    before = snapshot.content(LocalSource(folder))
    os.utime(folder / "run", (1, 1))
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "x.pyc").touch()
    assert snapshot.content(LocalSource(folder)) == before


def test_what_is_no_file_in_a_source_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(UsageError, match="fifo"):
        snapshot.content(LocalSource(tmp_path))


def test_a_source_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not there"):
        snapshot.content(LocalSource(tmp_path / "gone"))
