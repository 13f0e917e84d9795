"""`kernels-ep`: the bundled HIP kernels as a plugin EP."""

from __future__ import annotations

from stackbuild.model.components import KernelsEp, Scalar
from stackbuild.model.plan import Step
from stackbuild.plan.steps import older_libc
from stackbuild.plan.steps.cmake import LAUNCHERS, cmake_commands
from stackbuild.plan.steps.context import Context, session_step
from stackbuild.plan.steps.kernels import (
    GENERATOR,
    has_parts,
    headers,
    headers_need,
    objects,
    part_needs,
    part_step,
    part_steps,
)

EP_PARTS = ("ep-arithmetic", "ep-others")
"""Parts of the provider's own code, as kernels/ep/CMakeLists.txt divides it."""


def steps(name: str, component: KernelsEp, context: Context) -> tuple[Step, ...]:
    """The parts of the device code, the provider's own included, then `kernels/` with `SBK_EP`."""
    of_provider: dict[str, Scalar] = {
        "CMAKE_CXX_FLAGS": "-D__HIP_PLATFORM_AMD__=1",  # its host sources include HIP's headers too
        "SBK_CUSTOM_OPS": False,
        "SBK_EP": True,
        **headers(component),
    }
    header_needs = headers_need(component, context)
    parts: tuple[Step, ...] = ()
    if has_parts(component):
        own = (part_step(name, part, component, context, of_provider, header_needs) for part in EP_PARTS)
        parts = (*part_steps(name, component, context), *own)
    options: dict[str, Scalar] = {
        "CMAKE_BUILD_TYPE": "Release",
        **LAUNCHERS,
        "GPU_TARGETS": ";".join(context.gfx),
        **of_provider,
        **objects(parts),
        **older_libc.options(context),
        **component.options,
    }
    commands = cmake_commands(name, f"/src/{component.source}", options, GENERATOR, ("kernels-ep",))
    more = (*header_needs, *older_libc.needs(context), *part_needs(parts))
    return (*parts, session_step(name, component, context, commands, component.source, {}, more))
