"""Counters of a wheel on a target: what cannot be counted is refused before anything is made."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.core.errors import UsageError
from stackbuild.verification.emulated_counters import CounterRequest, count


@pytest.mark.parametrize(
    ("name", "message"), [("missing-1.0-py3-none-any.whl", "there is no such wheel"), ("notes.txt", "not a wheel")]
)
def test_what_is_no_wheel_is_refused_by_its_path(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "notes.txt").write_text("text")
    with pytest.raises(UsageError, match=message) as stopped:
        count(CounterRequest(tmp_path / name, "gfx1100", tmp_path))
    assert stopped.value.where == str(tmp_path / name)
