"""Subjects of commits: those that are too long are found, and only those after the commit that the check begins at."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import subjects

LONG = "x" * 73


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    return tmp_path


def commit(repository: Path, subject: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    git = ["git", "-C", str(repository), *who]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", subject], check=True)
    return subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()


def test_a_longer_subject_after_that_commit_is_found(repository: Path) -> None:
    since = commit(repository, LONG)
    commit(repository, "y" * 72)
    assert subjects.long_subjects(repository, since) == []
    name = commit(repository, f"{LONG}\n\nwhy")
    (line,) = subjects.long_subjects(repository, since)
    short, _, subject = line.partition(" ")
    assert name.startswith(short) and subject == LONG


def test_a_folder_without_history_and_a_clone_without_that_commit_pass(repository: Path, tmp_path: Path) -> None:
    commit(repository, LONG)
    assert subjects.long_subjects(repository, "0" * 40) == []
    archive = tmp_path / "archive"
    archive.mkdir()
    assert subjects.long_subjects(archive) == []
