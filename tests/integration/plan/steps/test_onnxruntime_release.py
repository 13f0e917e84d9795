"""The commands of an `onnxruntime-release` step on an archive laid out as ONNX Runtime's are."""

import re
import subprocess
from pathlib import Path

import pytest

from stackbuild.model.components import OnnxRuntimeRelease
from stackbuild.model.plan import Step
from stackbuild.plan.steps import onnxruntime_release
from stackbuild.plan.steps.context import Context

FOLDER = re.compile(r"(?<![\w./])/(src|out)\b|(?<=\s)/(src|out)\b|(?<==)/(src|out)\b")
HEADERS = ("onnxruntime_c_api.h", "onnxruntime_cxx_api.h")
PACKAGE = """
get_filename_component(prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
add_library(onnxruntime::onnxruntime SHARED IMPORTED)
set_target_properties(onnxruntime::onnxruntime PROPERTIES IMPORTED_LOCATION "${prefix}/lib64/libonnxruntime.so.1.99.0"
  INTERFACE_INCLUDE_DIRECTORIES "${prefix}/include/onnxruntime")
if(NOT EXISTS "${prefix}/lib64/libonnxruntime.so.1.99.0")
  message(FATAL_ERROR "The imported target references a file that does not exist")
endif()
"""
PROJECT = """
cmake_minimum_required(VERSION 3.20)
project(user C)
find_package(onnxruntime CONFIG REQUIRED)
add_library(user SHARED user.c)
target_link_libraries(user PRIVATE onnxruntime::onnxruntime)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The unpacked archive at `src/onnxruntime`, with the CMake package that fits none of its folders."""
    source = tmp_path / "src" / "onnxruntime"
    (source / "lib" / "cmake" / "onnxruntime").mkdir(parents=True)
    (source / "include").mkdir()
    (source / "VERSION_NUMBER").write_text("1.99.0\n")
    for name in HEADERS:
        (source / "include" / name).write_text("int ort(void);\n")
    (source / "lib" / "cmake" / "onnxruntime" / "onnxruntimeConfig.cmake").write_text(PACKAGE)
    library = source / "lib" / "libonnxruntime.so.1.99.0"
    words = ["cc", "-shared", "-x", "c", "-", "-Wl,-soname,libonnxruntime.so.1", "-o", str(library)]
    subprocess.run(words, input="int ort(void) { return 1; }", text=True, check=True)
    (tmp_path / "out").mkdir()
    return tmp_path


def perform(root: Path, version: str) -> subprocess.CompletedProcess[str]:
    """The step's commands with the session's folders below `root`; the first that fails, or the last."""
    component = OnnxRuntimeRelease(kind="onnxruntime-release", source="onnxruntime", version=version)
    steps = {"base": Step("base", "debian"), "source.onnxruntime": Step("source.onnxruntime", "archive")}
    (step,) = onnxruntime_release.steps("onnxruntime", component, Context((), steps))
    for command in step.commands:
        words = [FOLDER.sub(lambda match: f"{root}{match[0]}", word) for word in command.argv]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            return done
    return done


def test_a_cmake_project_and_the_hipdnn_ep_find_it(root: Path, tmp_path: Path) -> None:
    done = perform(root, "1.99.0")
    assert done.returncode == 0, done.stderr
    for name in HEADERS:
        assert (root / "out" / "include" / "onnxruntime" / "core" / "session" / name).is_file()
    user = tmp_path / "user"
    user.mkdir()
    (user / "CMakeLists.txt").write_text(PROJECT)
    (user / "user.c").write_text("#include <onnxruntime_c_api.h>\nint user(void) { return ort(); }\n")
    for prefix, works in ((root / "src" / "onnxruntime", False), (root / "out", True)):
        build = user / f"build-{works}"
        configure = ["cmake", "-S", str(user), "-B", str(build), "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}"]
        assert (subprocess.run(configure, capture_output=True).returncode == 0) is works
    assert subprocess.run(["cmake", "--build", str(user / "build-True")], capture_output=True).returncode == 0


def test_an_archive_of_another_version_ends_the_step(root: Path) -> None:
    done = perform(root, "1.29.0")
    assert done.returncode == 1
    assert "the archive is ONNX Runtime 1.99.0, the recipe says 1.29.0" in done.stderr
    assert not list((root / "out").iterdir())
