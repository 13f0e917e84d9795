"""Every entry below a folder, within bounds: no link is followed, and what is left out is not entered."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stackbuild.core.tree_walk import Bounds, OutOfBounds, open_folder, walk


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A file, a FIFO, a link to a folder outside, and a folder with a folder."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").touch()
    root = tmp_path / "root"
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "file").touch()
    (root / "link").symlink_to(tmp_path / "outside")
    os.mkfifo(root / "fifo")
    return root


def paths(root: Path, **options: object) -> dict[str, str]:
    with open_folder(root) as top:
        return {entry.path: entry.kind for entry in walk(top, **options)}  # type: ignore[arg-type]


def test_each_entry_has_its_kind_and_no_link_is_followed(tree: Path) -> None:
    assert paths(tree) == {"a": "d", "a/b": "d", "a/b/file": "f", "link": "l", "fifo": "s"}


def test_a_folder_comes_before_what_is_in_it(tree: Path) -> None:
    order = list(paths(tree))
    assert order.index("a") < order.index("a/b") < order.index("a/b/file")


def test_what_lies_in_a_folder_that_is_left_out_is_left_out(tree: Path) -> None:
    assert set(paths(tree, accepts=lambda path: path != "a")) == {"link", "fifo"}


def test_beyond_the_bounds_is_an_error_or_with_lenient_left_out(tree: Path) -> None:
    bounds = Bounds(depth=1)
    with pytest.raises(OutOfBounds, match="folders 2 deep"):
        paths(tree, bounds=bounds)
    assert set(paths(tree, bounds=bounds, lenient=True)) == {"a", "a/b", "link", "fifo"}


def test_a_path_counts_in_bytes() -> None:
    assert Bounds(path=5).of_path("üü", 0) == ""
    assert "a path of 6 bytes" in Bounds(path=5).of_path("üüü", 0)
