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

SEEDS = {
    "parameters": (TRAIN, "commit, mirror, ref, url"),
    "locals": (
        TRAIN.replace("first(url, ref, commit, mirror):", "first(order):\n    url, ref, commit, mirror = order"),
        "commit, mirror, ref, url",
    ),
    "attributes": (
        TRAIN.replace("first(url, ref, commit, mirror):", "first(source, mirror):").replace(
            "second(ref, url, mirror=mirror, wanted=commit)",
            "second(source.ref, source.at.url, mirror=mirror, wanted=source.commit)",
        ),
        "mirror, source.at.url, source.commit, source.ref",
    ),
    "a-chosen-function": (
        TRAIN.replace("    second(", "    (second if url else third)("),
        "commit, mirror, ref, url",
    ),
}


def file_of(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("argument_trains.PACKAGE", tmp_path / "package")
    (tmp_path / "package").mkdir(exist_ok=True)
    file = tmp_path / "package" / "git.py"
    file.write_text(text)
    return file


@pytest.mark.parametrize("seed", SEEDS)
def test_a_seeded_train_is_found(seed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, values = SEEDS[seed]
    file_of(text, tmp_path, monkeypatch)
    (train,) = trains(tmp_path / "package")
    assert train.endswith(f"git.py: third hand on {values}")


@pytest.mark.parametrize("value", ["None", "mirror.parent", "list(mirror)"])
def test_three_values_are_none(value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = TRAIN.replace("third(url, ref, wanted, mirror)", f"third(url, ref, wanted, {value})")
    file_of(text, tmp_path, monkeypatch)
    assert list(trains(tmp_path / "package")) == []


def test_a_train_goes_through_imported_functions_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function of the same name in another module is another function."""
    first, _, rest = TRAIN.partition("\n\n\n")
    file_of(f"from package.other import second\n{first}", tmp_path, monkeypatch)
    other = tmp_path / "package" / "other.py"
    other.write_text(rest)
    assert len(list(trains(tmp_path / "package"))) == 1
    (tmp_path / "package" / "third.py").write_text(rest)
    other.write_text("def second(ref, url, wanted, mirror):\n    return url\n")
    assert list(trains(tmp_path / "package")) == []


def test_stackbuild_has_none() -> None:
    assert sorted(set(trains())) == []
