"""What a recipe expects of its wheels."""

from __future__ import annotations

from stackbuild.components import Wheel
from stackbuild.inspect.expectations import Expectations
from stackbuild.inspect.readers.wheel import normal_name
from stackbuild.recipe import Recipe

_UNITS = {"K": 10**3, "M": 10**6, "G": 10**9}


def expectations(recipe: Recipe, distribution: str = "") -> Expectations:
    """What the recipe expects of the wheel of that distribution; of its only wheel, where it has one and none is named."""
    wheel = _component(recipe, distribution)
    said = recipe.verify
    return Expectations(
        gfx=recipe.gfx, rocm=recipe.rocm or "",
        version=wheel.version if wheel else "", external=wheel.external if wheel else (),
        kernels_floor=said.kernels_floor if said else 0, providers=said.providers if said else (),
        size_budget=_bytes(said.size_budget) if said and said.size_budget else 0,
    )  # fmt: skip


def _component(recipe: Recipe, distribution: str) -> Wheel | None:
    wheels = list(recipe.wheels.values())
    for wheel in wheels:
        if normal_name(wheel.distribution) == normal_name(distribution):
            return wheel
    return wheels[0] if len(wheels) == 1 and not distribution else None


def _bytes(text: str) -> int:
    return int(text[:-1]) * _UNITS[text[-1]]
