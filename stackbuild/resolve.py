"""Recipe × Inputs → Plan: every decision taken. Pure: runs nothing, reads nothing, touches no network."""

from __future__ import annotations

from dataclasses import dataclass
from graphlib import TopologicalSorter

from stackbuild import digest
from stackbuild.errors import PlanError, UsageError
from stackbuild.lock import Inputs
from stackbuild.plan import Plan, Resources, Step
from stackbuild.recipe import Recipe, Source
from stackbuild.steps import REGISTRY
from stackbuild.steps.context import Context


@dataclass(frozen=True)
class Choice:
    """What the command line narrows: gfx targets, Python versions, the last step; empty means all."""

    gfx: tuple[str, ...] = ()
    python: tuple[str, ...] = ()
    until: str = ""


def resolve(recipe: Recipe, inputs: Inputs, choice: Choice = Choice()) -> Plan:
    """The plan. Raises PlanError where the recipe cannot be planned, UsageError where the choice is not in it."""
    gfx = _narrowed("gfx target", recipe.gfx, choice.gfx)
    steps: dict[str, Step] = {}
    for step in (base_step(recipe, inputs), *_sources(recipe, inputs), *_wheelhouses(recipe, inputs, choice)):
        steps[step.name] = step
    context = Context(gfx, steps)
    for name in TopologicalSorter({n: c.needs for n, c in recipe.components.items()}).static_order():
        component = recipe.components[name]
        for step in REGISTRY[component.kind](name, component, context):
            steps[step.name] = step
    plan = Plan(recipe.name, tuple(steps.values()), _wanted(recipe, steps, choice))
    return Plan(plan.recipe, plan.closure(plan.wanted), plan.wanted)


def _narrowed(what: str, offered: tuple[str, ...], chosen: tuple[str, ...]) -> tuple[str, ...]:
    for one in chosen:
        if one not in offered:
            raise UsageError(f"{what} {one!r} is not in the recipe", next=f"it has: {', '.join(offered)}")
    return chosen or offered


def _wanted(recipe: Recipe, steps: dict[str, Step], choice: Choice) -> tuple[str, ...]:
    if not choice.until:
        used = {need for c in recipe.components.values() for need in c.needs}
        return tuple(n for n in recipe.components if n not in used) + tuple(
            s for s in steps if s.startswith("wheelhouse.")
        )
    if choice.until not in steps:
        raise UsageError(f"no step {choice.until!r}", next=f"steps are: {', '.join(steps)}")
    return (choice.until,)


def base_step(recipe: Recipe, inputs: Inputs) -> Step:
    """The step that makes the base: Debian packages at their versions, or an image."""
    debian = recipe.base.debian
    if debian is None:
        params = {"image": recipe.base.image or ""}
        return Step(name="base", action="debian", params=tuple(params.items()))
    params = {
        "areas": digest.canonical(debian.areas),
        "extract": digest.canonical(debian.extract),
        "packages": digest.canonical(debian.packages),
        "suite": debian.suite,
        **{f"package {name}": version for name, version in inputs.packages},
    }
    return Step(name="base", action="debian", params=tuple(sorted(params.items())), resources=Resources(network=True))


def _sources(recipe: Recipe, inputs: Inputs) -> list[Step]:
    commits, trees = dict(inputs.commits), dict(inputs.trees)
    return [_source(name, source, commits, trees) for name, source in sorted(recipe.sources.items())]


def _source(name: str, source: Source, commits: dict[str, str], trees: dict[str, str]) -> Step:
    step, network = f"source.{name}", Resources(network=True)
    if source.git is not None:
        if name not in commits:
            raise PlanError(f"source `{name}` has no commit in the lock", next="run `stackbuild lock`")
        params = {"commit": commits[name], "submodules": str(source.submodules), "url": source.git}
        return Step(name=step, action="git", params=tuple(params.items()), resources=network)
    if source.archive is not None:
        params = {"sha256": source.sha256 or "", "url": source.archive}
        return Step(name=step, action="archive", params=tuple(params.items()), resources=network)
    return Step(name=step, action="snapshot", params=(("tree", trees[name]),))


def _wheelhouses(recipe: Recipe, inputs: Inputs, choice: Choice) -> list[Step]:
    """One step per chosen Python: the wheels of the environment that the result is proved in."""
    made = []
    for python in choice.python:
        rows = {name: f"{version} {' '.join(sha256)}" for p, name, version, sha256 in inputs.wheelhouse if p == python}
        if rows:
            params = tuple(sorted({"python": python, **{f"wheel {n}": v for n, v in rows.items()}}.items()))
            made.append(
                Step(name=f"wheelhouse.{python}", action="wheelhouse", params=params, resources=Resources(network=True))
            )
    return made
