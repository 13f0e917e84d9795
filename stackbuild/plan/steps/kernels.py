"""`kernels`: the bundled HIP kernels as an ONNX Runtime custom-op library.

Device code takes nearly all of the time, so it is compiled in parts, each a step: machines of a cluster share them, and
so do components that have a part in common.
"""

from __future__ import annotations

from stackbuild.model.components import Kernels, Scalar
from stackbuild.model.plan import Need, Step
from stackbuild.plan.steps import older_libc
from stackbuild.plan.steps.cmake import LAUNCHERS, cmake_commands
from stackbuild.plan.steps.context import Context, session_step

GENERATOR = "Unix Makefiles"
"""GNU make speaks the jobserver's protocol in every base, ninja only from 1.13."""
PARTS = ("conv", "others")
"""Parts of the device code, as kernels/cmake/operators.cmake divides it."""


def steps(name: str, component: Kernels, context: Context) -> tuple[Step, ...]:
    """The parts of the device code, then the libraries."""
    parts = part_steps(name, component, context) if has_parts(component) else ()
    options: dict[str, Scalar] = {
        "CMAKE_BUILD_TYPE": "Release",
        **LAUNCHERS,
        "GPU_TARGETS": ";".join(context.gfx),
        **objects(parts),
        **older_libc.options(context),
        **headers(component),
        **component.options,
    }
    commands = cmake_commands(name, f"/src/{component.source}", options, GENERATOR)
    more = (*headers_need(component, context), *older_libc.needs(context), *part_needs(parts))
    return (*parts, session_step(name, component, context, commands, component.source, {}, more))


def has_parts(component: Kernels) -> bool:
    """Whether there is device code for AMD's GPUs."""
    return component.options.get("SBK_PLATFORM", "amd") == "amd"


def part_steps(name: str, component: Kernels, context: Context) -> tuple[Step, ...]:
    """The parts that every library links: those of an earlier component where they are the same, else this one's own."""
    for other in (step.removesuffix(f".{PARTS[0]}") for step in context.steps if step.endswith(f".{PARTS[0]}")):
        same = tuple(part_step(other, part, component, context, {}) for part in PARTS)
        if all(step.name in context.steps and step.key == context.steps[step.name].key for step in same):
            return same
    return tuple(part_step(name, part, component, context, {}) for part in PARTS)


def part_step(
    name: str, part: str, component: Kernels, context: Context, more: dict[str, Scalar], needs: tuple[Need, ...] = ()
) -> Step:
    """The step that compiles one part; its output is a folder of objects."""
    options: dict[str, Scalar] = {
        "CMAKE_BUILD_TYPE": "Release",
        **LAUNCHERS,
        "GPU_TARGETS": ";".join(context.gfx),
        **more,
        **component.options,
        "SBK_PART": part,
    }
    step = f"{name}.{part}"
    commands = cmake_commands(step, f"/src/{component.source}", options, GENERATOR)
    return session_step(step, component, context, commands, component.source, {}, needs)


def objects(parts: tuple[Step, ...]) -> dict[str, Scalar]:
    """The cache entry that names the folders of objects."""
    return {"SBK_OBJECTS": ";".join(f"/deps/{part.name}" for part in parts)} if parts else {}


def part_needs(parts: tuple[Step, ...]) -> tuple[Need, ...]:
    return tuple(Need(part.name, part.key, f"/deps/{part.name}") for part in parts)


def headers(component: Kernels) -> dict[str, Scalar]:
    """The cache entry that names ONNX Runtime's headers, where they come from a package of their own."""
    return {"ONNXRUNTIME_INCLUDE_DIR": f"/src/{component.headers}/usr/include/onnxruntime"} if component.headers else {}


def headers_need(component: Kernels, context: Context) -> tuple[Need, ...]:
    """The step that unpacks that package."""
    return (context.need(f"source.{component.headers}", f"/src/{component.headers}"),) if component.headers else ()
