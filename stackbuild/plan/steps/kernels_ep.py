"""`kernels-ep`: the bundled HIP kernels as a plugin EP."""

from __future__ import annotations

from stackbuild.model.components import KernelsEp
from stackbuild.model.plan import Step
from stackbuild.plan.steps.cmake import LAUNCHERS, cmake_commands
from stackbuild.plan.steps.context import Context, session_step
from stackbuild.plan.steps.kernels import headers, headers_need


def steps(name: str, component: KernelsEp, context: Context) -> tuple[Step, ...]:
    """One step: `kernels/` with `SBK_EP`."""
    options = {
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_CXX_FLAGS": "-D__HIP_PLATFORM_AMD__=1",  # its host sources include HIP's headers too
        **LAUNCHERS,
        "GPU_TARGETS": ";".join(context.gfx),
        "SBK_CUSTOM_OPS": False,
        "SBK_EP": True,
        **headers(component),
        **component.options,
    }
    commands = cmake_commands(name, f"/src/{component.source}", options, "Unix Makefiles", ("kernels-ep",))
    more = headers_need(component, context)
    return (session_step(name, component, context, commands, component.source, {}, more),)
