"""The lock that is published beside a wheel says what the base really got."""

from __future__ import annotations

import pytest

from stackbuild.actions.sbom import sbom
from stackbuild.model.inputs import Inputs
from stackbuild.model.materials import read_materials
from stackbuild.model.plan import Plan
from stackbuild.pipeline.built_wheels import BuiltWheels
from stackbuild.plan.resolve import resolve
from stackbuild.publishing.sbom_agreement import sbom_problem
from stackbuild.recipe.load import load
from stackbuild.recipe.lock_file import read_lock

LOADED_RECIPE = load("debian-13")
LOCK = read_lock(LOADED_RECIPE)


def build_result(packages: dict[str, str]) -> tuple[BuiltWheels, bytes]:
    """What a build on a base with these packages hands on, and the SBOM of its wheel."""
    trees = dict.fromkeys([*LOADED_RECIPE.recipe.sources, *(f"{s}.patches" for s in LOADED_RECIPE.recipe.sources)], "0" * 64)
    plan: Plan = resolve(LOADED_RECIPE.recipe, Inputs.of(LOCK, trees, packages))
    step = next(step for step in plan.steps if step.action == "wheel")
    document = sbom("demo", "1.0", "MIT", read_materials(dict(step.params)["materials"]), 1_700_000_000)
    return BuiltWheels(LOADED_RECIPE.recipe, plan, (), None, "", LOADED_RECIPE.lock_path), document


def test_the_lock_of_a_base_as_it_was_locked_is_its_file() -> None:
    result, document = build_result(LOCK.packages)
    assert result.lock_data == LOADED_RECIPE.lock_path.read_bytes()
    assert sbom_problem(document, result.lock_data, None) == ""


@pytest.mark.parametrize(
    "change",
    [{"libc6": "2.41-12+deb13u99"}, {"libc6": None}, {"libnew1": "1.0"}],
    ids=["another version", "gone", "new"],
)
def test_where_the_archive_moved_on_the_lock_has_what_the_base_got(change: dict[str, str | None]) -> None:
    packages = {name: version for name, version in {**LOCK.packages, **change}.items() if version}
    result, document = build_result(packages)
    assert "it does not agree with the lock" in sbom_problem(document, LOADED_RECIPE.lock_path.read_bytes(), None)
    assert sbom_problem(document, result.lock_data, None) == ""
    assert b"the archive had moved on" in result.lock_data.partition(b"\n")[0]
