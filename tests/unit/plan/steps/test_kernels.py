"""Device code in parts: steps of their own, which components of the same sources, targets and options have in common."""

from __future__ import annotations

import pytest

from stackbuild.model.choice import Choice
from stackbuild.model.inputs import Inputs
from stackbuild.model.plan import Plan
from stackbuild.plan.resolve import CONFIGURE, resolve, within_reach
from stackbuild.recipe.load import parse

RECIPE = """\
schema: 1
name: r
summary: s
base: {debian: {suite: sid, packages: [cmake]}}
gfx: [gfx90a, gfx1100]
sources: {code: {path: code}, other: {path: other}}
components:
  kernels: {kind: kernels, source: code}
  ep: {kind: kernels-ep, source: code}
"""
OWN = {"ep.ep-arithmetic", "ep.ep-others"}
COMMON = {"kernels.conv", "kernels.others"}


def plan(text: str = RECIPE, choice: Choice = Choice()) -> Plan:
    return resolve(parse(text, "r.yaml"), Inputs((), (), (), (("code", "1" * 64), ("other", "2" * 64))), choice)


def needs(made: Plan, step: str) -> set[str]:
    return {need.step for need in made.by_name[step].needs if need.at.startswith("/deps/")}


def options(made: Plan, step: str) -> dict[str, str]:
    (configure,) = (command.argv for command in made.by_name[step].commands if command.phase == "configure")
    words = (word[2:].partition("=") for word in configure if word.startswith("-D"))
    return {name: value for name, _, value in words}


def test_both_libraries_link_the_same_parts() -> None:
    made = plan()
    assert needs(made, "kernels") == COMMON and needs(made, "ep") == COMMON | OWN
    assert not needs(made, "ep.ep-others") and not needs(made, "kernels.conv")
    assert options(made, "kernels.conv")["SBK_PART"] == "conv"
    assert options(made, "ep")["SBK_OBJECTS"].split(";") == [
        f"/deps/{step}" for step in ("kernels.conv", "kernels.others", "ep.ep-arithmetic", "ep.ep-others")
    ]


@pytest.mark.parametrize(
    "change",
    [
        ("ep, source: code", "ep, source: other"),
        ("ep, source: code", "ep, source: code, options: {CMAKE_CXX_FLAGS: -g}"),
        ("ep, source: code", "ep, source: code, env: {LEVEL: two}"),
    ],
)
def test_parts_that_would_differ_are_compiled_for_each(change: tuple[str, str]) -> None:
    made = plan(RECIPE.replace(*change))
    assert needs(made, "kernels") == COMMON
    assert needs(made, "ep") == {"ep.conv", "ep.others"} | OWN


def test_without_device_code_there_are_no_parts() -> None:
    made = plan(RECIPE.replace("source: code}", "source: code, options: {SBK_PLATFORM: cpu}}"))
    assert [step.name for step in made.steps if step.action == "run"] == ["kernels", "ep"]
    assert "SBK_OBJECTS" not in options(made, "ep")


def test_each_target_has_parts_of_its_own() -> None:
    made = plan(RECIPE + "matrix: {per_gfx: true}\n")
    assert needs(made, "ep.gfx90a") >= {"kernels.gfx90a.conv", "kernels.gfx90a.others"}


def test_what_links_parts_is_configured_before_they_are_compiled() -> None:
    reach = within_reach(plan(choice=Choice(until=CONFIGURE)), lambda step: False)
    assert {f"configure.{step}" for step in ("kernels", "ep", *COMMON, *OWN)} == set(reach.plan.goals)
    assert "kernels is configured against empty stand-ins for kernels.conv, kernels.others" in reach.notes
