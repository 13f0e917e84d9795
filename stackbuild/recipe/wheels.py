"""What each wheel of a recipe must have: GPU targets and execution providers. Pure, and read with every recipe, so it is light.

It follows from the component that the wheel packs, or the recipe says it of that wheel (`verify.wheels`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stackbuild.model.components import (
    AmdgpuEp,
    CMake,
    Component,
    HipdnnEp,
    Kernels,
    KernelsEp,
    Lc0,
    MIGraphXEp,
    MIGraphXPackage,
    OnnxRuntime,
    Script,
    Wheel,
)
from stackbuild.model.recipe import Recipe, Verify, WheelRequirements
from stackbuild.recipe.matrix import expand, selected_values
from stackbuild.tables import providers

NAMES = {name: providers.BRIDGE_NAMES[name] for name in ("migraphx", "rocm")}
"""The providers of an `onnxruntime` component, by the names that sessions are opened with."""
KERNELS_EP = "RocKernelsExecutionProvider"
"""The name that the bundled plugin EP registers under."""
CPU = "CPUExecutionProvider"
"""The provider that every ONNX Runtime has."""
NO_DEMANDS = Verify.model_validate({})
_NO_REQUIREMENTS = WheelRequirements.model_validate({})


@dataclass(frozen=True)
class PackedWheel:
    """A wheel of a recipe at one point of its matrix: its component's name, itself, what it packs, and its GPU targets."""

    name: str
    wheel: Wheel
    component: Component
    gfx: tuple[str, ...]


def wheels_of(recipe: Recipe) -> Iterator[PackedWheel]:
    """Every wheel that the recipe makes, one for each name that its matrix gives it."""
    for each in expand(recipe).components:
        if isinstance(each.component, Wheel):
            content = recipe.components[each.component.needs[0]]
            gfx = (each.point.gfx,) if each.point.gfx else recipe.gfx
            yield PackedWheel(each.point.component, each.component, content, gfx)


def gfx_of(packed_wheel: PackedWheel, recipe: Recipe) -> tuple[str, ...]:
    """The GPU targets that a wheel must have code objects for, exactly these; none where it need not hold GPU code."""
    targets = requirements_of(packed_wheel.name, recipe).gfx
    if targets is not None:
        return tuple(target for target in targets if target in packed_wheel.gfx)
    return packed_wheel.gfx if has_device_code(packed_wheel.component) else ()


def narrow(recipe: Recipe, gfx: tuple[str, ...]) -> tuple[Recipe, tuple[str, ...]]:
    """The recipe for those of its GPU targets only, and the distributions that so hold code for fewer than it promises.

    No targets mean all. A wheel that the matrix makes for one target is whole with that one. Raises UsageError.
    """
    if not gfx:
        return recipe, ()
    part = recipe.model_copy(update={"gfx": selected_values("gfx target", recipe.gfx, gfx)})
    promised_targets = {each.wheel.distribution: set(gfx_of(each, recipe)) for each in wheels_of(recipe)}
    targets_by_wheel = {each.wheel.distribution: set(gfx_of(each, part)) for each in wheels_of(part)}
    return part, tuple(name for name, targets in targets_by_wheel.items() if targets != promised_targets[name])


def providers_of(packed_wheel: PackedWheel, recipe: Recipe) -> tuple[str, ...]:
    """The execution providers that a wheel must bring."""
    demanded_providers = requirements_of(packed_wheel.name, recipe).providers
    if demanded_providers is not None:
        return demanded_providers
    match packed_wheel.component:
        case OnnxRuntime() as runtime:
            return tuple(NAMES[name] for name in runtime.providers)
        case AmdgpuEp():
            return (providers.AMDGPU.provider,)
        case MIGraphXEp():
            return (providers.MIGRAPHX.provider,)
        case HipdnnEp():
            return (providers.HIPDNN.provider,)
        case KernelsEp():
            return (KERNELS_EP,)
        case Script() | CMake():
            return (recipe.verify or NO_DEMANDS).providers
        case _:
            return ()


def has_device_code(component: Component) -> bool:
    """Whether what is packed from it holds code for GPUs. MIGraphX and hipDNN compile at run time, and so their providers
    have none: a wheel with only those is for every target that the user's ROCm is for. Nothing follows from commands."""
    if isinstance(component, OnnxRuntime):
        return "rocm" in component.providers
    if isinstance(component, CMake):
        return component.uses_gfx is not None or component.hipify is not None
    if isinstance(component, Script):
        return component.hipify is not None
    return isinstance(component, Kernels | MIGraphXPackage) or (
        isinstance(component, Lc0) and component.backend == "hip"
    )


def migraphx_distributions(recipe: Recipe) -> frozenset[str]:
    """The distributions that pack MIGraphX itself."""
    wheels = (each.wheel for each in wheels_of(recipe) if isinstance(each.component, MIGraphXPackage))
    return frozenset(wheel.distribution for wheel in wheels)


def unmatched_demands(recipe: Recipe) -> tuple[str, ...]:
    """The keys of `verify` whose demand no wheel of the recipe would be held to."""
    demands, packed_wheels = recipe.verify or NO_DEMANDS, tuple(wheels_of(recipe))
    providers = {CPU, *(name for each in packed_wheels for name in providers_of(each, recipe))}
    lost_places = [f"providers.{n}" for n, name in enumerate(demands.providers) if name not in providers]
    if demands.kernels_floor and not any(gfx_of(each, recipe) for each in packed_wheels):
        lost_places.append("kernels_floor")
    return tuple(lost_places) if packed_wheels else ()


def requirements_of(name: str, recipe: Recipe) -> WheelRequirements:
    """What the recipe says of the wheel of that component."""
    return (recipe.verify or NO_DEMANDS).wheels.get(name, _NO_REQUIREMENTS)
