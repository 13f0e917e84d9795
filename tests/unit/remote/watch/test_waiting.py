"""Answers that come too slowly, that come after they were given up, and a disk without room."""

from __future__ import annotations

import shutil
import threading
import time
from collections import namedtuple
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stackbuild.remote.faults import RemoteFault
from stackbuild.remote.files import ExportFolder
from stackbuild.remote.protocol import ByteCounter
from stackbuild.remote.pull import Puller, TrustedRemote
from stackbuild.remote.watch import MinimumRate, Progress, Watch
from support.fake_build import fast_folder
from support.remotes import Said, asked, exported, open_at, puller, put, trusted


@pytest.fixture
def folder() -> Iterator[Path]:
    with fast_folder() as made:
        builder = open_at(made / "builder")
        put(builder)
        builder.close()
        exported(made / "builder", made / "export")
        yield made


class Tarpit(ExportFolder):
    """Serves its first pack a byte at a time until it is given up, and then writes on as fast as it can."""

    def __init__(self, folder: Path) -> None:
        super().__init__("file:///tarpit", folder)
        self.given_up = threading.Event()
        self.ended = threading.Event()

    def abort(self) -> None:
        self.given_up.set()

    @contextmanager
    def blob(self, digest: str, count: ByteCounter) -> Iterator[Tarpit.Slow]:  # type: ignore[override]
        with super().blob(digest, lambda size: None) as stored:
            yield Tarpit.Slow(self, stored, count)

    class Slow:
        def __init__(self, remote: Tarpit, stored: object, count: ByteCounter) -> None:
            self.remote, self.stored, self.count = remote, stored, count

        def read(self, size: int) -> bytes:
            self.remote.given_up.wait(0.02)
            piece: bytes = self.stored.read(1 if not self.remote.given_up.is_set() else size)  # type: ignore[attr-defined]
            self.count(len(piece))
            return piece


def test_a_slow_remote_is_given_up_and_another_is_asked(folder: Path) -> None:
    store, said = open_at(folder / "store"), Said()
    slow, sound = Tarpit(folder / "export"), ExportFolder("file:///sound", folder / "export")
    remotes = tuple(TrustedRemote(one, trusted()) for one in (slow, sound))
    began = time.monotonic()
    pulled = Puller(store, remotes, said, lambda: None, MinimumRate(window=0.4, rate=2000)).pull(asked())
    assert time.monotonic() - began < 20
    assert pulled is not None and pulled.origin.url == "file:///sound"
    assert len(said.warnings) == 1 and "too slow" in said.warnings[0]
    store._verified_trees.clear()
    assert store.check(pulled.record.tree) == ""  # what the first one still wrote is in a folder of its own


def test_a_full_disk_is_no_fault_of_the_remotes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, said = open_at(folder / "store"), Said()
    pulls = puller(store, ExportFolder("file:///x", folder / "export"), said)
    Usage = namedtuple("Usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(1 << 30, 1 << 30, 1 << 20))
    assert pulls.pull(asked()) is None
    assert "MiB and 256 MiB that a pull leaves free, got 1 MiB" in said.warnings[0]
    assert "no room" in said.warnings[0] and pulls.remotes[0].strikes == 0


def test_who_counts_on_is_stopped() -> None:
    progress = Progress()
    progress.count(5)
    progress.is_given_up = True
    with pytest.raises(RemoteFault, match="given up"):
        progress.count(5)
    assert progress.bytes == 5


def test_what_the_work_raises_comes_out() -> None:
    def work() -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        Watch(work, Progress(), lambda: None).run(lambda: None)
