"""`stackbuild logs`: a line at a time, however long the lines are."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from stackbuild.views.store import draw_log


def test_a_log_is_drawn_without_being_held(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "x.log"
    with log.open("w") as file:
        file.write("first \x1b[31mred\x1b[0m \u202eback\n")
        for _ in range(200):
            file.write("x" * 100_000)
        file.write("\nlast\n")
    tracemalloc.start()
    draw_log(log)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    lines = capsys.readouterr().out.split("\n")
    joined = "".join(lines)
    assert joined.startswith("first red back") and joined.endswith("xxx…last") and joined.count("x") == 399
    assert most < 5_000_000
