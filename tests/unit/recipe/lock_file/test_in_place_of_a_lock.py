"""What a checkout can put in place of a lock: nothing is waited for, and memory has a bound."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stackbuild.core.errors import LockError
from stackbuild.recipe.load import load
from stackbuild.recipe.lock_file import parse_lock
from support.paths import ROOT


@pytest.mark.parametrize("kind", ["fifo", "link to a device"])
def test_a_lock_that_is_no_file_is_refused(tmp_path: Path, kind: str) -> None:
    (tmp_path / "r.yaml").write_text((ROOT / "recipes/debian-13.yaml").read_text())
    lock = tmp_path / "r.lock.yaml"
    os.mkfifo(lock) if kind == "fifo" else lock.symlink_to("/dev/zero")
    with pytest.raises(LockError, match="not a file"):
        parse_lock(load(str(tmp_path / "r.yaml")))
