"""`migraphx-ep` and `amdgpu-ep`: AMD's plugin EPs of one repository, whose CMake downloads its dependencies by FetchContent.

The umbrella (`USE_AMDGPU`) is the same project with one library more, and MIGraphX's under another name.

Each is fetched under the lock, unpacked, copied to where it can be written, and given as `FETCHCONTENT_SOURCE_DIR_NAME`. Its own build.py is not used: it
retags the wheel to a manylinux policy that nothing has checked. protobuf takes abseil from wherever CMake finds one,
and clones it otherwise. Here it gets the one that protobuf itself names, from the lock.
"""

from __future__ import annotations

from stackbuild.model.components import AmdgpuEp, MIGraphXEp, Scalar
from stackbuild.model.lock import is_elsewhere
from stackbuild.model.plan import Command, Need, Resources, Step
from stackbuild.plan.steps.context import Context
from stackbuild.plan.steps.plugin_package import package
from stackbuild.plan.steps.rocm import CMakeProject, cmake_step, compilers, deps_step
from stackbuild.tables.providers import AMDGPU, MIGRAPHX

FORCE_FETCH = "protobuf_FORCE_FETCH_DEPENDENCIES"
COPY = (
    'to=$1 && shift && mkdir -p "$to" && for one; do '
    'cp -a "/src/$one" "$to/" && chmod -R u+w "$to/$one" || exit 1; done'
)
"""Arguments: a folder, and the sources to copy there. A source given to FetchContent is a project's own tree, and zlib's
CMakeLists.txt renames a file of its own (1.3.1, line 76)."""
PLATFORM = {"CXXFLAGS": "-D__HIP_PLATFORM_AMD__=1"}
"""As AMD's own script builds it: HIP's headers stop without a platform
(scripts/build_migraphx_ep_from_packages.sh@72f75dde)."""


def steps(name: str, component: MIGraphXEp, context: Context) -> tuple[Step, ...]:
    """A step for each dependency's source, and the EP."""
    umbrella = isinstance(component, AmdgpuEp)
    sources = _sources(component, context)
    needs = tuple(Need(s.name, s.key, f"/src/{s.name.removeprefix('source.')}") for s in sources)
    fetched_names = tuple(s.name.removeprefix("source.") for s in sources if s.action == "archive")
    place = f"/build/{name}/fetched"
    folders: dict[str, Scalar] = {
        f"FETCHCONTENT_SOURCE_DIR_{one.rpartition('.')[2].upper()}": f"{place}/{one}" for one in fetched_names
    }
    before = (Command(("sh", "-c", COPY, "copy", place, *fetched_names), "configure"),) if fetched_names else ()
    options: dict[str, Scalar] = {
        **compilers(component),
        **folders,
        "CMAKE_PREFIX_PATH": ";".join(_homes(component)),
        "CMAKE_SKIP_RPATH": True,
        "FETCHCONTENT_FULLY_DISCONNECTED": True,
        "FETCHCONTENT_TRY_FIND_PACKAGE_MODE": "NEVER",
        **({"USE_AMDGPU": True} if umbrella else {}),
        "USE_MIGRAPHX": True,
        FORCE_FETCH: True,
    }
    after = package(AMDGPU if umbrella else MIGRAPHX, component.source)
    allowed_entries = (*folders, FORCE_FETCH)
    project = CMakeProject(options, more=needs, unused_ok=allowed_entries, env=PLATFORM, before=before, after=after)
    return (*sources, cmake_step(name, component, context, project))


def _homes(component: MIGraphXEp) -> tuple[str, ...]:
    homes = (component.onnxruntime_home, component.migraphx_home)
    return (*(f"/deps/{n}" for n in component.needs), *(h for h in homes if h), component.rocm_home)


def _sources(component: MIGraphXEp, context: Context) -> tuple[Step, ...]:
    rows = context.deps.get(component.source)
    if rows is None:
        return (deps_step(component.source, context),)
    return tuple(
        Step(
            name=f"source.{component.source}.{dep.name}",
            action="archive",
            params=(("sha256", dep.digest.removeprefix("sha256:") or "unlocked"), ("url", dep.url)),
            resources=Resources(network=True),
        )
        for dep in rows
        if not is_elsewhere(dep, component)
    )
