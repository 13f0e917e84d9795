"""A patch from an edited tree, applied to the source again."""

from pathlib import Path

import pytest

from stackbuild.errors import PlanError, UsageError
from stackbuild.newpatch import Reason, new_patch
from stackbuild.patches import apply, series

REASON = Reason("it does not build", "none", "2.0")


@pytest.fixture
def trees(tmp_path: Path) -> tuple[Path, Path, Path]:
    for name, text in (("original", "one\ntwo\n"), ("edited", "one\n2\n")):
        (tmp_path / name / "src").mkdir(parents=True)
        (tmp_path / name / "src" / "file.txt").write_text(text)
    (tmp_path / "edited" / "new.txt").write_text("new\n")
    return tmp_path / "original", tmp_path / "edited", tmp_path / "patches" / "tool" / "1.0"


def test_a_patch_of_an_edited_tree_makes_it_again(trees: tuple[Path, Path, Path]) -> None:
    original, edited, folder = trees
    path = new_patch(original, edited, folder, "Write digits!", REASON)
    assert path.name == "0001-write-digits.patch"
    assert apply(original, series(folder)) == (path.name,)
    assert (original / "src" / "file.txt").read_text() == "one\n2\n"
    assert (original / "new.txt").read_text() == "new\n"


def test_the_next_patch_has_the_next_number(trees: tuple[Path, Path, Path]) -> None:
    original, edited, folder = trees
    new_patch(original, edited, folder, "a", REASON)
    assert new_patch(original, edited, folder, "b", REASON).name == "0002-b.patch"


def test_equal_trees_and_empty_reasons_are_refused(trees: tuple[Path, Path, Path]) -> None:
    original, edited, folder = trees
    with pytest.raises(UsageError, match="equal"):
        new_patch(original, original, folder, "a", REASON)
    with pytest.raises(UsageError, match="Why"):
        new_patch(original, edited, folder, "a", Reason("", "none", "2.0"))
    assert not folder.exists()


def test_a_patch_that_no_longer_applies_names_its_place(trees: tuple[Path, Path, Path]) -> None:
    original, edited, folder = trees
    new_patch(original, edited, folder, "a", REASON)
    (original / "src" / "file.txt").write_text("one\nthree\n")
    with pytest.raises(PlanError, match=r"src/file\.txt:1"):
        apply(original, series(folder))
