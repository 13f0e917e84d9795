"""What the components of the ROCm stack have in common: compilers, prefixes, CMake's calls and dependencies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from stackbuild.core.errors import PlanError
from stackbuild.model.components import Component, Rocm, Scalar
from stackbuild.model.plan import Command, Need, Resources, Step, sorted_items
from stackbuild.plan.steps.cmake import LAUNCHERS, cmake_commands, spell
from stackbuild.plan.steps.context import Context, session_step

NEVER_ASKED = ("CMAKE_HIP_COMPILER", *LAUNCHERS)
"""Cache entries that every component is given and some languages never ask for."""


def demanded_entries(entries: Mapping[str, Scalar], allowed_entries: tuple[str, ...]) -> tuple[str, ...]:
    """The entries that a project must use: those given, but for languages it may not have and those allowed unused."""
    return tuple(sorted(set(entries) - {*NEVER_ASKED, *allowed_entries}))


def compilers(component: Rocm) -> dict[str, Scalar]:
    """ROCm's clang for C and C++: MIGraphX and rocMLIR demand it."""
    return {
        "CMAKE_C_COMPILER": f"{component.compiler}/clang",
        "CMAKE_CXX_COMPILER": f"{component.compiler}/clang++",
    }


def prefix_path(component: Rocm, context: Context) -> str:
    """Where CMake looks for packages: what was built for this component, then ROCm."""
    built_prefixes = [f"/deps/{n}" for n in component.needs]
    return ";".join([*built_prefixes, *(f"/deps/{d}" for d in _built_deps(component, context)), component.rocm_home])


def _built_deps(component: Rocm, context: Context) -> tuple[str, ...]:
    return tuple(
        d.name for d in context.deps.get(component.source, ()) if f"{component.source}.{d.name}" in context.steps
    )


def common(component: Rocm, context: Context) -> dict[str, Scalar]:
    """Cache entries of every component. The prefix is named at configure time too: some projects install by absolute path."""
    return {
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_INSTALL_PREFIX": "/out",
        "CMAKE_PREFIX_PATH": prefix_path(component, context),
        **LAUNCHERS,
    }


@dataclass(frozen=True)
class CMakeProject:
    """What one kind of CMake component has beside what all have.

    `options` are cache entries, `unused_ok` those of them that may go unused, `more` needs beside the recipe's. `before`
    runs first, `configure_checks` once the project is configured, `after` once it is installed.
    """

    options: Mapping[str, Scalar]
    more: tuple[Need, ...] = ()
    unused_ok: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    before: tuple[Command, ...] = ()
    configure_checks: tuple[Command, ...] = ()
    after: tuple[Command, ...] = ()


def cmake_step(name: str, component: Rocm, context: Context, project: CMakeProject) -> Step:
    """The one step of a CMake component: the recipe's options win, and no cache entry may go unused unannounced."""
    entries = {**common(component, context), **project.options, **component.options}
    configure, *rest = cmake_commands(name, f"/src/{component.source}", entries, component.generator)
    commands = (*project.before, configure, *project.configure_checks, *rest, *project.after)
    must_use = demanded_entries(entries, (*project.unused_ok, *component.unused_ok))
    env = dict(project.env)
    return session_step(name, component, context, commands, component.source, env, project.more, must_use)


def deps_step(source: str, context: Context, names: tuple[str, ...] | None = None) -> Step:
    """The host-side step that fetches what a source's own build would download, laid out as `HOST/PATH` of each URL.

    `names` names the rows to fetch, all where None. A lock without these rows gives a step that cannot run: it says so.
    """
    rows = context.deps.get(source)
    if rows is None:
        params = {"unlocked": source}
    else:
        params = {d.url: d.digest or "unlocked" for d in rows if names is None or d.name in names}
    return Step(
        name=f"source.{source}.deps",
        action="deps",
        params=sorted_items(params),
        resources=Resources(network=True),
    )


def built_dep(source: str, component: Rocm, context: Context, index: int) -> tuple[Step, Step]:
    """A `requirements.txt` line as two steps: its archive, and its CMake project built into an output of its own."""
    dep = context.deps[source][index]
    name = f"{source}.{dep.name}"
    fetch_step = Step(
        name=f"source.{name}",
        action="archive",
        params=(("sha256", dep.digest.removeprefix("sha256:") or "unlocked"), ("url", dep.url)),
        resources=Resources(network=True),
    )
    if other := [o for o in dep.options if not o.startswith("-D")]:
        raise PlanError(
            f"{dep.name} is built by cget's own recipe ({other[0]}), which stackbuild does not have",
            where=f"sources.{source}",
            next=f"install it in the base and list {dep.name} in `from_base`",
        )
    cache_entries = dict(option.removeprefix("-D").split("=", 1) for option in dep.options)
    entries = {
        **compilers(component),
        **common(component, context),
        "CMAKE_PREFIX_PATH": _earlier(source, context),
        **cache_entries,
    }
    defines = (f"-D{key}={spell(value)}" for key, value in sorted(entries.items()))
    where, build = f"/src/{name}/{dep.subfolder}".rstrip("/"), f"/build/{name}"
    commands = (
        Command(("cmake", "-S", where, "-B", build, "-G", component.generator, *defines), "configure"),
        Command(("cmake", "--build", build), "build"),
        Command(("cmake", "--install", build, "--prefix", "/out"), "install"),
    )
    plain = Component.model_validate({"memory": "3G"})
    base = replace(context, steps={**context.steps, fetch_step.name: fetch_step}, names={})
    more = tuple(base.need(f"{source}.{d}", f"/deps/{d}") for d in _built_deps(component, context))
    return fetch_step, session_step(name, plain, base, commands, name, {}, more)


def _earlier(source: str, context: Context) -> str:
    """Where the requirements before this one are: a later line may use an earlier one (protobuf uses abseil)."""
    rows = context.deps.get(source, ())
    return ";".join(f"/deps/{d.name}" for d in rows if f"{source}.{d.name}" in context.steps)
