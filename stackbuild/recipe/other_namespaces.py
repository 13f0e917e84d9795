"""Names of a recipe that stand where those of another namespace are meant: a distribution for its wheel's component. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from stackbuild.core.project_names import normal_name
from stackbuild.model.components import Component
from stackbuild.model.recipe import Recipe
from stackbuild.recipe.component_sources import SOURCE_KEYS, sources_of


def other_namespace(
    name: str, recipe: Recipe, names: list[str], section: str = "components"
) -> tuple[str, str] | None:
    """What a name is, and the next step with the one of `names` that is meant; None where it is nothing of the recipe.

    `names` are those that may stand there, of `section`.
    """
    for what, owners in _meanings(name, recipe, section):
        fitting = [each for each in dict.fromkeys(owners) if each in names]
        if fitting:
            return f": it is {what}", f"write {' or '.join(f'`{each}`' for each in fitting[:3])}"
    return None


def _meanings(name: str, recipe: Recipe, section: str) -> Iterator[tuple[str, list[str]]]:
    """Everything in the recipe that has that name, and the components or sources that belong to it."""
    components, plain = recipe.components, normal_name(name)
    if section == "sources":
        if name in components:
            yield "a component", _sources_of(components[name])
        yield "a kind of component", [s for c in components.values() if c.kind == name for s in _sources_of(c)]
        return
    yield "a distribution", [n for n, wheel in recipe.wheels.items() if normal_name(wheel.distribution) == plain]
    yield "a package", [n for n, wheel in recipe.wheels.items() if any(normal_name(p) == plain for p in wheel.packages)]
    if name in components:
        users = [n for n, c in components.items() if name in c.needs]
        yield f"a component of kind `{components[name].kind}`", users
        yield f"a component of kind `{components[name].kind}`", [*components[name].needs]
    yield "a kind of component", [n for n, c in components.items() if c.kind == name]
    if name in recipe.sources:
        users = [n for n, c in components.items() if name in _sources_of(c)]
        yield "a source", [*users, *(n for n, c in components.items() if {*users} & {*c.needs})]
    owner = name.partition(".")[0]
    yield "a step", [owner] if owner != name else []


def _sources_of(component: Component) -> list[str]:
    """The sources that a component is built from, without its tool's."""
    return [source for path, source in sources_of(component).items() if path[0] in SOURCE_KEYS]
