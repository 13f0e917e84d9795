"""The ladder, as far as no process is opened: what is no wheel is refused before a rung begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.core.errors import UsageError
from stackbuild.inspection import NOTHING
from stackbuild.verification.ladder import verify


@pytest.mark.parametrize(
    ("name", "message"),
    [("missing-1.0-py3-none-any.whl", "there is no such wheel"), ("notes.txt", "not a wheel"), ("f.whl", "not a wheel")],
)
def test_what_is_no_wheel_is_refused_by_its_path(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "notes.txt").write_text("text")
    (tmp_path / "f.whl").mkdir()
    with pytest.raises(UsageError, match=message) as stopped:
        verify((tmp_path / name,), lambda _: NOTHING)
    assert stopped.value.where == str(tmp_path / name)
