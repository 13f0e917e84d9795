"""`kernels`: the bundled HIP kernels as an ONNX Runtime custom-op library."""

from __future__ import annotations

from stackbuild.components import Kernels
from stackbuild.plan import Step
from stackbuild.steps.cmake import LAUNCHERS, cmake_commands
from stackbuild.steps.context import Context, session_step


def steps(name: str, component: Kernels, context: Context) -> tuple[Step, ...]:
    """One step. Makefiles, because GNU make speaks the jobserver's protocol in every base and ninja only from 1.13."""
    options = {
        "CMAKE_BUILD_TYPE": "Release",
        **LAUNCHERS,
        "GPU_TARGETS": ";".join(context.gfx),
        **component.options,
    }
    commands = cmake_commands(name, f"/src/{component.source}", options, "Unix Makefiles")
    return (session_step(name, component, context, commands, component.source, {}),)
