"""Records of runs: the last one, a killed one, none, and those that do not go together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stackbuild.core.errors import UsageError
from stackbuild.pipeline.run_record import find_run, read_run
from stackbuild.views.html import html
from stackbuild.views.markdown import markdown
from stackbuild.views.text import headline


def test_a_killed_runs_folder_is_still_drawn(tmp_path: Path) -> None:
    lines = [
        {"at": 100.0, "event": "RunStarted", "run": "r1", "recipe": "debian-13", "steps": [], "todo": [], "folder": ""},
        {"at": 101.0, "event": "StepStarted", "step": "base"},
        {
            "at": 111.0,
            "event": "StepFinished",
            "step": "base",
            "how": "run",
            "seconds": 10.0,
            "compiles": {"hits": 3, "misses": 1},
            "peak_memory": 2_500_000_000,
        },
        {"at": 111.0, "event": "StepStarted", "step": "kernels"},
        {"at": 112.0, "event": "Note", "level": "warning", "text": "moved on"},
        {"at": 113.0, "event": "SomethingNewer", "x": 1},
    ]
    (tmp_path / "events.jsonl").write_text("\n".join(map(json.dumps, lines)) + '\n{"at": 114, "ev')
    run = read_run(tmp_path)
    assert [(s.name, s.how, s.start) for s in run.steps] == [("base", "run", 1.0), ("kernels", "unfinished", 11.0)]
    assert headline(run) == ("kernels unfinished", "bad") and run.notes == ("moved on",)
    assert "ccache 75 % of 4 · 2.5 GB of memory" in html(run)
    assert "2.5 GB" in markdown(run)


def test_a_run_knows_how_its_wheels_are_used(tmp_path: Path) -> None:
    """Where its file was written by another version, the wheel is there without that."""
    line = {"at": 100.0, "event": "RunStarted", "run": "r1", "recipe": "debian-13", "steps": [], "todo": [], "folder": ""}
    (tmp_path / "events.jsonl").write_text(json.dumps(line))
    row = {"name": "x-1-py3-none-any.whl", "size": 1, "sha256": "ab" * 32}
    rows = [{**row, "usage": {"code": ["import x"], "places": ["GPU code for gfx1100: W7900"]}}, row, {**row, "usage": {"more": 1}}]
    (tmp_path / "wheels.json").write_text(json.dumps({"wheels": rows}))
    delivery = read_run(tmp_path).delivery
    assert [wheel.usage.gfx for wheel in delivery.wheels] == ["gfx1100", *["GPU targets not stated"] * 2]
    assert [usage.code for usage in delivery.usages] == [("import x",)]


def test_runs_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no file, folder or run is called 'nothing'"):
        find_run("nothing")
    with pytest.raises(UsageError, match=r"no events\.jsonl"):
        find_run(str(tmp_path))
    (tmp_path / "events.jsonl").write_text("")
    with pytest.raises(UsageError, match="no run was begun"):
        read_run(tmp_path)


def test_the_last_run_is_the_last_that_was_planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STACKBUILD_STORE", str(tmp_path))
    with pytest.raises(UsageError, match="no build was begun here yet"):
        find_run("last")
    started = {
        "at": 1.0,
        "event": "RunStarted",
        "run": "",
        "recipe": "debian-13",
        "steps": [],
        "todo": [],
        "folder": "",
    }
    stopped = {"at": 2.0, "event": "RunStopped", "run": "3", "what": "no step 'kernel'", "exit_code": 2}
    for name, event in (("1", started), ("2", started), ("3", stopped)):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "events.jsonl").write_text(json.dumps({**event, "run": name}) + "\n")
    assert find_run("last").facts["run"] == "2"
    with pytest.raises(UsageError, match=r"the latest runs are 1, 2;"):
        find_run("x")
    assert find_run("1").facts["run"] == "1"
