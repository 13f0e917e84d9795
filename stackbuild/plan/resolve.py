"""Recipe × Inputs → Plan: every decision taken. Pure: runs nothing, reads nothing, touches no network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from stackbuild.core import digest
from stackbuild.core.errors import UsageError
from stackbuild.core.versions import numbers, series
from stackbuild.model.choice import Choice
from stackbuild.model.inputs import Inputs
from stackbuild.model.lock import patches_of
from stackbuild.model.plan import Plan, Resources, Step, sorted_items
from stackbuild.model.recipe import Extend, Recipe, Source
from stackbuild.plan.steps import hipify, older_libc
from stackbuild.plan.steps.context import Context
from stackbuild.plan.steps.registry import REGISTRY
from stackbuild.plan.steps.stand_ins import PREFIX, stand_in, with_stand_ins
from stackbuild.recipe.matrix import MatrixComponent, MatrixComponents, expand
from stackbuild.recipe.prepare import PreparedRecipe
from stackbuild.tables.near_words import step_meant

CONFIGURE = "configure"
"""`--until configure`: no step's name but a phase of all of them."""


BASE_MAKER = "1"
"""Version of how `actions/debian.py` makes a root file system: raised when the same packages give another tree."""


def resolve(recipe: Recipe, inputs: Inputs, choice: Choice = Choice()) -> Plan:
    """The plan. Raises PlanError where the recipe cannot be planned, UsageError where the choice is not in it."""
    return _resolve(recipe, expand(recipe, choice.gfx, choice.build_python), inputs, choice)


def resolve_prepared(prepared_recipe: PreparedRecipe, inputs: Inputs) -> Plan:
    """As `resolve`, of a recipe that is expanded already."""
    return _resolve(prepared_recipe.loaded_recipe.recipe, prepared_recipe.matrix, inputs, prepared_recipe.choice)


def _resolve(recipe: Recipe, matrix: MatrixComponents, inputs: Inputs, choice: Choice) -> Plan:
    steps: dict[str, Step] = {}
    for step in (base_step(recipe, inputs), *_sources(recipe, inputs), *_wheelhouses(recipe, inputs, choice)):
        steps[step.name] = step
    kinds: dict[str, str] = {}
    if recipe.base.glibc:
        libc = older_libc.step(recipe.base.glibc, steps["base"])
        steps[libc.name] = libc
        kinds[libc.name] = libc.name
    context = Context(matrix.gfx, steps, recipe.rocm or "", deps=dict(inputs.deps), trees=dict(inputs.trees))
    for each in matrix.components:
        for step in _component_steps(each, context):
            steps[step.name] = step
            kinds[step.name] = each.component.kind if step.name == each.step else step.name.rpartition(".")[2]
    if choice.until == CONFIGURE:
        return _configure_only(recipe, steps, kinds)
    plan = Plan(recipe.name, tuple(steps.values()), _target_steps(recipe, steps, choice))
    last_kinds = {each.step: each.component.kind for each in matrix.components}
    return Plan(plan.recipe, plan.closure(plan.goals), plan.goals, last_kinds)


def _configure_only(recipe: Recipe, steps: dict[str, Step], kinds: dict[str, str]) -> Plan:
    """`--until configure`: every component's configure phase as a step of its own, and what may stand in for a component
    that such a step needs. `kinds`: a step's kind of component, or the name of the requirement that it builds."""
    configure_steps = []
    stands = [stand_in(step, kinds.get(name, "")) for name, step in steps.items() if step.action == "run"]
    for step in steps.values():
        last = max((i for i, c in enumerate(step.commands) if c.phase == "configure"), default=-1)
        if last >= 0:
            configure_steps.append(replace(step, name=f"{CONFIGURE}.{step.name}", commands=step.commands[: last + 1]))
    plan = Plan(
        recipe.name,
        (*steps.values(), *(s for s in stands if s), *configure_steps),
        tuple(s.name for s in configure_steps),
    )
    return Plan(plan.recipe, (*plan.closure(plan.goals), *(s for s in stands if s)), plan.goals)


@dataclass(frozen=True)
class Reach:
    """Of a configure-only plan, what can be done without compiling anything.

    `notes` has a line each of what is configured against stand-ins, and of what cannot be configured. `unreachable` are the
    latter alone. `blockers` names what has to be built before that can be.
    """

    plan: Plan
    notes: tuple[str, ...] = ()
    unreachable: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()


def within_reach(plan: Plan, is_built: Callable[[Step], bool]) -> Reach:
    """A needed component that is built is taken as it is; for one that is not, its stand-in is."""
    steps, names, lines, unreachable, blockers = dict(plan.by_name), [], [], [], []
    for name in plan.goals:
        bare = name.removeprefix(f"{CONFIGURE}.")
        needs = [plan.by_name[n.step] for n in plan.by_name[name].needs]
        absent = [n.name for n in needs if n.action == "run" and not is_built(n)]
        stands = {n: plan.by_name[f"{PREFIX}.{n}"] for n in absent if f"{PREFIX}.{n}" in plan.by_name}
        if lacking := [n for n in absent if n not in stands]:
            line = f"{bare} cannot be configured before {', '.join(lacking)} is built: nothing stands in for it"
            lines.append(line)
            unreachable.append(line)
            blockers += lacking
            continue
        names.append(name)
        if stands:
            steps[name] = with_stand_ins(steps[name], stands)
            lines.append(f"{bare} is configured against empty stand-ins for {', '.join(stands)}")
    # What stands in comes first: a plan's order is that of its needs.
    ordered_steps = sorted(steps.values(), key=lambda step: step.name.startswith(f"{CONFIGURE}."))
    reach = Plan(plan.recipe, tuple(ordered_steps), tuple(names))
    whole = Plan(plan.recipe, reach.closure(tuple(names)), tuple(names))
    return Reach(whole, tuple(lines), tuple(unreachable), tuple(dict.fromkeys(blockers)))


def _component_steps(each: MatrixComponent, context: Context) -> tuple[Step, ...]:
    gfx = (each.point.gfx,) if each.point.gfx else context.gfx
    here = replace(context, gfx=gfx, python=each.point.python, names=each.needs)
    first = hipify.steps(each.step, each.component, here)
    if first:
        here = replace(here, steps={**here.steps, **{s.name: s for s in first}}, converted_step=first[-1].name)
    return (*first, *REGISTRY[each.component.kind](each.step, each.component, here))


def _target_steps(recipe: Recipe, steps: dict[str, Step], choice: Choice) -> tuple[str, ...]:
    if not choice.until:
        needs = {need for c in recipe.components.values() for need in c.needs}
        last = [n for n in recipe.components if n not in needs]
        return tuple(s for s in steps if s.startswith("wheelhouse.") or s.partition(".")[0] in last)
    named_steps = tuple(
        s for s in steps if s == choice.until or (s.partition(".")[0] == choice.until in recipe.components)
    )
    if not named_steps:
        raise UsageError(f"no step {choice.until!r}", next=step_meant(choice.until, [*steps]))
    return named_steps


def base_step(recipe: Recipe, inputs: Inputs) -> Step:
    """The step that makes the base: Debian packages at their versions, or an image."""
    debian = recipe.base.debian
    if debian is None:
        return _image_step(recipe, inputs)
    params = {
        "areas": digest.canonical(debian.areas),
        "extract": digest.canonical(debian.extract),
        "maker": BASE_MAKER,
        "packages": digest.canonical(debian.packages),
        "suite": debian.suite,
        **({"pin": digest.canonical(debian.pin)} if debian.pin else {}),
        **{f"package {name}": version for name, version in inputs.packages},
    }
    return Step(name="base", action="debian", params=sorted_items(params), resources=Resources(network=True))


def _image_step(recipe: Recipe, inputs: Inputs) -> Step:
    name, _, pinned_digest = (recipe.base.image or "").partition("@")
    extend = recipe.base.extend or Extend.model_validate({})
    params = {
        "digest": pinned_digest or inputs.image or "unlocked",
        "dockerfile": inputs.dockerfile,
        "image": name,
        **{key: digest.canonical(value) for key, value in extend.model_dump().items()},
    }
    return Step(name="base", action="image", params=sorted_items(params), resources=Resources(network=True))


def _sources(recipe: Recipe, inputs: Inputs) -> list[Step]:
    commits, trees = dict(inputs.commits), dict(inputs.trees)
    files = {name: (version, sha256) for name, version, sha256 in inputs.files}
    return [
        _package(name, source, *files.get(name, ("", "unlocked")))
        if source.debian or source.pypi
        else _source(name, source, commits, trees)
        for name, source in sorted(recipe.sources.items())
    ]


def _package(name: str, source: Source, version: str, sha256: str) -> Step:
    """A source that is a Debian package or a source distribution of the package index."""
    params = {"sha256": sha256, "version": version}
    params |= {"debian": source.debian, "suite": source.suite or ""} if source.debian else {"pypi": source.pypi or ""}
    return Step(name=f"source.{name}", action="package", params=sorted_items(params), resources=Resources(network=True))


def _source(name: str, source: Source, commits: dict[str, str], trees: dict[str, str]) -> Step:
    step, network = f"source.{name}", Resources(network=True)
    if source.git is not None:
        commit = commits.get(name, "unlocked")
        params = {"commit": commit, "ref": source.ref or "", "submodules": str(source.submodules), "url": source.git}
        params |= {"exclude": digest.canonical(source.exclude)} if source.exclude else {}
        params |= {"patches": trees.get(patches_of(name), "unlocked")} if source.patches else {}
        return Step(name=step, action="git", params=sorted_items(params), resources=network)
    if source.archive is not None:
        params = {"sha256": source.sha256 or "", "url": source.archive}
        params |= {"patches": trees.get(patches_of(name), "unlocked")} if source.patches else {}
        return Step(name=step, action="archive", params=sorted_items(params), resources=network)
    return Step(name=step, action="snapshot", params=(("tree", trees[name]),))


def _of_base(recipe: Recipe, inputs: Inputs, choice: Choice) -> tuple[str, ...]:
    """The base's own Python, where the base's C library is newer than this machine's and the recipe lists that Python."""
    packages = dict(inputs.packages)
    libc, python = packages.get("libc6", ""), series(packages.get("python3", ""))
    needs_libc = choice.glibc and libc and numbers(choice.glibc) < numbers(libc.partition("-")[0])
    return (python,) if needs_libc and python in recipe.python and python not in choice.python else ()


def _wheelhouses(recipe: Recipe, inputs: Inputs, choice: Choice) -> list[Step]:
    """One step per chosen Python: the wheels of the environment that the result is proved in."""
    houses = []
    for python in (*choice.python, *_of_base(recipe, inputs, choice)):
        wheels = {
            f"wheel {name}": f"{version} {' '.join(sha256)}"
            for p, name, version, sha256 in inputs.wheelhouse
            if p == python
        }
        if wheels:
            params = sorted_items({"python": python, **wheels})
            houses.append(
                Step(name=f"wheelhouse.{python}", action="wheelhouse", params=params, resources=Resources(network=True))
            )
    return houses
