"""Every command of every bundled recipe, as files that people read in a review: `commands/RECIPE.txt`.

To take a new state over: STACKBUILD_SNAPSHOTS=write pytest tests/unit/plan/resolve/test_commands.py
"""

import os
from pathlib import Path

import pytest

from stackbuild.model.inputs import Inputs
from stackbuild.plan.resolve import resolve
from stackbuild.recipe.load import bundled_recipes, load
from stackbuild.recipe.lock_file import read_lock

HERE = Path(__file__).parent / "commands"


LONG = ("materials", "package ", "wheel ")
"""Parameters that have one entry a package: tests/unit/actions/test_sbom.py checks them against the lock."""


def rendered(name: str) -> str:
    """Each step with its commands (or its params) and its environment; source digests of this checkout left away."""
    loaded = load(name)
    lock = read_lock(loaded)
    inputs = Inputs.of(lock, dict.fromkeys(loaded.recipe.sources, "0" * 64), dockerfile="0" * 64)
    lines = []
    for step in resolve(loaded.recipe, inputs).steps:
        lines.append(f"== {step.name} ({step.action})")
        lines += [f"   {key} = {value}" for key, value in step.params if not key.startswith(LONG)]
        lines += [f"   {need.step} at {need.at}" for need in step.needs if need.at]
        fixed = ("HOME", "LC_ALL", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "SOURCE_DATE_EPOCH", "TZ")
        lines += [f"   {key}={value}" for key, value in step.env if key not in fixed]
        lines += [f"   [{c.phase}] " + " \\\n       ".join(c.argv) for c in step.commands]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", sorted(bundled_recipes()))
def test_every_command_of_a_bundled_recipe_is_as_reviewed(name: str) -> None:
    path = HERE / f"{name}.txt"
    now = rendered(name)
    if os.environ.get("STACKBUILD_SNAPSHOTS") == "write":
        path.write_text(now)
    assert now == path.read_text(), "differs from the reviewed commands; STACKBUILD_SNAPSHOTS=write takes them over"


def test_no_snapshot_is_left_of_a_recipe_that_is_gone() -> None:
    assert {p.stem for p in HERE.glob("*.txt")} == set(bundled_recipes())
