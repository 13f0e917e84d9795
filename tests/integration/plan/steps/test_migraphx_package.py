"""The commands of a `migraphx-package` step on small libraries laid out as MIGraphX installs its own."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from stackbuild.model.components import MIGraphXPackage
from stackbuild.model.plan import Step
from stackbuild.plan.steps import migraphx_package
from stackbuild.plan.steps.context import Context

PROJECT = """
cmake_minimum_required(VERSION 3.20)
project(migraphx C)
add_library(migraphx SHARED core.c)
set_target_properties(migraphx PROPERTIES SOVERSION 2015000 INSTALL_RPATH "$ORIGIN/../lib:$ORIGIN/../../")
add_library(migraphx_c SHARED api.c)
target_link_libraries(migraphx_c PRIVATE migraphx)
set_target_properties(migraphx_c PROPERTIES SOVERSION 3 INSTALL_RPATH "$ORIGIN/../lib:$ORIGIN/../lib/migraphx/lib")
foreach(program IN ITEMS migraphx-driver migraphx-hiprtc-driver)
  add_executable(${program} driver.c)
  target_link_libraries(${program} PRIVATE migraphx)
  set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib:$ORIGIN/../lib/migraphx/lib")
endforeach()
install(TARGETS migraphx DESTINATION lib/migraphx/lib)
install(TARGETS migraphx_c migraphx-driver migraphx-hiprtc-driver)
install(FILES LICENSE DESTINATION share/doc/migraphx)
"""
FILES = {
    "CMakeLists.txt": PROJECT,
    "core.c": 'const char* operators(void) { return "ATen\\nMatMul\\n"; }',
    "api.c": "const char* operators(void); const char* migraphx_program_run(void) { return operators(); }",
    "driver.c": '#include <stdio.h>\nconst char* operators(void); int main(void) { fputs(operators(), stdout); return 0; }',
    "LICENSE": "mine",
}
FOLDER = re.compile(r"(?<![\w.$])/(deps|out|tmp)\b")
SESSION = """
import ctypes, migraphx_rocm
migraphx_rocm.preload()
run = ctypes.CDLL("libmigraphx_c.so.3").migraphx_program_run  # by its soname alone, as a provider asks for it
run.restype = ctypes.c_char_p
print(run().decode())
"""


def call(*words: str | Path, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=120, check=False, **more)  # type: ignore[call-overload]


def installed(root: Path, **files: str) -> Path:
    """A folder with the small MIGraphX in `deps/migraphx`, as a session would show it."""
    (source := root / "source").mkdir()
    for name, text in (FILES | {key.replace("_", "."): value for key, value in files.items()}).items():
        (source / name).write_text(text)
    build = root / "build"
    for words in (
        ("-S", source, "-B", build, "-G", "Ninja", f"-DCMAKE_INSTALL_PREFIX={root}/deps/migraphx"),
        ("--build", build),
        ("--install", build),
    ):
        done = call("cmake", *words)
        assert done.returncode == 0, done.stderr
    return root


def package(root: Path) -> str:
    """Run the step's commands with its folders below `root`: what the first that fails writes, "" where none does."""
    component = MIGraphXPackage(kind="migraphx-package", needs=("migraphx",))
    context = Context((), {"base": Step("base", "debian"), "migraphx": Step("migraphx", "run")})
    (step,) = migraphx_package.steps("migraphx-package", component, context)
    for folder in ("out", "tmp"):
        (root / folder).mkdir()
    for command in step.commands:
        done = call(*(FOLDER.sub(rf"{root}/\1", word) for word in command.argv))
        if done.returncode:
            return done.stderr
    return ""


def test_moved_anywhere_it_is_found_by_its_soname_and_runs_its_driver(tmp_path: Path) -> None:
    assert package(installed(tmp_path)) == ""
    moved = tmp_path / "site-packages"
    (tmp_path / "out").rename(moved)
    (tmp_path / "deps").rename(tmp_path / "gone")
    assert {path.name for path in (moved / "migraphx_rocm" / "lib").iterdir()} == {
        "libmigraphx.so.2015000",
        "libmigraphx_c.so.3",
    }
    assert not [path for path in moved.rglob("*") if path.is_symlink()]
    session = call(sys.executable, "-c", SESSION, env={"PYTHONPATH": str(moved)})
    assert (session.stdout, session.stderr) == ("ATen\nMatMul\n\n", "")
    driver = call(sys.executable, "-m", "migraphx_rocm", "onnx", env={"PYTHONPATH": str(moved)})
    assert driver.stdout == "ATen\nMatMul\n"
    read = call("readelf", "--dynamic", "--wide", moved / "migraphx_rocm" / "lib" / "libmigraphx_c.so.3").stdout
    assert "[$ORIGIN]" in read and str(tmp_path) not in read


@pytest.mark.parametrize(
    ("files", "complaint"),
    [
        ({"core_c": 'const char* operators(void) { return "ATen\\n"; }'}, "does not list MatMul"),
        ({"api_c": "int migraphx_nothing;"}, "undefined symbol: migraphx_program_run"),
        ({"CMakeLists_txt": PROJECT + "set_target_properties(migraphx PROPERTIES NO_SONAME ON)"}, "has no soname"),
    ],
)
def test_what_does_not_work_where_it_was_moved_is_not_packed(
    files: dict[str, str], complaint: str, tmp_path: Path
) -> None:
    assert complaint in package(installed(tmp_path, **files))
