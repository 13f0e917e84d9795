"""Subjects of commits: at most 72 characters, so that `git log --oneline` shows them whole.

`python ci/subjects.py` prints each longer one among the last 20 commits and exits 1 if there is one. Commits up to `SINCE`
are as they are: their subjects cannot be changed any more. A folder that is not a git repository, such as an unpacked
archive, has no subjects to check,
nor has a clone without that commit.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
SINCE = "ec5aca58"
"""The check is younger than this commit and all before it."""
MOST = 72
LAST = 20


def long_subjects(repository: Path, since: str = SINCE) -> list[str]:
    """The short names and the subjects of the last commits after `since` that are longer; [] without git's history."""
    git = ["git", "-C", str(repository)]
    if not (repository / ".git").exists():
        return []
    has_since = subprocess.run([*git, "cat-file", "-e", f"{since}^{{commit}}"], capture_output=True, check=False)
    if has_since.returncode:  # a shallow clone: its commits may all be older
        return []
    words = [*git, "log", f"-{LAST}", "--format=%h %s", f"{since}..HEAD"]
    lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    return [line for line in lines if len(line.partition(" ")[2]) > MOST]


def main() -> int:
    lines = long_subjects(REPOSITORY)
    for line in lines:
        print(f"the subject of commit {line[:100]}… has more than {MOST} characters")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
