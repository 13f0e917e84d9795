"""A disk is full when it says so itself."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from stackbuild.store.disk import is_full


def test_a_disk_with_room_is_not_full_and_keeps_nothing(tmp_path: Path) -> None:
    assert not is_full(tmp_path) and not list(tmp_path.iterdir())


@pytest.mark.parametrize(("error", "full"), [(errno.ENOSPC, True), (errno.EDQUOT, True), (errno.EOPNOTSUPP, False)])
def test_what_the_disk_answers_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int, full: bool) -> None:
    def refuse(*words: int) -> None:
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    assert is_full(tmp_path) is full
