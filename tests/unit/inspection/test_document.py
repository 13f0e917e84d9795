"""An inspection as JSON and as text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stackbuild.cli import app, load_commands
from stackbuild.core.errors import UsageError
from stackbuild.inspection import inspect, judge
from stackbuild.inspection.document import document
from support.binaries import GOOD, bundle, ccob, code_object, section

load_commands()


def test_the_document_has_everything_and_kernels_only_when_asked(tmp_path: Path):
    facts = inspect(GOOD.write(tmp_path))
    brief = json.loads(json.dumps(document(facts, judge(facts), kernels=False)))
    whole = json.loads(json.dumps(document(facts, judge(facts), kernels=True)))
    assert brief["device"][0]["bundles"][0]["objects"][0]["kernels"] == 3
    assert whole["device"][0]["bundles"][0]["objects"][0]["kernels"][0]["name"] == "gfx90a_a0"
    assert [t["target"] for t in brief["targets"]] == ["gfx90a", "gfx1100"]


def test_kernels_are_listed_in_json_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = str(GOOD.write(tmp_path))
    with pytest.raises(UsageError, match="JSON document only"):
        app(["inspect", path, "--kernels"], standalone_mode=False)
    app(["inspect", path, "--kernels", "--json"], standalone_mode=False)
    assert "gfx90a_a0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (code_object("gfx90a"), "x.co: 1 code object (V5)"),
        (bundle({"gfx90a": code_object("gfx90a")}), "1 bundle (plain), 1 code object (V5)"),
        (section([ccob(bundle({}))] * 2), "2 bundles (zstd v3), 0 code objects"),
    ],
)
def test_how_code_is_drawn(data: bytes, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "x.co").write_bytes(data)
    app(["inspect", str(tmp_path / "x.co")], standalone_mode=False)
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "GPU code" in line]
    assert line.rstrip().endswith(said)
