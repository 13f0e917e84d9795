"""What a publish refuses, and what it takes."""

from __future__ import annotations

import json
from pathlib import Path

from stackbuild.publishing.index import publish
from support.wheels import small_wheel


def test_a_summary_in_any_language_is_published(tmp_path: Path) -> None:
    index = tmp_path / "simple"
    publish((small_wheel(tmp_path / "a", headers=("Summary: Größe 模型",)),), index)
    assert "Größe 模型" in (index / "demo-pkg" / "index.html").read_text("utf-8")
    assert json.loads((index / "demo-pkg" / "index.json").read_text())["files"]
