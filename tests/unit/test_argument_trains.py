"""Names that several calls in a row hand on together are one value: there are no argument trains."""

from __future__ import annotations

from pathlib import Path

import pytest
from argument_trains import trains

TRAIN = """
def first(url, ref, commit, mirror):
    second(ref, url, mirror=mirror, wanted=commit)


def second(ref, url, wanted, mirror):
    third(url, ref, wanted, mirror)


def third(url, ref, commit, mirror):
    return url
"""


def test_a_seeded_train_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("argument_trains.PACKAGE", tmp_path / "package")
    (tmp_path / "package").mkdir()
    file = tmp_path / "package" / "git.py"
    file.write_text(TRAIN)
    (train,) = trains(tmp_path / "package")
    assert train.endswith("git.py: third hand on commit, mirror, ref, url")
    file.write_text(TRAIN.replace("third(url, ref, wanted, mirror)", "third(url, ref, wanted, None)"))
    assert list(trains(tmp_path / "package")) == []


def test_stackbuild_has_none() -> None:
    assert sorted(set(trains())) == []
