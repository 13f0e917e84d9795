"""The matrix of a recipe: which components are built once, and which once a Python, a gfx target or a variant. Pure.

A component is built once for each value of an axis that it, or something it needs, really depends on: rocMLIR once for
all, ONNX Runtime's Python package once a Python. Such a step is named `NAME.cp312`, `NAME.gfx90a`, `NAME.VARIANT`.
"""

from __future__ import annotations

from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import product
from typing import Literal

from stackbuild.core.errors import UsageError
from stackbuild.model.components import CMake, Component, HipdnnEp, Kernels, Lc0, MIGraphX, OnnxRuntime, Rocm, Wheel
from stackbuild.model.recipe import Recipe

Axis = Literal["python", "gfx", "variant"]
AXES: tuple[Axis, ...] = ("python", "gfx", "variant")


@dataclass(frozen=True)
class Lane:
    """One component at one point of the matrix. An axis it does not depend on is empty (all gfx targets at once)."""

    component: str
    python: str = ""
    gfx: str = ""
    variant: str = ""

    @property
    def step(self) -> str:
        """The name of its last step."""
        parts = (f"cp{self.python.replace('.', '')}" if self.python else "", self.gfx.replace(":", "-"), self.variant)
        return ".".join((self.component, *(p for p in parts if p)))


def chosen(what: str, offered: tuple[str, ...], asked: tuple[str, ...]) -> tuple[str, ...]:
    """Those of a recipe's values that were asked for, in its order; all where none were. Raises UsageError on another."""
    for one in asked:
        if one not in offered:
            raise UsageError(f"{what} {one!r} is not in the recipe", next=f"it has: {', '.join(offered)}")
    return tuple(one for one in offered if one in asked) or offered


def own_axes(name: str, component: Component, recipe: Recipe) -> frozenset[Axis]:
    """The axes that a component depends on by itself."""
    axes: set[Axis] = set()
    if _uses_python(component):
        axes.add("python")
    if recipe.matrix.per_gfx and _uses_gfx(component):
        axes.add("gfx")
    if any(name in changes for changes in recipe.matrix.variants.values()):
        axes.add("variant")
    return frozenset(axes)


def _uses_python(component: Component) -> bool:
    return (
        (isinstance(component, OnnxRuntime) and component.python_package)
        or (isinstance(component, MIGraphX) and component.python_module)
        or (isinstance(component, Wheel) and component.abi == "cpython")
    )


def _uses_gfx(component: Component) -> bool:
    if isinstance(component, OnnxRuntime):
        return "rocm" in component.providers
    if isinstance(component, CMake):
        return component.uses_gfx is not None
    return isinstance(component, (Kernels, MIGraphX, HipdnnEp, Lc0))


def lanes(recipe: Recipe, pythons: tuple[str, ...], gfx: tuple[str, ...]) -> tuple[Lane, ...]:
    """Every component at every point it is built for, each after what it needs."""
    axes: dict[str, frozenset[Axis]] = {}
    made = []
    for name in TopologicalSorter({n: c.needs for n, c in recipe.components.items()}).static_order():
        component = recipe.components[name]
        axes[name] = own_axes(name, component, recipe).union(*(axes[need] for need in component.needs))
        values = {"python": pythons, "gfx": gfx, "variant": tuple(recipe.matrix.variants)}
        points = product(*(values[axis] if axis in axes[name] else ("",) for axis in AXES))
        made += [Lane(name, *point) for point in points]
    return tuple(made)


def needed(lane: Lane, need: str, known: tuple[Lane, ...]) -> Lane:
    """The lane of `need` that belongs to `lane`: the same point, on the axes that `need` has."""
    fits = (k for k in known if k.component == need and all(getattr(k, a) in ("", getattr(lane, a)) for a in AXES))
    return next(fits)


def at(component: Component, lane: Lane, recipe: Recipe) -> Component:
    """The component as this lane has it: a variant's options over its own, a per-gfx wheel's name with its target."""
    changes = recipe.matrix.variants.get(lane.variant, {}).get(lane.component, {})
    if changes and isinstance(component, (CMake, Kernels, Rocm)):
        component = component.model_copy(update={"options": {**component.options, **changes}})
    if isinstance(component, Wheel):
        tail = "".join(f"-{part.replace(':', '-')}" for part in (lane.gfx, lane.variant) if part)
        component = component.model_copy(update={"distribution": component.distribution + tail})
    return component
