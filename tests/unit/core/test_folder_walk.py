"""Folders of any depth, without a call that recurses."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stackbuild.checks.venv_contents import read_contents
from stackbuild.core.errors import UsageError
from stackbuild.core.folder_walk import walk_folders
from stackbuild.hipify.tree import build_files
from stackbuild.inspection import inspect
from stackbuild.store import atomic

DEPTH = 1100


pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def deep(tmp_path: Path) -> Iterator[Path]:
    """A folder with others in it, more than Python has levels of calls. pytest could not remove it."""
    top = tmp_path / "deep"
    top.mkdir()
    fd = os.open(top, os.O_RDONLY)
    for _ in range(DEPTH):
        os.mkdir("a", dir_fd=fd)
        below = os.open("a", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(os.open("CMakeLists.txt", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.close(fd)
    yield top
    atomic.remove(top)


def test_it_says_what_os_walk_says_in_the_same_order_of_levels(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "c").mkdir()
    (tmp_path / "l").symlink_to("c")
    (tmp_path / "none").symlink_to("nowhere")
    for name in ("a/f", "a/b/g", "c/h"):
        (tmp_path / name).touch()
    rows = {here: (sorted(folders), sorted(names)) for here, folders, names in walk_folders(tmp_path)}
    assert rows == {here: (sorted(folders), sorted(names)) for here, folders, names in os.walk(tmp_path)}
    left_out = [here for here, folders, _ in walk_folders(tmp_path) if not folders.clear()]
    assert left_out == [str(tmp_path)]


def test_no_level_is_too_many(deep: Path) -> None:
    assert sum(1 for _ in walk_folders(deep)) == DEPTH + 1
    assert len(list(build_files._files(deep, deep / "out"))) == 1


def test_a_folder_that_cannot_be_listed_is_reported(tmp_path: Path) -> None:
    errors: list[OSError] = []
    assert not list(walk_folders(tmp_path / "none", errors.append))
    assert [error.filename for error in errors] == [str(tmp_path / "none")]


def inspect_folder(folder: Path) -> None:
    with pytest.raises(UsageError, match="no wheel's metadata"):
        inspect(folder)


def read_environment(folder: Path) -> None:
    site = folder.parent / "venv" / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    (site.parents[2] / "pyvenv.cfg").touch()
    folder.rename(site / "onnxruntime")
    assert len(read_contents(site.parents[2]).here) == 1
    (site / "onnxruntime").rename(folder)


@pytest.mark.parametrize("act", [inspect_folder, read_environment])
def test_a_command_ends_in_words_at_a_folder_of_any_depth(act: Callable[[Path], None], deep: Path) -> None:
    act(deep)
