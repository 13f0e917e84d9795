"""The commands that compile MIGraphX's Python module, on a MIGraphX and a pybind11 of a few lines each."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stackbuild.model.components import MIGraphXPackage
from stackbuild.model.plan import Step
from stackbuild.plan.steps.context import Context
from stackbuild.plan.steps.migraphx_module import module_commands, module_needs

pytestmark = pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in ("cmake", "ninja", "ccache", "g++")), reason="needs CMake, ninja, ccache, g++"
)
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
FOLDER = re.compile(r"(?<![\w.$}])/(deps|out|tmp|src|build)\b")
PYBIND11 = """
function(pybind11_add_module name)
  list(REMOVE_ITEM ARGN NO_EXTRAS)
  Python_add_library(${name} MODULE WITH_SOABI ${ARGN})
endfunction()
"""
CONFIG = """
foreach(part IN ITEMS migraphx onnx tf ref gpu)
  add_library(migraphx::${part} SHARED IMPORTED)
  set_target_properties(migraphx::${part} PROPERTIES IMPORTED_LOCATION "${CMAKE_CURRENT_LIST_DIR}/../../libmigraphx.so.9")
endforeach()
target_link_libraries(migraphx::gpu INTERFACE hiprtc::hiprtc)
"""
HIPRTC = "add_library(hiprtc::hiprtc INTERFACE IMPORTED)\n"
MODULE = r'''
#include <Python.h>
#include <migraphx/program.hpp>
#ifndef HAVE_GPU
#error "MIGraphX's own build defines it"
#endif
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "migraphx", nullptr, -1};
static const char text[] = R"(
class Values:
    def __init__(self, values): self.values = values
    def tolist(self): return self.values
class program:
    def get_main_module(self): return self
    def add_parameter(self, name, shape): return name
    def add_instruction(self, op, inputs): return op
    def add_return(self, outputs): pass
    def compile(self, target): assert target == 'ref'
    def run(self, inputs):
        ((a, b), (c, d)) = inputs['x'].tolist()
        return [Values([x * SCALE for x in (a*a + b*c, a*b + b*d, c*a + d*c, c*b + d*d)])]
def shape(type, lens): return lens
def op(name): return name
def get_target(name): return name
argument = lambda values: values
)";
PyMODINIT_FUNC PyInit_migraphx() {
  PyObject* module = PyModule_Create(&definition);
  PyObject* names = PyModule_GetDict(module);
  PyDict_SetItemString(names, "__builtins__", PyEval_GetBuiltins());
  PyDict_SetItemString(names, "SCALE", PyLong_FromLong(scale()));
  return PyRun_String(text, Py_file_input, names, names) ? module : nullptr;
}
'''


def call(*words: str | Path, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=120, check=False, **more)  # type: ignore[call-overload]


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def tree(root: Path, scale: int = 1) -> Path:
    """What a step's session shows, below `root`: MIGraphX built and packed, its source, pybind11's and a compiler."""
    built = root / "deps" / "migraphx" / "lib"
    write(built / "cmake" / "migraphx" / "migraphx-config.cmake", CONFIG)
    write(built / "migraphx" / "include" / "migraphx" / "program.hpp", "int scale();\n")
    write(root / "rocm" / "lib" / "cmake" / "hiprtc" / "hiprtc-config.cmake", HIPRTC)
    write(root / "src" / "migraphx" / "src" / "py" / "migraphx_py.cpp", MODULE)
    write(root / "src" / "pybind11" / "CMakeLists.txt", PYBIND11)
    source = write(root / "scale.cpp", f"int scale() {{ return {scale}; }}\n")
    (packed := root / "out" / "migraphx_rocm" / "lib").mkdir(parents=True)
    name = "libmigraphx.so.9"
    made = call("g++", "-shared", "-fPIC", f"-Wl,-soname,{name}", "-o", packed / name, source)
    assert made.returncode == 0, made.stderr
    shutil.copy(packed / name, built / name)
    (root / "tmp").mkdir()
    (root / "bin").mkdir()
    (root / "bin" / "clang++").symlink_to(shutil.which("g++") or "")
    (root / "bin" / f"python{PYTHON}").symlink_to(sys.executable)
    return root


def first_failure(root: Path) -> str:
    """Run the commands with their folders below `root`: what the first that fails writes, "" where none does."""
    component = MIGraphXPackage.model_validate(
        {
            "kind": "migraphx-package", "needs": ["migraphx"], "source": "migraphx", "pybind11": "pybind11",
            "rocm_home": str(root / "rocm"), "compiler": str(root / "bin"),
        }
    )  # fmt: skip
    path = f"{root}/bin:/usr/local/bin:/usr/bin:/bin"
    environment = {"PATH": path, "HOME": str(root), "CCACHE_DISABLE": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    for command in module_commands("migraphx-package", component, Context((), {}, python=PYTHON)):
        words = (word.replace(str(root), "ROOT") for word in command.argv)
        moved = (FOLDER.sub(r"ROOT/\1", word).replace("ROOT", str(root)) for word in words)
        done = call(*moved, env=environment)
        if done.returncode:
            return done.stdout + done.stderr
    return ""


def test_the_module_is_imported_from_beside_the_libraries(tmp_path: Path) -> None:
    assert first_failure(tree(tmp_path)) == ""
    moved = tmp_path / "site-packages"
    (tmp_path / "out").rename(moved)
    shutil.rmtree(tmp_path / "deps")
    (module,) = (moved / "migraphx").glob("*.so")
    assert module.name == f"migraphx.cpython-{PYTHON.replace('.', '')}-x86_64-linux-gnu.so"
    session = call(sys.executable, "-c", "import migraphx; print(migraphx.get_target('ref'))", env={"PYTHONPATH": str(moved)})
    assert (session.stdout, session.stderr) == ("ref\n", "")
    paths = call("readelf", "--dynamic", "--wide", module).stdout
    assert "[$ORIGIN/../migraphx_rocm/lib]" in paths and str(tmp_path) not in paths


def test_a_module_that_computes_something_else_is_not_packed(tmp_path: Path) -> None:
    said = first_failure(tree(tmp_path, scale=2))
    assert "[14.0, 20.0, 30.0, 44.0]" in said and "MIGraphX's Python module does not compute" in said


def test_a_source_without_the_file_stops_at_configuring(tmp_path: Path) -> None:
    root = tree(tmp_path)
    (root / "src" / "migraphx" / "src" / "py" / "migraphx_py.cpp").unlink()
    assert "migraphx_py.cpp" in first_failure(root)


def test_the_source_of_pybind11_is_needed_where_it_is_named() -> None:
    context = Context((), {"source.pybind11": Step("source.pybind11", "git")})
    fields = {"kind": "migraphx-package", "needs": ["migraphx"], "source": "migraphx"}
    assert module_needs(MIGraphXPackage.model_validate(fields), context) == ()
    (need,) = module_needs(MIGraphXPackage.model_validate({**fields, "pybind11": "pybind11"}), context)
    assert (need.step, need.at) == ("source.pybind11", "/src/pybind11")
    with pytest.raises(ValueError, match="name MIGraphX's source too"):
        MIGraphXPackage.model_validate({"kind": "migraphx-package", "needs": ["migraphx"], "pybind11": "pybind11"})
