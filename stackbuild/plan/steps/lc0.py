"""`lc0`: Leela Chess Zero by meson, one program a gfx target, because its HIP backend takes one (`-Damd_gfx`).

Link-time optimisation is off: objects of hipcc cannot take part in it (lc0#2420).
"""

from __future__ import annotations

from stackbuild.model.components import Lc0
from stackbuild.model.plan import Command, Step
from stackbuild.plan.steps.context import Context, session_step

OFF = ("b_lto", "cudnn", "cutlass", "dag_classic", "gtest", "ispc", "native_arch", "nvcc", "opencl", "plain_cuda")
"""As lc0#2420 builds it; meson refuses an option that the project does not have. `dag_classic`, a search algorithm, would be
the one part that downloads (abseil, by a wrap); `ispc` compiles for the machine it runs on, where it is installed."""


def steps(name: str, component: Lc0, context: Context) -> tuple[Step, ...]:
    """One step: the program as `/out/bin/lc0`, or `/out/GFX/bin/lc0` where there are several targets."""
    if component.backend != "hip":
        commands = _program(name, component, "", "/out")
    elif len(context.gfx) == 1:
        commands = _program(name, component, context.gfx[0], "/out")
    else:
        commands = tuple(c for gfx in context.gfx for c in _program(name, component, gfx, f"/out/{gfx}"))
    env = {"PATH": f"{component.rocm_home}/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}
    return (session_step(name, component, context, commands, component.source, env),)


def _program(name: str, component: Lc0, gfx: str, prefix: str) -> tuple[Command, ...]:
    build = f"/build/{name}/{gfx or component.backend}"
    options = {**_options(component, gfx), **component.options}
    words = (f"-D{key}={_spell(value)}" for key, value in sorted(options.items()))
    setup = ("meson", "setup", build, f"/src/{component.source}", "--buildtype=release", f"--prefix={prefix}")
    return (
        Command((*setup, "--wrap-mode=nodownload", "--strip", *words), "configure"),
        Command(("meson", "compile", "-C", build), "build"),
        Command(("install", "-D", f"{build}/lc0", f"{prefix}/bin/lc0"), "install"),
    )


def _options(component: Lc0, gfx: str) -> dict[str, object]:
    home = component.rocm_home
    options: dict[str, object] = {**dict.fromkeys(OFF, False), "blas": True, "hip": component.backend == "hip"}
    if component.backend == "hip":
        options |= {"amd_gfx": gfx, "hip_libdirs": f"{home}/lib", "hip_include": f"{home}/include", "onnx": False}
    if component.backend == "onnx":
        runtime = f"/deps/{component.needs[0]}" if component.needs else home
        options |= {"onnx_libdir": f"{runtime}/lib", "onnx_include": f"{runtime}/include/onnxruntime"}
    return options


def _spell(value: object) -> str:
    """meson's spelling: booleans in lower case."""
    return str(value).lower() if isinstance(value, bool) else str(value)
