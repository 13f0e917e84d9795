"""Yank and status of an index that stands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stackbuild.core.errors import UsageError
from stackbuild.publishing.index import publish
from stackbuild.publishing.maintenance import set_status, yank
from support.wheels import small_wheel


@pytest.mark.parametrize("spelt", ["plain-one", "plain_one", "Plain.One"])
def test_a_project_is_found_however_its_name_is_spelt(tmp_path: Path, spelt: str) -> None:
    index = tmp_path / "simple"
    publish((small_wheel(tmp_path / "a", name="plain-one"),), index)
    assert list(yank(index, spelt, "1.0", "bad").projects) == ["plain-one"]
    page = index / "plain-one" / "index.json"
    assert json.loads(page.read_text())["files"][0]["yanked"] == "bad"
    assert list(set_status(index, spelt, "quarantined", "stolen").projects) == ["plain-one"]
    assert json.loads(page.read_text())["project-status"]["status"] == "quarantined"
    assert sorted(path.name for path in index.iterdir() if path.is_dir() and not path.name.startswith(".")) == ["plain-one"]


def test_a_word_that_is_no_version_is_refused(tmp_path: Path) -> None:
    index = tmp_path / "simple"
    publish((small_wheel(tmp_path / "a"),), index)
    with pytest.raises(UsageError, match="'abc' is not a version"):
        yank(index, "demo-pkg", "abc", "bad")
