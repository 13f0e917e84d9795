"""Files of a git source that are left out: neither checked out nor asked of the repository, which may lack them."""

import subprocess
from pathlib import Path

import pytest

from stackbuild.core.errors import LockError
from stackbuild.sources import git
from stackbuild.sources.mirror import Mirror

URL = "https://github.com/org/tool"


def run(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def upstream(tmp_path: Path) -> tuple[Mirror, str]:
    """A mirror whose repository lacks the content of `test/data/model.onnx`, and the commit."""
    place = tmp_path / "mirror" / "github.com/org/tool"
    for name in (
        "CMakeLists.txt",
        "test/data/model.onnx",
        "test/data/deep/other.onnx",
        "test/run.py",
        "src/data/keep.c",
    ):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(name)
    run(place, "init", "--quiet")
    run(place, "add", ".")
    run(place, "commit", "--quiet", "-m", "x")
    absent = run(place, "rev-parse", "HEAD:test/data/model.onnx")
    (place / ".git/objects" / absent[:2] / absent[2:]).unlink()
    return Mirror(tmp_path / "mirror"), run(place, "rev-parse", "HEAD")


def test_what_is_excluded_need_not_be_there(upstream: tuple[Mirror, str], tmp_path: Path) -> None:
    given, commit = upstream
    out = tmp_path / "out"
    out.mkdir()
    revision = git.Revision(URL, commit, commit, given, exclude=("test/data", "src/*.py"))
    assert git.checkout(revision, out, submodules=False) == commit
    found = sorted(str(p.relative_to(out)) for p in out.rglob("*") if p.is_file())
    assert found == ["CMakeLists.txt", "src/data/keep.c", "test/run.py"]


def test_without_it_the_files_that_the_repository_lacks_are_named(upstream: tuple[Mirror, str], tmp_path: Path) -> None:
    given, commit = upstream
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(LockError) as stopped:
        git.checkout(git.Revision(URL, commit, commit, given), out, submodules=False)
    said = f"{stopped.value.what} {stopped.value.next}"
    assert "test/data/model.onnx" in said and "other.onnx" not in said and "`exclude`" in said


def test_a_file_is_read_of_a_repository_that_lacks_others(upstream: tuple[Mirror, str]) -> None:
    given, commit = upstream
    assert git.read(git.Revision(URL, commit, commit, given), "CMakeLists.txt") == "CMakeLists.txt"
