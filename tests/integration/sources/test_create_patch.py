"""`patch new`: what it writes makes the edited tree of the original, whatever lies in the trees."""

import os
import subprocess
from pathlib import Path

import pytest

from stackbuild.core.errors import UsageError
from stackbuild.sources.create_patch import Reason, new_patch
from stackbuild.sources.patches import apply, series

REASON = Reason("it crashes", "none", "2.0")


@pytest.fixture
def trees(tmp_path: Path) -> tuple[Path, Path]:
    made = (tmp_path / "fetched", tmp_path / "edited")
    for tree in made:
        tree.mkdir()
    return made


def patched(trees: tuple[Path, Path], reason: Reason = REASON) -> str:
    """Make the patch, apply it to the original as a build does, hold the two trees together; the patch's text."""
    original, edited = trees
    path = new_patch(original, edited, original.parent / "patches", "a change", reason)
    apply(original, series(path.parent))
    assert content(original) == content(edited)
    return path.read_bytes().decode("utf-8", "surrogateescape")


def content(tree: Path) -> dict[str, tuple[bytes, bool]]:
    files = (p for p in tree.rglob("*") if p.is_symlink() or p.is_file())
    return {
        str(p.relative_to(tree)): (os.fsencode(p.readlink()), False)
        if p.is_symlink()
        else (p.read_bytes(), os.access(p, os.X_OK))
        for p in files
        if ".git" not in p.parts
    }


def test_lines_that_hold_the_folders_names_stay_as_they_are(trees: tuple[Path, Path]) -> None:
    original, edited = trees
    names = f"a{original}/x b{edited}/x a/{original}/y b/{edited}/y\n"
    (original / "notes").write_text(f"{names}one\n")
    (edited / "notes").write_text(f"{names}two\n{names}")
    assert names in patched(trees)


def test_binary_files_modes_links_and_line_ends_are_in_it(trees: tuple[Path, Path]) -> None:
    edited = trees[1]
    for tree in trees:
        (tree / ".gitattributes").write_text("* text=auto eol=lf\n*.ident ident\n")
        (tree / ".gitignore").write_text("build/\n")
        (tree / "logo").write_bytes(bytes(range(256)))
        (tree / "run.sh").write_text("true\n")
        (tree / "dos.txt").write_bytes(b"one\r\ntwo\r\n")
    (edited / "logo").write_bytes(bytes(range(255, -1, -1)))
    (edited / "run.sh").chmod(0o755)
    (edited / "dos.txt").write_bytes(b"one\r\n2\r\n")
    (edited / "build").mkdir()
    (edited / "build" / "new").write_bytes(b"no newline, \xff")
    (edited / "link").symlink_to("./run.sh")
    assert "GIT binary patch" in patched(trees)


def test_a_change_of_a_binary_file_alone_is_a_patch(trees: tuple[Path, Path]) -> None:
    for tree, byte in zip(trees, (b"\x00a", b"\x00b"), strict=True):
        (tree / "weights").write_bytes(byte)
    patched(trees)
    (one,) = series(trees[0].parent / "patches").patches
    assert one.files == ("weights",)


def test_no_repository_of_the_edited_tree_gets_into_it(trees: tuple[Path, Path]) -> None:
    for tree, text in zip(trees, ("one\n", "two\n"), strict=True):
        (tree / "sub").mkdir()
        (tree / "sub" / "file").write_text(text)
    for place in (trees[1], trees[1] / "sub"):
        subprocess.run(["git", "init", "-q", str(place)], check=True)
    assert ".git/" not in patched(trees)


def test_a_reason_of_several_lines_is_one_field(trees: tuple[Path, Path]) -> None:
    (trees[1] / "file").write_text("new\n")
    text = patched(trees, Reason("it\nUpstream: https://elsewhere\n\ndiff --git a/x b/x", "none", "2.0"))
    assert text.count("\nUpstream: ") == 1
    (one,) = series(trees[0].parent / "patches").patches
    assert one.of("Upstream") == "none"
    assert one.files == ("file",)


def test_equal_trees_and_what_no_patch_can_hold_are_refused(trees: tuple[Path, Path]) -> None:
    with pytest.raises(UsageError, match="equal"):
        patched(trees)
    os.mkfifo(trees[1] / "pipe")
    with pytest.raises(UsageError, match="no file that a patch can change"):
        patched(trees)
