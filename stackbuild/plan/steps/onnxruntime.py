"""`onnxruntime`: ONNX Runtime by its own `build.py`, with every dependency from a folder and nothing from a network.

`build.py --update` configures. The compile itself is `cmake --build`, because `build.py` would pass a job count of its
own and so turn the jobserver off. Then `build.py --build --build_wheel` finds everything built and packs the package.

Up to 1.23 dependencies are looked for in `mirror/` of the source tree and nowhere else (onnxruntime#20005), so the tree
is copied to where it can be written and given that folder. From 1.24 an option names the folder (onnxruntime#26042).
"""

from __future__ import annotations

from dataclasses import replace

from stackbuild.model.components import OnnxRuntime, Scalar
from stackbuild.model.plan import Command, Step
from stackbuild.plan.steps.cmake import spell
from stackbuild.plan.steps.context import Context, session_step
from stackbuild.plan.steps.rocm import common, demanded_entries, deps_step
from stackbuild.recipe.compatibility import check_rocm_ep
from stackbuild.sources.upstream import REGENERATED_ARCHIVES

LINUX_DEPS = (
    *("abseil_cpp", "date", "dlpack", "eigen", "flatbuffers", "json", "microsoft_gsl", "mp11", "onnx", "protobuf"),
    *("pybind11", "pytorch_cpuinfo", "re2", "safeint", "utf8_range"),
)
"""Rows of `cmake/deps.txt` that a Linux x86-64 build with Python and no tests asks for (cmake/external/
onnxruntime_external_deps.cmake); a version that lacks one of them does not need it."""

OLDER_DEPS = ("google_nsync", "neural_speed", "protoc_linux_x64")
OWN_PROTOC = (1, 21)
"""The first version that downloads `protoc` only to cross-compile; before it these rows are asked for too, where they
exist (nsync up to 1.19, neural_speed in 1.17 to 1.19)."""

ROCM_DEPS = ("composable_kernel",)
MIRROR_OPTION = (1, 24)
"""The first version whose `build.py` takes `--cmake_deps_mirror_dir`; an earlier one stops at an argument it does not
know."""

OWN_EIGEN = (1, 22, 1)
"""The first version whose Eigen is served with the digest that its `cmake/deps.txt` says (onnxruntime#25157)."""

EMPTY = "for p in {names}; do mkdir -p {folder}/lib/cmake/$p && : > {folder}/lib/cmake/$p/${{p}}Config.cmake; done"

HIPIFY_CHECK = 'empty=$(find {tree}/Release/amdgpu -type f -empty) && [ -z "$empty" ] || {{ echo "hipify wrote nothing: $empty" >&2; exit 1; }}'
"""Its amd_hipify.py takes what hipify-perl printed, however it ended: a file it failed on is empty, and compiles."""


def steps(name: str, component: OnnxRuntime, context: Context) -> tuple[Step, ...]:
    """Two steps: its dependencies, and ONNX Runtime. Raises PlanError where the ROCm EP cannot be."""
    check_rocm_ep(name, component, context.rocm)
    deps = deps_step(component.source, context, _dependencies(component))
    with_deps = replace(context, steps={**context.steps, deps.name: deps})
    build = session_step(
        name,
        component,
        with_deps,
        _commands(name, component, with_deps),
        component.source,
        {
            "CCACHE_BASEDIR": f"/build/{name}",  # so that the copy of one Python's build hits what another's compiled
            "CXXFLAGS": "-D__HIP_PLATFORM_AMD__=1",
            "PYTHONPATH": "",
            "ORT_BUILD_WITH_CACHE": "0",
        },
        (with_deps.need(deps.name, f"/src/{component.source}-deps"),),
        demanded_entries(
            _entries(name, component, with_deps), (*component.unused_ok, *_empty_packages(name, component))
        ),
    )
    return (deps, build)


def _parts(component: OnnxRuntime) -> tuple[int, ...]:
    return tuple(map(int, component.version.split(".")))


def _version(component: OnnxRuntime) -> tuple[int, ...]:
    return _parts(component)[:2]


def _dependencies(component: OnnxRuntime) -> tuple[str, ...]:
    kernels = component.options.get("onnxruntime_USE_COMPOSABLE_KERNEL", True)
    rocm = ROCM_DEPS if kernels and "rocm" in component.providers else ()
    older = OLDER_DEPS if _version(component) < OWN_PROTOC else ()
    return (*LINUX_DEPS, *older, *rocm, *component.deps)


def _commands(name: str, component: OnnxRuntime, context: Context) -> tuple[Command, ...]:
    python = f"python{context.python or '3'}"
    tree = f"/build/{name}"
    source, copying = _tree(name, component)
    driver = (python, f"{source}/tools/ci_build/build.py", *_arguments(name, component, context))
    package = (
        (
            Command((*driver, "--build", "--build_wheel"), "install"),
            Command(("sh", "-c", f"{python} -m zipfile -e {tree}/Release/dist/*.whl /out"), "install"),
            Command(("sh", "-c", "find /out/onnxruntime -name '*.so*' -exec strip --strip-unneeded {} +"), "install"),
        )
        if component.python_package
        else ()
    )
    empty = EMPTY.format(names=" ".join(component.empty_packages), folder=f"{tree}/empty")
    return (
        *copying,
        *((Command(("sh", "-c", empty), "configure"),) if component.empty_packages else ()),
        Command((*driver, "--update"), "configure"),
        Command(("cmake", "--build", f"{tree}/Release"), "build"),
        *((Command(("sh", "-c", HIPIFY_CHECK.format(tree=tree)), "build"),) if "rocm" in component.providers else ()),
        Command(("cmake", "--install", f"{tree}/Release", "--prefix", "/out", "--strip"), "install"),
        *package,
    )


def _tree(name: str, component: OnnxRuntime) -> tuple[str, tuple[Command, ...]]:
    """Where the source is built from, and the commands that put it there."""
    source_folder = f"/src/{component.source}"
    if _version(component) >= MIRROR_OPTION:
        return source_folder, ()
    own = f"/build/{name}/source"
    words = f"mkdir -p {own} && cp -a {source_folder}/. {own} && chmod -R u+w {own} && ln -sfn {source_folder}-deps {own}/mirror"
    if _parts(component) < OWN_EIGEN:
        served_edits = " ".join(f"-e s/{old}/{new}/" for old, new in sorted(REGENERATED_ARCHIVES.items()))
        words += f" && sed -i {served_edits} {own}/cmake/deps.txt"
    return own, (Command(("sh", "-c", words), "configure"),)


def _arguments(name: str, component: OnnxRuntime, context: Context) -> tuple[str, ...]:
    """`build.py`'s arguments, the same for each of its calls. `--skip_pip_install` is as old as the mirror
    (onnxruntime#25982)."""
    newer = _version(component) >= MIRROR_OPTION
    home = migraphx_home(component)
    provider: tuple[str, ...] = ()
    if "migraphx" in component.providers:
        provider += ("--use_migraphx", "--migraphx_home", home)
    if "rocm" in component.providers:
        provider += ("--use_rocm", "--rocm_home", component.rocm_home, "--rocm_version", context.rocm)
    defines = (f"{key}={spell(value)}" for key, value in sorted(_entries(name, component, context).items()))
    return (
        *("--build_dir", f"/build/{name}", "--config", "Release", "--cmake_generator", component.generator),
        *("--build_shared_lib", "--skip_submodule_sync", "--skip_tests", "--allow_running_as_root"),
        "--compile_no_warning_as_error",
        *(("--cmake_deps_mirror_dir", f"/src/{component.source}-deps", "--skip_pip_install") if newer else ()),
        *(("--enable_pybind",) if component.python_package else ()),
        *provider,
        *("--cmake_extra_defines", *defines),
    )


def _entries(name: str, component: OnnxRuntime, context: Context) -> dict[str, Scalar]:
    """No package of the base is taken for a dependency, no build path stays in a library, no stack is executable."""
    entries: dict[str, Scalar] = {
        **{k: v for k, v in common(component, context).items() if k != "CMAKE_BUILD_TYPE"},
        "CMAKE_HIP_COMPILER": f"{component.compiler}/clang++",
        "CMAKE_SHARED_LINKER_FLAGS": "-Wl,-z,noexecstack",
        "CMAKE_SKIP_RPATH": True,
        "FETCHCONTENT_TRY_FIND_PACKAGE_MODE": "NEVER",
        "onnxruntime_BUILD_UNIT_TESTS": False,
    }
    entries.update(_empty_packages(name, component))
    if "rocm" in component.providers:
        entries["CMAKE_HIP_ARCHITECTURES"] = ";".join(context.gfx)
    return {**entries, **component.options}


def _empty_packages(name: str, component: OnnxRuntime) -> dict[str, Scalar]:
    """CMake's own way to say where a package is: it is taken also where the base has a real one, which may be whole or not."""
    return {f"{package}_DIR": f"/build/{name}/empty/lib/cmake/{package}" for package in component.empty_packages}


def migraphx_home(component: OnnxRuntime) -> str:
    """Where MIGraphX lies: said, or the first needed component's output."""
    return component.migraphx_home or (f"/deps/{component.needs[0]}" if component.needs else component.rocm_home)
