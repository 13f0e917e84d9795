"""A patch from an edited tree, applied to the source again."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from stackbuild.actions.job import Job
from stackbuild.actions.patching import apply_patches
from stackbuild.checks.patches import patch_findings
from stackbuild.core.cancel import Stopper
from stackbuild.core.digest import of_file
from stackbuild.core.errors import PlanError, RecipeError, UsageError
from stackbuild.model.lock import Lock
from stackbuild.model.plan import Step
from stackbuild.recipe.load import load
from stackbuild.sources.create_patch import Reason, changes, new_patch
from stackbuild.sources.local import LocalSource, content, survey
from stackbuild.sources.mirror import Mirror
from stackbuild.sources.patches import PatchSeries, apply, is_taken, series
from support.miniatures import repository

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


def test_a_patch_says_which_files_it_adds_changes_and_removes(trees: tuple[Path, Path, Path]) -> None:
    original, edited, folder = trees
    (original / "old").write_text("old\n")
    (edited / "build").mkdir()
    (edited / "build" / "o b").write_bytes(b"\0\1")
    path = new_patch(original, edited, folder, "a", REASON)
    assert set(changes(path)) == {"adds build/o b", "adds new.txt", "changes src/file.txt", "removes old"}


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


def test_a_patched_source_notes_which_patches_it_has(trees: tuple[Path, Path, Path], tmp_path: Path) -> None:
    """By which `explain` tells later which of them changed."""
    original, edited, folder = trees
    new_patch(original, edited, folder, "a", REASON)
    local = LocalSource(folder)
    step = Step("source.tool", "git", params=(("patches", content(local)),))
    job = Job(step, original, tmp_path, tmp_path / "log", Stopper(), {}, {"tool.patches": local})
    assert json.loads(apply_patches(job)["patches"]) == [list(row) for row in survey(local)]
    assert (original / "src" / "file.txt").read_text() == "one\n2\n"
    assert apply_patches(replace(job, step=Step("source.tool", "git"))) == {}


def test_a_patch_that_no_longer_applies_names_its_place(trees: tuple[Path, Path, Path]) -> None:
    original, edited, folder = trees
    new_patch(original, edited, folder, "a", REASON)
    (original / "src" / "file.txt").write_text("one\nthree\n")
    with pytest.raises(PlanError, match=r"src/file\.txt:1"):
        apply(original, series(folder))


RECIPE = """\
schema: 1
name: t
summary: patched
base: {debian: {suite: trixie, packages: [make]}}
gfx: [gfx90a]
sources:
  tool: {git: "https://github.com/org/tool", ref: v1, patches: tool/1.0}
components:
  tool: {kind: script, source: tool, run: [["true"]]}
"""
HEADER = "Why: it does not build\nUpstream: https://github.com/org/tool/pull/1\nRemove-When: 2.0\n\n"
CHANGE = "diff --git a/file.txt b/file.txt\n--- a/file.txt\n+++ b/file.txt\n@@ -1,2 +1,2 @@\n one\n-{}\n+{}\n"


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (("two", "2"), ""),  # still needed
        (("zwei", "two"), "SB-STACK-PATCH-TAKEN"),
        (("drei", "3"), "SB-STACK-PATCH-MISFIT"),
    ],
)
def test_recipe_check_says_which_patches_upstream_has_taken(
    change: tuple[str, str], rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = tmp_path / "upstream"
    tree.mkdir()
    (tree / "file.txt").write_text("one\ntwo\n")
    commit = repository(tree, tmp_path / "mirror" / "github.com" / "org" / "tool.git", ("v1",))
    folder = tmp_path / "patches" / "tool" / "1.0"
    folder.mkdir(parents=True)
    (folder / "0001-change.patch").write_text(HEADER + CHANGE.format(*change))
    (tmp_path / "t.yaml").write_text(RECIPE)
    loaded = load(str(tmp_path / "t.yaml"))
    lock = Lock.model_validate({"schema": 1, "asked": "0" * 64, "commits": {"tool": commit}})
    (unasked,) = patch_findings(loaded, lock, ask=False, mirror=None)
    assert "not checked against" in unasked.found
    assert [f.rule for f in patch_findings(loaded, lock, ask=True, mirror=Mirror(tmp_path / "mirror"))] == (
        [rule] if rule else []
    )


WITHOUT_CONTEXT = """Why: it is wrong
Upstream: none
Remove-When: 2.0
File-Digest: src/file.txt sha256:{digest}

diff --git a/src/file.txt b/src/file.txt
--- a/src/file.txt
+++ b/src/file.txt
@@ -1,0 +2 @@
+one and a half
"""


def without_context(folder: Path, digest: str) -> PatchSeries:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "0001-insert.patch").write_text(WITHOUT_CONTEXT.format(digest=digest))
    return series(folder)


def test_a_patch_without_context_lines_applies_to_the_very_file_that_it_was_made_for(
    trees: tuple[Path, Path, Path],
) -> None:
    original, edited, folder = trees
    made = without_context(folder, of_file(original / "src" / "file.txt"))
    assert apply(original, made) == ("0001-insert.patch",)
    assert (original / "src" / "file.txt").read_text() == "one\none and a half\ntwo\n"
    assert is_taken(original, made.patches[0])
    with pytest.raises(PlanError, match="upstream moved"):
        apply(edited, made)
    assert (edited / "src" / "file.txt").read_text() == "one\n2\n"


def test_a_file_digest_is_of_a_file_that_the_patch_changes(trees: tuple[Path, Path, Path]) -> None:
    folder = trees[2]
    with pytest.raises(RecipeError, match="not those of the files"):
        without_context(folder, "no digest")
