"""`migraphx`: MIGraphX, and before it each line of its `requirements.txt` that neither the base nor `needs` has."""

from __future__ import annotations

from dataclasses import replace

from stackbuild.model.components import MIGraphX
from stackbuild.model.lock import is_elsewhere
from stackbuild.model.plan import Command, Need, Step
from stackbuild.plan.steps.context import Context
from stackbuild.plan.steps.rocm import CMakeProject, built_dep, cmake_step, compilers, deps_step

PROBES = {
    "MIGRAPHX_USE_MIOPEN": ("HAS_FIND_MODE_API", "HAS_FIND_2_API"),
    "MIGRAPHX_USE_ROCBLAS": ("HAS_ROCBLAS_TUNING_BETA_FEATURE_API",),
}
"""Option to what MIGraphX then looks for in that library (src/targets/gpu/CMakeLists.txt, the same from 6.4.4 to 2.16). A probe
that fails, because a library behind the library is missing, say, is a line of the log, and a slower MIGraphX."""

PROBE_COMMAND = (
    'for p in {probes}; do grep -q "^$p:INTERNAL=1" {build}/CMakeCache.txt || absent="$absent $p"; done; '
    '[ -z "$absent" ] || {{ echo "MIGraphX did not find in MIOpen or rocBLAS what it looks for:$absent; see '
    'CMakeFiles/CMakeConfigureLog.yaml, or name what may be absent in probes_ok" >&2; exit 1; }}'
)


def steps(name: str, component: MIGraphX, context: Context) -> tuple[Step, ...]:
    """One step for each locked requirement to build, then MIGraphX itself."""
    requirements = _requirements(component, context)
    context = replace(context, steps={**context.steps, **{s.name: s for s in requirements}})
    built_steps = tuple(s for s in requirements if s.action == "run")
    more = tuple(Need(s.name, s.key, f"/deps/{s.name.removeprefix(component.source + '.')}") for s in built_steps)
    if component.source not in context.deps:
        more = (context.need(requirements[-1].name, f"/src/{component.source}-deps"),)
    options = {
        **compilers(component),
        "BUILD_TESTING": False,
        "GPU_TARGETS": ";".join(context.gfx),
        "MIGRAPHX_ENABLE_MLIR": bool(component.needs),
        "MIGRAPHX_ENABLE_PYTHON": False,  # migraphx_package.py compiles it, without MIGraphX once more for each Python
    }
    probes = _probe_commands(name, component)
    project = CMakeProject(options, more=more, configure_checks=probes)
    step = cmake_step(name, component, context, project)
    return (*requirements, step)


def _probe_commands(name: str, component: MIGraphX) -> tuple[Command, ...]:
    """The command that fails where MIGraphX would silently do without a function of MIOpen or rocBLAS."""
    names = (p for option, probes in PROBES.items() if component.options.get(option, True) for p in probes)
    probes = " ".join(p for p in names if p not in component.probes_ok)
    text = PROBE_COMMAND.format(probes=probes, build=f"/build/{name}")
    return (Command(("sh", "-c", text), "configure"),) if probes else ()


def _requirements(component: MIGraphX, context: Context) -> tuple[Step, ...]:
    """Steps for the requirements that are to be built, in the file's order: a later line may use an earlier one."""
    rows = context.deps.get(component.source)
    if rows is None:
        return (deps_step(component.source, context),)
    requirements: list[Step] = []
    for index, dep in enumerate(rows):
        if is_elsewhere(dep, component):
            continue
        extended_context = replace(context, steps={**context.steps, **{s.name: s for s in requirements}})
        requirements += built_dep(component.source, component, extended_context, index)
    return tuple(requirements)
