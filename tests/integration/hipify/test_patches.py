from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.core.errors import PlanError, RecipeError
from stackbuild.sources import patches
from stackbuild.sources.patch_drift import HunkChange

HEAD = "Why: the test\nUpstream: https://example.org/1\nRemove-When: never\n\n"
DIFF = "--- a/{0}\n+++ b/{0}\n@@ -1,3 +1,3 @@\n one\n-two\n+{1}\n three\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "src"
    folder.mkdir()
    (folder / "a.txt").write_text("one\ntwo\nthree\n")
    return folder


def write(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)


def test_patches_apply_in_the_order_of_their_numbers(source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "p"
    write(folder, "0002-b.patch", HEAD + DIFF.format("a.txt", "zwei").replace("-two", "-deux"))
    write(folder, "0001-a.patch", HEAD + DIFF.format("a.txt", "deux"))
    assert patches.apply(source, patches.series(folder)) == ("0001-a.patch", "0002-b.patch")
    assert (source / "a.txt").read_text() == "one\nzwei\nthree\n"


def test_a_hunk_that_no_longer_applies_names_the_rules_that_moved_it(source: Path, tmp_path: Path) -> None:
    (source / "a.txt").write_text("one\n2\nthree\n")
    folder = tmp_path / "p"

    def by_rule(file: str, changes: tuple[HunkChange, ...]) -> patches.HunkCause:
        assert (file, changes) == ("a.txt", (HunkChange("changed", 2, "2", ((0, 1, "two"),)),))
        return patches.HunkCause(("rule generic-x",), upstream=False)

    write(folder, "0001-a.patch", HEAD.replace("\n\n", "\nMoved-By: upstream 123\n\n") + DIFF.format("a.txt", "deux"))
    with pytest.raises(PlanError) as caught:
        patches.apply(source, patches.series(folder), by_rule)
    told = "0001-a.patch: the hunk at a.txt:1 does not apply; changed there by rule generic-x, upstream 123 (upstream"
    assert told in str(caught.value)
    assert (source / "a.txt").read_text() == "one\n2\nthree\n"


def test_a_missing_file_is_told(source: Path, tmp_path: Path) -> None:
    write(tmp_path / "p", "0001-a.patch", HEAD + DIFF.format("gone.txt", "x"))
    with pytest.raises(PlanError, match=r"gone\.txt.*upstream moved"):
        patches.apply(source, patches.series(tmp_path / "p"))


def test_a_repository_around_the_source_is_not_taken_for_it(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    source = tmp_path / "sub"
    source.mkdir()
    (source / "a.txt").write_text("one\ntwo\nthree\n")
    write(tmp_path / "p", "0001-a.patch", HEAD + DIFF.format("a.txt", "deux"))
    patches.apply(source, patches.series(tmp_path / "p"))
    assert "deux" in (source / "a.txt").read_text()


@pytest.mark.parametrize(
    ("name", "text", "mistake"),
    [
        ("a.patch", HEAD + DIFF.format("a.txt", "x"), "has no number"),
        ("0001-a.patch", DIFF.format("a.txt", "x"), "the header has no `Why:`"),
        ("0001-a.patch", HEAD + "no diff", "no unified diff"),
        ("0001-a.patch", HEAD + DIFF.format("../a.txt", "x"), "changes '../a.txt'"),
    ],
)
def test_what_is_wrong_with_a_patch_is_told_before_it_is_tried(
    name: str, text: str, mistake: str, tmp_path: Path
) -> None:
    write(tmp_path / "p", name, text)
    with pytest.raises(RecipeError) as caught:
        patches.series(tmp_path / "p")
    assert mistake in str(caught.value)


def test_no_folder_is_no_patches(tmp_path: Path) -> None:
    assert patches.series(tmp_path / "none").patches == ()
