"""What was read, in a line."""

from __future__ import annotations

from pathlib import Path

from stackbuild.cli import load_commands
from stackbuild.inspection import inspect
from support.binaries import GOOD

load_commands()


def test_summaries(tmp_path: Path):
    first, second = inspect(GOOD.write(tmp_path)).targets
    assert (first.target, first.kernels, first.working, first.objects, first.waves) == ("gfx90a", 5, 5, 2, (64,))
    assert second.target == "gfx1100"
