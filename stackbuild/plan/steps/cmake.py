"""`cmake`: any CMake project, configured, built and installed into `/out`, compiled through ccache."""

from __future__ import annotations

from collections.abc import Mapping

from stackbuild.model.components import CMake, Scalar
from stackbuild.model.plan import Command, Step
from stackbuild.plan.steps.context import Context, session_step

LAUNCHERS = {f"CMAKE_{language}_COMPILER_LAUNCHER": "ccache" for language in ("C", "CXX", "HIP")}


def steps(name: str, component: CMake, context: Context) -> tuple[Step, ...]:
    """One step: configure, build, install."""
    gfx: dict[str, Scalar] = {component.uses_gfx: ";".join(context.gfx)} if component.uses_gfx else {}
    commands = cmake_commands(
        name,
        f"/src/{component.source}/{component.subfolder}".removesuffix("/."),
        {"CMAKE_BUILD_TYPE": "Release", **LAUNCHERS, **gfx, **component.options},
        component.generator,
        component.components,
    )
    return (session_step(name, component, context, commands, component.source, {}),)


def cmake_commands(
    name: str, source: str, options: Mapping[str, Scalar], generator: str, components: tuple[str, ...] = ()
) -> tuple[Command, ...]:
    """CMake's three calls. Parallelism comes from the jobserver, so no `-j` stands in them (or in the key)."""
    build = f"/build/{name}"
    defines = (f"-D{key}={spell(value)}" for key, value in sorted(options.items()))
    install = ("cmake", "--install", build, "--prefix", "/out", "--strip")
    return (
        Command(("cmake", "-S", source, "-B", build, "-G", generator, *defines), "configure"),
        Command(("cmake", "--build", build), "build"),
        *(Command((*install, "--component", part), "install") for part in components),
        *(() if components else (Command(install, "install"),)),
    )


def spell(value: Scalar) -> str:
    """CMake's spelling of a value: booleans are ON and OFF."""
    return ("ON" if value else "OFF") if isinstance(value, bool) else str(value)
