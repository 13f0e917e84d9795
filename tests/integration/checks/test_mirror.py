"""Commits that the repositories of a half-filled mirror lack."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from stackbuild.checks.mirror import lacking
from stackbuild.model.plan import Step
from stackbuild.sources.git import usual_place
from stackbuild.sources.mirror import Mirror

URL = "https://github.com/org/tool"


def git(place: Path, *words: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    done = subprocess.run(["git", *identity, *words], cwd=place, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def step(commit: str) -> Step:
    return Step("source.tool", "git", params=(("commit", commit), ("ref", "v1"), ("url", URL)))


@pytest.mark.parametrize("bare", [True, False])
def test_a_commit_that_a_repository_lacks_is_named(bare: bool, tmp_path: Path) -> None:
    place = tmp_path / usual_place(URL)
    place.mkdir(parents=True)
    git(place, "init", "--quiet")
    git(place, "commit", "--quiet", "--allow-empty", "--message", "one")
    commit = git(place, "rev-parse", "HEAD")
    if bare:
        git(tmp_path, "clone", "--quiet", "--bare", str(place), "bare")
        place.rename(tmp_path / "work")
        (tmp_path / "bare").rename(place)
    there = Mirror(tmp_path)
    assert lacking((step(commit), step(commit[:9])), there) == ()
    assert lacking((step("1" * 40),), there) == ("github.com/org/tool.git: its commit 111111111111",)
