"""The matrix of a recipe: which components are built once, and which once a Python, a gfx target or a variant. Pure.

A component is built once for each value of an axis that it, or something it needs, depends on. rocMLIR is built once
for all, ONNX Runtime's Python package once a Python. Such a step is named `NAME.cp312`, `NAME.gfx90a`, `NAME.VARIANT`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import product
from typing import Literal

from stackbuild.core.errors import UsageError
from stackbuild.model.components import (
    AnyComponent,
    CMake,
    Component,
    HipdnnEp,
    Kernels,
    Lc0,
    MIGraphX,
    MIGraphXPackage,
    OnnxRuntime,
    Rocm,
    Wheel,
)
from stackbuild.model.recipe import Recipe
from stackbuild.tables.gpu_names import targets_named
from stackbuild.tables.near_words import question
from stackbuild.tables.targets import processor

Axis = Literal["python", "gfx", "variant"]
AXES: tuple[Axis, ...] = ("python", "gfx", "variant")


@dataclass(frozen=True)
class MatrixPoint:
    """A component and its values on the axes. An axis it does not depend on is empty (all gfx targets at once)."""

    component: str
    python: str = ""
    gfx: str = ""
    variant: str = ""

    @property
    def step(self) -> str:
        """The name of its last step."""
        parts = (f"cp{self.python.replace('.', '')}" if self.python else "", self.gfx.replace(":", "-"), self.variant)
        return ".".join((self.component, *(p for p in parts if p)))


@dataclass(frozen=True)
class MatrixComponent:
    """A component as it is built at one point of the matrix: the name of its last step, and the steps of its needs."""

    point: MatrixPoint
    step: str
    component: AnyComponent
    needs: Mapping[str, str]
    """Component name to the step that stands for it at this point."""


@dataclass(frozen=True)
class MatrixComponents:
    """A recipe's components at all points of its matrix, each after what it needs, and the GPU targets they are for."""

    gfx: tuple[str, ...]
    components: tuple[MatrixComponent, ...]


def selected_values(what: str, offered_values: tuple[str, ...], choice: tuple[str, ...]) -> tuple[str, ...]:
    """Those of a recipe's values that were asked for, in its order; all where none were. Raises UsageError on
    another."""
    for one in choice:
        if len(parts := [each for each in re.split(r"\s*[,;]\s*|\s+(?=gfx|\d\.\d)", one.strip()) if each]) > 1:
            name = "--gfx" if what.startswith("gfx") else "--python"
            options = " ".join(f"{name} {each}" for each in parts)
            raise UsageError(f"{one!r} is several values in one", next=f"write the option for each: `{options}`")
        if one not in offered_values:
            processors = {target.gfx for target in targets_named(one)}
            suggestions = " or ".join(o for o in offered_values if processor(o) in processors)
            hint = f"write {suggestions}, which {one} is; " if suggestions else question(one, list(offered_values))
            if not suggestions and processors:
                names = " or ".join(f"`{each}`" for each in sorted(processors))
                of_product = "" if one in processors or processor(one) in processors else f", which {one} is,"
                hint = f"add {f'`{one}`' if not of_product else names}{of_product} to `{what.partition(' ')[0]}:` of the recipe; "
            raise UsageError(f"{what} {one!r} is not in the recipe", next=f"{hint}it has: {', '.join(offered_values)}")
    return tuple(one for one in offered_values if one in choice) or offered_values


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
        or (isinstance(component, MIGraphXPackage) and component.source is not None)
        or (isinstance(component, Wheel) and component.abi == "cpython")
    )


def _uses_gfx(component: Component) -> bool:
    if isinstance(component, OnnxRuntime):
        return "rocm" in component.providers
    if isinstance(component, CMake):
        return component.uses_gfx is not None
    return isinstance(component, (Kernels, MIGraphX, HipdnnEp, Lc0))


def expand(recipe: Recipe, gfx: tuple[str, ...] = (), python: tuple[str, ...] = ()) -> MatrixComponents:
    """Every component at every point it is built for, each after what it needs.

    `gfx` and `python` narrow the recipe's own lists; empty means all. Raises UsageError on a value that is not in them.
    """
    targets = selected_values("gfx target", recipe.gfx, gfx)
    values = {
        "python": selected_values("Python", recipe.python, python),
        "gfx": targets,
        "variant": tuple(recipe.matrix.variants),
    }
    axes: dict[str, frozenset[Axis]] = {}
    points: dict[str, list[MatrixPoint]] = {}
    components = []
    for name in TopologicalSorter({n: c.needs for n, c in recipe.components.items()}).static_order():
        component = recipe.components[name]
        axes[name] = own_axes(name, component, recipe).union(*(axes[need] for need in component.needs))
        grid = product(*(values[axis] if axis in axes[name] else ("",) for axis in AXES))
        points[name] = [MatrixPoint(name, *coordinates) for coordinates in grid]
        for point in points[name]:
            needs = {need: _same_point(point, points[need]).step for need in component.needs}
            components.append(MatrixComponent(point, point.step, _at(component, point, recipe), needs))
    return MatrixComponents(targets, tuple(components))


def _same_point(point: MatrixPoint, others: Iterable[MatrixPoint]) -> MatrixPoint:
    """The point of a needed component that belongs to `point`: the same value on each axis that the needed one has."""
    return next(other for other in others if all(getattr(other, a) in ("", getattr(point, a)) for a in AXES))


def _at(component: AnyComponent, point: MatrixPoint, recipe: Recipe) -> AnyComponent:
    """The component as it is built at this point: a variant's options over its own, a per-gfx wheel's name with its
    target."""
    changes = recipe.matrix.variants.get(point.variant, {}).get(point.component, {})
    if changes and isinstance(component, (CMake, Kernels, Rocm)):
        component = component.model_copy(update={"options": {**component.options, **changes}})
    if isinstance(component, Wheel):
        tail = "".join(f"-{part.replace(':', '-')}" for part in (point.gfx, point.variant) if part)
        component = component.model_copy(update={"distribution": component.distribution + tail})
    return component
