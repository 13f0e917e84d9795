"""What a recipe requires of its wheels, as the expectations of `inspect`. Pure.

A requirement belongs to one wheel. It follows from the component that the wheel packs, or the recipe states it for that
wheel (`verify.wheels`).
"""

from __future__ import annotations

from collections.abc import Mapping

from stackbuild.core.sizes import size_of
from stackbuild.inspection.expectations import NOTHING, UNUSED_OPTIONS, Expectations
from stackbuild.inspection.readers.wheel import normal_name
from stackbuild.model.components import Kernels, KernelsEp, OnnxRuntime
from stackbuild.model.recipe import Recipe
from stackbuild.plan.steps import hipdnn_ep, migraphx_ep
from stackbuild.plan.steps.rocm import NEVER_ASKED
from stackbuild.recipe.wheels import NO_DEMANDS, PackedWheel, gfx_of, providers_of, requirements_of, wheels_of

_OF_THE_STEPS = (
    *NEVER_ASKED,
    *hipdnn_ep.UNUSED_OK,
    migraphx_ep.FORCE_FETCH,
    "FETCHCONTENT_SOURCE_DIR_*",
)
"""CMake cache entries that stackbuild sets itself and that may stay unused."""


def expectations_of(recipe: Recipe, distribution: str = "", commits: Mapping[str, str] | None = None) -> Expectations:
    """What the recipe requires of its wheel of that distribution; nothing for a wheel that it does not build.

    A file without a distribution (a library, a log) is judged by what applies to every file of the stack. `commits` are
    the lock's, by source.
    """
    if not distribution:
        return _of_any(recipe)
    for packed_wheel in wheels_of(recipe):
        if normal_name(packed_wheel.wheel.distribution) == normal_name(distribution):
            return _of_wheel(packed_wheel, recipe, commits or {})
    return NOTHING


def _of_any(recipe: Recipe) -> Expectations:
    """What applies to every file of the stack."""
    demands = recipe.verify or NO_DEMANDS
    allowed_options = [name for each in recipe.components.values() for name in getattr(each, "unused_ok", ())]
    return Expectations(
        rocm=recipe.rocm or "",
        external=tuple(dict.fromkeys(name for wheel in recipe.wheels.values() for name in wheel.external)),
        runpaths=demands.runpaths,
        grafts=demands.grafts,
        isa=demands.x86_64_level,
        unused_options=tuple(dict.fromkeys((*UNUSED_OPTIONS, *_OF_THE_STEPS, *allowed_options))),
    )


def _of_wheel(packed_wheel: PackedWheel, recipe: Recipe, commits: Mapping[str, str]) -> Expectations:
    demands, of_wheel = recipe.verify or NO_DEMANDS, requirements_of(packed_wheel.name, recipe)
    gfx = gfx_of(packed_wheel, recipe)
    floor = demands.kernels_floor if of_wheel.kernels_floor is None else of_wheel.kernels_floor
    budget = of_wheel.size_budget or demands.size_budget
    from_source = packed_wheel.component.source if isinstance(packed_wheel.component, OnnxRuntime) else ""
    every = _of_any(recipe)
    return Expectations(
        gfx=gfx,
        kernels_floor=floor if gfx else 0,
        providers=providers_of(packed_wheel, recipe),
        custom_ops=isinstance(packed_wheel.component, Kernels) and not isinstance(packed_wheel.component, KernelsEp),
        version=packed_wheel.wheel.version,
        commit=commits.get(from_source, ""),
        size_budget=size_of(budget) if budget else 0,
        rocm=every.rocm,
        external=packed_wheel.wheel.external,
        excludes=packed_wheel.wheel.external,
        runpaths=every.runpaths,
        grafts=every.grafts,
        isa=every.isa,
        unused_options=every.unused_options,
    )
