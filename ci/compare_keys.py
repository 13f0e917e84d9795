"""Which keys of the bundled recipes' steps differ between two commits, and in which fields of their text.

    .venv/bin/python ci/compare_keys.py a1329e4 HEAD

Both commits plan the recipes of the first, with its patches, kernels and hipify rules: what differs is due to code alone.
`plan --json` runs in this environment for both. The exit code is 1 where a key differs.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
INPUTS = ("recipes", "patches", "kernels", "hipify")
"""The folders beside the package that a recipe's steps read."""

StepRows = Mapping[str, Mapping[str, Any]]
"""The rows of `plan --json` by the name of their step."""


def differences(before: StepRows, after: StepRows) -> Iterator[str]:
    """A line for each step with another key: the fields that differ, or `its needs` where only keys of needed steps do."""
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old is None or new is None:
            yield f"{name}: {'new' if old is None else 'gone'}"
        elif old["key"] != new["key"]:
            texts = old["fields"], new["fields"]
            names = {field for field in texts[0].keys() | texts[1].keys() if texts[0].get(field) != texts[1].get(field)}
            fields = sorted(field for field in names if not field.startswith("need "))
            yield f"{name}: {', '.join(fields) or 'its needs'}"


def extract(commit: str, folder: Path, *below: str) -> None:
    """The files of a commit, or those of some of its folders, into a folder."""
    command = ["git", "-C", str(REPOSITORY), "archive", commit, *below]
    data = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["tar", "-x", "-C", str(folder)], check=True, input=data)


def steps(checkout: Path, recipe: str) -> dict[str, dict[str, Any]]:
    """The steps of a recipe by the code of a checkout."""
    command = [sys.executable, "-m", "stackbuild", "plan", "-r", recipe, "--json"]
    document = subprocess.run(command, cwd=checkout, check=True, stdout=subprocess.PIPE).stdout
    return {row["step"]: row for row in json.loads(document)["steps"]}


def main(commits: list[str]) -> int:
    first, second = commits
    total = 0
    with tempfile.TemporaryDirectory() as scratch:
        checkouts = [Path(scratch) / name for name in ("first", "second")]
        for commit, checkout in zip(commits, checkouts, strict=True):
            extract(commit, checkout)
        for name in INPUTS:
            shutil.rmtree(checkouts[1] / name)
        extract(first, checkouts[1], *INPUTS)
        for lock in sorted((checkouts[0] / "recipes").glob("*.lock.yaml")):
            recipe = lock.name.removesuffix(".lock.yaml")
            before, after = (steps(checkout, recipe) for checkout in checkouts)
            lines = list(differences(before, after))
            print(
                f"{recipe}: {len(lines)} of {len(before)} keys of {first} differ in {second}",
                *lines,
                sep="\n  ",
                flush=True,
            )
            total += len(lines)
    return total > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
