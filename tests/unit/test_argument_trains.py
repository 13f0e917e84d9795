"""Names that several calls in a row hand on together are one value: there are no argument trains."""

from __future__ import annotations

from pathlib import Path

import pytest
from argument_trains import trains
from layout import ROOTS, Tree

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


def tree_of(tmp_path: Path, **texts: str) -> Tree:
    folder = tmp_path / "package"
    folder.mkdir()
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    return Tree(folder, "package", {})


@pytest.mark.parametrize("seed", SEEDS)
def test_a_seeded_train_is_found(seed: str, tmp_path: Path) -> None:
    text, values = SEEDS[seed]
    (train,) = trains(tree_of(tmp_path, git=text))
    assert train.endswith(f"git.py: third hand on {values}")


@pytest.mark.parametrize("value", ["None", "mirror.parent", "list(mirror)"])
def test_three_values_are_none(value: str, tmp_path: Path) -> None:
    text = TRAIN.replace("third(url, ref, wanted, mirror)", f"third(url, ref, wanted, {value})")
    assert list(trains(tree_of(tmp_path, git=text))) == []


@pytest.mark.parametrize("name", ["package", ""], ids=["package", "folder-on-the-path"])
def test_a_train_goes_through_imported_functions_alone(name: str, tmp_path: Path) -> None:
    """A function of the same name in another module is another function."""
    first, _, rest = TRAIN.partition("\n\n\n")
    source = f"from {name}.other import second\n" if name else "from other import second\n"
    folder = tree_of(tmp_path, git=source + first, other=rest).folder
    assert len(list(trains(Tree(folder, name, {})))) == 1
    (folder / "third.py").write_text(rest)
    (folder / "other.py").write_text("def second(ref, url, wanted, mirror):\n    return url\n")
    assert list(trains(Tree(folder, name, {}))) == []


@pytest.mark.parametrize("root", ROOTS, ids=lambda root: root.folder.name)
def test_no_tree_has_one(root: Tree) -> None:
    assert len(root.modules) > 40
    assert sorted(set(trains(root))) == []
