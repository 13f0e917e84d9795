"""Sources by name: a source distribution of the package index, and a package of Debian's archive."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.actions import package
from stackbuild.actions.job import Job
from stackbuild.core.cancel import Stopper
from stackbuild.core.errors import LockError, MachineLacks, StepFailed
from stackbuild.model.lock import File
from stackbuild.model.plan import Step
from stackbuild.sources import python_index

pytestmark = [pytest.mark.network, pytest.mark.timeout(300)]
SIX = "six==1.17.0"


def job(tmp_path: Path, locked: File, **params: str) -> Job:
    for folder in ("out", "scratch"):
        (tmp_path / folder).mkdir()
    step = Step(
        name="source.x",
        action="package",
        params=tuple({**params, "sha256": locked.sha256, "version": locked.version}.items()),
    )
    return Job(step, tmp_path / "out", tmp_path / "scratch", tmp_path / "log", Stopper(), {}, {})


@pytest.fixture(scope="module")
def six() -> File:
    return python_index.ask_sdist(SIX, None)


def test_a_source_distribution_is_locked_fetched_and_unpacked_without_its_top_folder(six: File, tmp_path: Path) -> None:
    assert six.version == "1.17.0"
    made = job(tmp_path, six, pypi=SIX)
    assert package.do(made) == {"file": "six-1.17.0.tar.gz"}
    assert (made.out / "six.py").is_file()
    assert not made.log.exists(), "fetching a source distribution ran a tool, which may have been its build"


def test_other_bytes_than_the_locks_are_named_and_nothing_is_unpacked(six: File, tmp_path: Path) -> None:
    made = job(tmp_path, six.model_copy(update={"sha256": "0" * 64}), pypi=SIX)
    with pytest.raises(LockError, match=f"has sha256 {six.sha256}, the lock has 0000"):
        package.do(made)
    assert not list(made.out.iterdir())


@pytest.mark.parametrize("name", ["six==0.0.999", "stackbuild-there-is-no-such-project==1.0"])
def test_what_the_index_does_not_have_ends_in_one_line(name: str) -> None:
    with pytest.raises((StepFailed, MachineLacks), match=r"no source distribution|404|cannot be fetched"):
        python_index.ask_sdist(name, None)
