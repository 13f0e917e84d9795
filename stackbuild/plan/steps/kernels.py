"""`kernels`: the bundled HIP kernels as an ONNX Runtime custom-op library."""

from __future__ import annotations

from stackbuild.model.components import Kernels, Scalar
from stackbuild.model.plan import Need, Step
from stackbuild.plan.steps.cmake import LAUNCHERS, cmake_commands
from stackbuild.plan.steps.context import Context, session_step


def steps(name: str, component: Kernels, context: Context) -> tuple[Step, ...]:
    """One step. Makefiles, because GNU make speaks the jobserver's protocol in every base and ninja only from 1.13."""
    options = {
        "CMAKE_BUILD_TYPE": "Release",
        **LAUNCHERS,
        "GPU_TARGETS": ";".join(context.gfx),
        **headers(component),
        **component.options,
    }
    commands = cmake_commands(name, f"/src/{component.source}", options, "Unix Makefiles")
    more = headers_need(component, context)
    return (session_step(name, component, context, commands, component.source, {}, more),)


def headers(component: Kernels) -> dict[str, Scalar]:
    """The cache entry that names ONNX Runtime's headers, where they come from a package of their own."""
    return {"ONNXRUNTIME_INCLUDE_DIR": f"/src/{component.headers}/usr/include/onnxruntime"} if component.headers else {}


def headers_need(component: Kernels, context: Context) -> tuple[Need, ...]:
    """The step that unpacks that package."""
    return (context.need(f"source.{component.headers}", f"/src/{component.headers}"),) if component.headers else ()
