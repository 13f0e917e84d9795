"""What a checkout can put in place of a patch: nothing is waited for, and memory has a bound."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stackbuild.core.errors import RecipeError
from stackbuild.sources.patches import series


@pytest.mark.parametrize("kind", ["fifo", "link to a device"])
def test_a_patch_that_is_no_file_is_refused(tmp_path: Path, kind: str) -> None:
    patch = tmp_path / "0001-a.patch"
    os.mkfifo(patch) if kind == "fifo" else patch.symlink_to("/dev/zero")
    with pytest.raises(RecipeError, match="no file that can be read"):
        series(tmp_path)
