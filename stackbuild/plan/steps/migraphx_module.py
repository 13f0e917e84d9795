"""MIGraphX's Python module, compiled from its own source against the MIGraphX that another component built.

MIGraphX compiles the module as part of itself, so each Python would cost a whole build of it, and only Pythons that it names
are looked for (3.6 to 3.13 in 2.15's cmake/PythonModules.cmake, the others in silence). All that the one file includes is
installed with MIGraphX: the module is a project of its own, of one file, and takes half a minute a Python.
"""

from __future__ import annotations

from stackbuild.model.components import MIGraphXPackage, Scalar
from stackbuild.model.plan import Command, Need
from stackbuild.plan.steps.cmake import LAUNCHERS, cmake_commands
from stackbuild.plan.steps.context import Context
from stackbuild.tables.providers import MIGRAPHX_MODULE, MIGRAPHX_PACKAGE

MODULE_LIBRARIES = ("migraphx", "onnx", "tf", "ref", "gpu")
"""Targets of MIGraphX's CMake package that the module is linked with."""

PROJECT = """
cmake_minimum_required(VERSION 3.20)
project(migraphx_python LANGUAGES CXX)
find_package(Python ${PYTHON_VERSION} EXACT REQUIRED COMPONENTS Interpreter Development.Module)
if(PYBIND11_SOURCE)
  add_subdirectory("${PYBIND11_SOURCE}" pybind11)
else()
  find_package(pybind11 CONFIG REQUIRED)
endif()
find_package(hiprtc CONFIG REQUIRED)
find_package(migraphx CONFIG REQUIRED)
pybind11_add_module(migraphx NO_EXTRAS "${MIGRAPHX_SOURCE}/src/py/migraphx_py.cpp")
target_include_directories(migraphx PRIVATE "${MIGRAPHX_HOME}/lib/migraphx/include")
foreach(part IN ITEMS ${MODULE_LIBRARIES})
  target_link_libraries(migraphx PRIVATE migraphx::${part})
endforeach()
target_compile_definitions(migraphx PRIVATE HAVE_GPU)
set_target_properties(migraphx PROPERTIES INSTALL_RPATH "$ORIGIN/../${LIBRARIES}")
install(TARGETS migraphx DESTINATION migraphx)
"""
"""`hiprtc` is looked for here since migraphx-config.cmake links its target without looking for it (7.2.4). Where the internal
headers lie: rocm_install_targets(… PREFIX migraphx) in src/CMakeLists.txt. HAVE_GPU is what MIGraphX's own build defines."""

TEXT = '''\
"""MIGraphX's own Python API, for this version of Python. Its libraries are those of the package `migraphx_rocm`."""

from migraphx.migraphx import *
'''

PROVE = (
    'set -e; moved=/tmp/site; rm -rf "$moved"; mkdir "$moved"; cp -a "$1/$2" "$1/$3" "$moved"; '
    'PYTHONPATH="$moved" "$4" -c "$5" || { echo "MIGraphX\'s Python module does not compute" >&2; exit 1; }'
)
"""Arguments: the output, the two packages, the interpreter, the program."""

PROGRAM = """
import array, migraphx
program = migraphx.program()
main = program.get_main_module()
x = main.add_parameter("x", migraphx.shape(type="float_type", lens=[2, 2]))
main.add_return([main.add_instruction(migraphx.op("dot"), [x, x])])
program.compile(migraphx.get_target("ref"))
values = memoryview(array.array("f", [1, 2, 3, 4])).cast("B").cast("f", [2, 2])
product = program.run({"x": migraphx.argument(values)})[-1].tolist()
if product != [7, 10, 15, 22]:
    raise SystemExit(f"the square of a matrix is {product} on the reference target")
"""


def module_commands(name: str, component: MIGraphXPackage, context: Context) -> tuple[Command, ...]:
    """Configure, build, install and prove the module of the context's Python, beside the package of the libraries."""
    migraphx, project = f"/deps/{component.needs[0]}", f"/build/{name}-project"
    entries: dict[str, Scalar] = {
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_CXX_COMPILER": f"{component.compiler}/clang++",
        "CMAKE_CXX_COMPILER_LAUNCHER": LAUNCHERS["CMAKE_CXX_COMPILER_LAUNCHER"],
        "CMAKE_PREFIX_PATH": f"{migraphx};{component.rocm_home}",
        "LIBRARIES": f"{MIGRAPHX_PACKAGE}/lib",
        "MIGRAPHX_HOME": migraphx,
        "MIGRAPHX_SOURCE": f"/src/{component.source}",
        "MODULE_LIBRARIES": ";".join(MODULE_LIBRARIES),
        "PYTHON_VERSION": context.python,
        **({"PYBIND11_SOURCE": f"/src/{component.pybind11}"} if component.pybind11 else {}),
    }
    write = 'mkdir -p "$1" && printf %s "$2" >"$1/CMakeLists.txt"'
    interpreter = f"python{context.python}"
    return (
        Command(("sh", "-c", write, "project", project, PROJECT), "configure"),
        *cmake_commands(name, project, entries, "Ninja"),
        Command(("sh", "-c", 'printf %s "$2" >"$1/__init__.py"', "text", f"/out/{MIGRAPHX_MODULE}", TEXT), "install"),
        Command(("sh", "-c", PROVE, "prove", "/out", MIGRAPHX_PACKAGE, MIGRAPHX_MODULE, interpreter, PROGRAM), "test"),
    )


def module_needs(component: MIGraphXPackage, context: Context) -> tuple[Need, ...]:
    """The source with pybind11, where the recipe names one."""
    pybind11 = component.pybind11
    return (context.need(f"source.{pybind11}", f"/src/{pybind11}"),) if pybind11 else ()
