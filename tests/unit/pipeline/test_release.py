"""What a whole build refuses before it makes anything."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from stackbuild.build.order import Order
from stackbuild.core.errors import UsageError
from stackbuild.core.resources import folder
from stackbuild.pipeline.release import release
from stackbuild.recipe.load import load
from support.recipes import text_of


def test_gates_without_a_baseline_end_a_build_before_it_has_a_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STACKBUILD_STORE", str(tmp_path / "store"))
    text = text_of("debian-13").replace("gates:\n", "gates:\n  - kind: baseline\n")
    (tmp_path / "mine.yaml").write_text(text)
    shutil.copy(folder("recipes") / "debian-13.lock.yaml", tmp_path / "mine.lock.yaml")
    with pytest.raises(UsageError, match="no baseline"):
        release(load(str(tmp_path / "mine.yaml")), Order(), ())
    assert not (tmp_path / "store" / "runs").exists()
