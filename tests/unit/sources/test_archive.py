"""Archives that nobody vouches for: a bad one is refused whole, and nothing of it is written."""

import contextlib
import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from stackbuild.core.errors import StepFailed
from stackbuild.sources import archive as unpacking
from stackbuild.sources.archive import unpack
from support.hostile_archives import hostile, mutated, tar_of, zip_of

CASES = hostile()


@pytest.mark.parametrize("name", CASES)
def test_a_hostile_archive_leaves_nothing(name: str, tmp_path: Path) -> None:
    refused(CASES[name](tmp_path / "archive"), tmp_path)


@pytest.mark.parametrize("seed", range(60))
def test_a_mutated_archive_is_refused_or_stays_inside(seed: int, tmp_path: Path) -> None:
    (out := tmp_path / "out").mkdir()
    with contextlib.suppress(StepFailed):
        unpack(mutated(Random(seed), tmp_path / "archive"), out)
        return
    assert not list(out.iterdir())


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_twice_is_refused(tmp_path: Path) -> None:
    refused(zip_of(tmp_path / "archive", [("a", "f", "x"), ("a", "f", "y")]), tmp_path)


def test_a_bomb_is_refused_by_its_promise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "MOST_BYTES", 10)
    refused(tar_of(tmp_path / "archive", [("a", "f", "x" * 11)]), tmp_path)


@pytest.mark.parametrize("content", [b"", b"not an archive", b"\x1f\x8b\x08broken"])
def test_what_is_no_archive_is_said_to_be_damaged(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "archive").write_bytes(content)
    refused(tmp_path / "archive", tmp_path)


def test_a_truncated_archive_is_refused(tmp_path: Path) -> None:
    path = tar_of(tmp_path / "archive", [("a", "f", "x" * 5000), ("b", "f", "y" * 5000)])
    path.write_bytes(path.read_bytes()[:60])
    refused(path, tmp_path)


def refused(archive: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(StepFailed):
        unpack(archive, out)
    assert not list(out.iterdir())


@pytest.mark.parametrize("make", [tar_of, zip_of])
def test_a_good_archive_loses_its_one_top_folder_and_keeps_links(make: Callable[..., Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    unpack(make(tmp_path / "a", [("p-1/d/f", "f", "text"), ("p-1/l", "l", "d/f"), ("p-1/d/up", "l", "../l")]), out)
    assert (out / "d" / "f").read_text() == "text"
    assert (out / "l").read_text() == "text"
    assert (out / "d" / "up").resolve() == (out / "d" / "f").resolve()


def test_links_through_links_that_stay_inside_are_kept_and_a_ring_of_them_ends(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    entries = [
        ("p/a/b/x", "l", "../c"),
        ("p/a/c/f", "f", "t"),
        ("p/m", "l", "a/b/x/../c/f"),
        ("p/r", "l", "s"),
        ("p/s", "l", "r"),
    ]
    unpack(tar_of(tmp_path / "a", entries), out)
    assert (out / "m").read_text() == "t"
    assert (out / "r").is_symlink()


def test_a_maze_of_links_is_refused_by_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "MOST_STEPS", 100)
    refused(tar_of(tmp_path / "archive", [("a", "l", "b/" * 101), ("f", "f", "x")]), tmp_path)


def test_a_tar_that_ends_with_a_zip_is_a_tar(tmp_path: Path) -> None:
    inner = zip_of(tmp_path / "inner.zip", [("inside", "f", "x")]).read_bytes()
    (out := tmp_path / "out").mkdir()
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        info = tarfile.TarInfo("x.zip")
        info.size = len(inner)
        tar.addfile(info, io.BytesIO(inner))
    assert zipfile.is_zipfile(tmp_path / "a.tar")
    unpack(tmp_path / "a.tar", out)
    assert (out / "x.zip").read_bytes() == inner


def test_two_top_folders_both_stay(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    unpack(tar_of(tmp_path / "a", [("x/f", "f", "1"), ("y/f", "f", "2")]), out)
    assert sorted(p.name for p in out.iterdir()) == ["x", "y"]
