"""The commands of an `archive` step on a small library with ONNX Runtime's C API, and the file that comes out of them."""

import re
import subprocess
from pathlib import Path

import pytest

from stackbuild.model.components import Archive
from stackbuild.model.plan import Step
from stackbuild.plan.steps import archive
from stackbuild.plan.steps.context import Context

pytestmark = pytest.mark.sandbox  # an empty root is made by bubblewrap
NAME = "onnxruntime-linux-x64-mini-1.99.0"

HEADER = """
typedef struct OrtEnv OrtEnv;
typedef struct OrtApi {
  void* (*CreateEnv)(int, const char*, OrtEnv**);
  void* (*GetAvailableProviders)(char***, int*);
  void* (*ReleaseAvailableProviders)(char**, int);
  void (*ReleaseEnv)(OrtEnv*);
} OrtApi;
typedef struct OrtApiBase { const OrtApi* (*GetApi)(unsigned); const char* (*GetVersionString)(void); } OrtApiBase;
enum { ORT_LOGGING_LEVEL_WARNING = 2, ORT_API_VERSION = 1 };
const OrtApiBase* OrtGetApiBase(void);
"""
LIBRARY = """
#include <onnxruntime_c_api.h>
static char* all[] = {"MIGraphXExecutionProvider", "CPUExecutionProvider"};
static void* create(int level, const char* id, OrtEnv** made) { *made = (OrtEnv*)all; return 0; }
static void* list(char*** names, int* count) { *names = all; *count = 2; return 0; }
static void* release(char** names, int count) { return 0; }
static void gone(OrtEnv* env) {}
static const OrtApi api = {create, list, release, gone};
static const OrtApi* get(unsigned version) { return &api; }
static const char* version(void) { return "1.99.0"; }
static const OrtApiBase base = {get, version};
const OrtApiBase* OrtGetApiBase(void) { return &base; }
"""
PROJECT = """
cmake_minimum_required(VERSION 3.20)
project(onnxruntime C)
add_library(onnxruntime SHARED library.c)
target_include_directories(onnxruntime PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}> $<INSTALL_INTERFACE:include/onnxruntime>)
set_target_properties(onnxruntime PROPERTIES SOVERSION 1 PUBLIC_HEADER onnxruntime_c_api.h)
install(TARGETS onnxruntime EXPORT targets LIBRARY DESTINATION lib PUBLIC_HEADER DESTINATION include/onnxruntime)
install(EXPORT targets NAMESPACE onnxruntime:: FILE onnxruntimeConfig.cmake DESTINATION lib/cmake/onnxruntime)
file(WRITE ${CMAKE_BINARY_DIR}/libonnxruntime.pc "prefix=${CMAKE_INSTALL_PREFIX}\\nlibdir=\\${prefix}/lib\\n\\
includedir=\\${prefix}/include/onnxruntime\\nName: onnxruntime\\nDescription: d\\nVersion: 1.99.0\\n\\
Libs: -L\\${libdir} -lonnxruntime\\nCflags: -I\\${includedir}\\n")
install(FILES ${CMAKE_BINARY_DIR}/libonnxruntime.pc DESTINATION lib/pkgconfig)
"""


FOLDER = re.compile(r"(?<![\w.])/(deps|build|out|tmp)\b")


def run(*words: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=120, check=False, **more)  # type: ignore[call-overload]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with the small library installed in `deps/onnxruntime`, as a session would show it."""
    source, prefix = tmp_path / "source", tmp_path / "deps" / "onnxruntime"
    source.mkdir()
    for name, text in (("onnxruntime_c_api.h", HEADER), ("library.c", LIBRARY), ("CMakeLists.txt", PROJECT)):
        (source / name).write_text(text)
    for words in (
        ("-S", source, "-B", tmp_path / "b", "-G", "Ninja", f"-DCMAKE_INSTALL_PREFIX={prefix}"),
        ("--build", tmp_path / "b"),
        ("--install", tmp_path / "b"),
    ):
        done = run("cmake", *words)
        assert done.returncode == 0, done.stderr
    (prefix / "onnxruntime").mkdir()
    (prefix / "onnxruntime" / "LICENSE").write_text("mine")
    return tmp_path


def step(*providers: str) -> Step:
    said = {"file": "onnxruntime-linux-x64-mini", "version": "1.99.0", "providers": providers}
    component = Archive(kind="archive", needs=("onnxruntime",), license_files=("onnxruntime/LICENSE",), **said)  # type: ignore[arg-type]
    base, made = Step("base", "debian"), Step("onnxruntime", "run")
    (found,) = archive.steps("archive", component, Context((), {"base": base, "onnxruntime": made}))
    return found


def perform(root: Path, wanted: Step) -> subprocess.CompletedProcess[str]:
    """The step's commands with the session's folders below `root`; the first that fails, or the last."""
    (root / "out").mkdir(exist_ok=True)
    (root / "tmp").mkdir(exist_ok=True)
    done = run("true")
    for command in wanted.commands:
        done = run(*(FOLDER.sub(rf"{root}/\1", word) for word in command.argv))
        if done.returncode:
            return done
    return done


def test_what_is_packed_compiles_and_runs_anywhere(root: Path, tmp_path: Path) -> None:
    done = perform(root, step("MIGraphXExecutionProvider", "CPUExecutionProvider"))
    assert done.returncode == 0, done.stderr
    packed = root / "out" / f"{NAME}.tgz"
    first = packed.read_bytes()
    assert (root / "out" / f"{NAME}.tgz.sha256").read_text().split()[1] == packed.name
    assert perform(root, step("CPUExecutionProvider")).returncode == 0
    assert packed.read_bytes() == first, "the same input gives the same bytes"

    place = tmp_path / "elsewhere"
    place.mkdir()
    assert run("tar", "-xzf", packed, "-C", place).returncode == 0
    top = place / NAME
    assert (top / "LICENSE").read_text() == "mine"
    flags = run("pkg-config", "--cflags", "--libs", top / "lib/pkgconfig/libonnxruntime.pc").stdout.split()
    assert f"-I{top}/lib/pkgconfig/../../include/onnxruntime" in flags
    program = place / "prove.c"
    program.write_text(archive.PROGRAM)
    done = run("cc", program, *flags, "-Wl,-rpath,$ORIGIN/lib", "-o", top / "prove")
    assert done.returncode == 0, done.stderr
    libraries = [
        word for line in run("ldd", "/bin/true").stdout.splitlines() for word in line.split() if word[0] == "/"
    ]
    shown = [word for path in libraries for word in ("--ro-bind", path, path)]
    done = run("bwrap", "--unshare-all", "--proc", "/proc", *shown, "--ro-bind", top, "/ort", "/ort/prove")
    assert done.stdout.splitlines() == ["1.99.0", "MIGraphXExecutionProvider", "CPUExecutionProvider"], done.stderr


def test_a_provider_that_the_library_does_not_list_is_named(root: Path) -> None:
    done = perform(root, step("ROCMExecutionProvider"))
    assert done.returncode and "the archive does not say: ROCMExecutionProvider" in done.stderr


def test_a_build_path_that_stayed_in_a_library_fails(root: Path) -> None:
    (library,) = (root / "deps/onnxruntime/lib").glob("libonnxruntime.so.1")
    source = root / "source" / "library.c"
    words = (
        "-shared",
        "-fPIC",
        f"-I{source.parent}",
        "-Wl,-rpath,$ORIGIN:/build/lib",
        "-Wl,-soname,libonnxruntime.so.1",
    )
    assert run("cc", *words, source, "-o", library).returncode == 0
    done = perform(root, step("CPUExecutionProvider"))
    assert done.returncode and "/build/lib" in done.stdout
