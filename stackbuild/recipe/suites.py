"""Suites of benchmarks: the bundled ones, and a file beside a recipe."""

from __future__ import annotations

import difflib
from pathlib import Path

from stackbuild.core.errors import UsageError
from stackbuild.core.yaml_file import read_yaml
from stackbuild.model.suite import Suite

FOLDER = Path(__file__).with_name("suites")


def bundled_suites() -> dict[str, Path]:
    """The suites that ship, by name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.yaml"))}


def load_suite(name: str) -> Suite:
    """The suite of that name, or of that file. Raises UsageError or RecipeError with the place."""
    suites = bundled_suites()
    path = suites.get(name, Path(name))
    if not path.is_file():
        close = difflib.get_close_matches(name, suites, n=1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise UsageError(f"no suite {name!r}", next=f"{hint}there are {', '.join(suites)}, or give a .yaml file")
    suite = read_yaml(path, Suite, "see docs/benchmarks.md")
    beside = tuple(f.model_copy(update={"file": str(path.parent / f.file)}) for f in suite.files)
    return suite.model_copy(update={"files": beside})
