"""Locks that die with their holder."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from stackbuild.store import locks


def test_a_lock_tells_who_holds_it_and_is_free_when_let_go(tmp_path: Path) -> None:
    told: list[str] = []
    order: list[str] = []

    def second() -> None:
        with locks.hold(tmp_path / "l", told.append, lambda: None):
            order.append("second")

    with locks.hold(tmp_path / "l", told.append, lambda: None):
        thread = threading.Thread(target=second)
        thread.start()
        time.sleep(0.15)
        order.append("first")
    thread.join(5)
    assert order == ["first", "second"] and told == [str(os.getpid())]


def test_a_lock_file_that_is_removed_between_opening_and_locking_is_opened_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, real, tries = tmp_path / "l", locks._try, []

    def racing(fd: int) -> bool:
        tries.append(fd)
        if len(tries) == 1:
            path.unlink()  # as a reaper does that was just done with it
        return real(fd)

    monkeypatch.setattr(locks, "_try", racing)
    with locks.hold(path, lambda pid: None, lambda: None):
        assert path.read_text() == f"{os.getpid()}\n" and len(tries) == 2


def test_waiting_for_a_lock_can_be_broken_off(tmp_path: Path) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    with locks.hold(tmp_path / "l", lambda pid: None, lambda: None), pytest.raises(KeyboardInterrupt), locks.hold(tmp_path / "l", lambda pid: None, stop):
        pass


def test_a_lock_file_that_was_removed_meanwhile_is_no_lock(tmp_path: Path) -> None:
    """Two holders at once would follow if a lock on an unlinked file counted."""
    path = tmp_path / "l"
    with locks.hold(path, lambda pid: None, lambda: None):
        assert not locks.remove_dead(path, lambda: None)
        path.unlink()
        with locks.hold(path, lambda pid: None, lambda: None):
            assert path.exists()
    assert locks.remove_dead(path, lambda: None)
    assert not path.exists()
