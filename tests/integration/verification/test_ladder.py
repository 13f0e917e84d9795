"""The ladder on wheels with a compiled library: what is good passes, and each way to break is found on its rung."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from stackbuild.inspection import NOTHING, Expectations
from stackbuild.model.findings import Rung, Status, Verification
from stackbuild.plan.steps import migraphx_package
from stackbuild.verification import VerifyOptions, verify
from stackbuild.verification.rungs import importing
from stackbuild.verification.workspace import workspace
from support.binaries import WheelParts, record, zipped

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(shutil.which("gcc") is None or shutil.which("bwrap") is None, reason="needs gcc and bubblewrap"),
]
C = "int answer(void) { return 42; }\n"
FLAGS = ("-s", "-Wl,-z,noexecstack", "-Wl,-soname,libforge.so")


def wheel(
    folder: Path, *, c: str = C, flags: tuple[str, ...] = (), init: str = "", metadata: str = "", tag: str = "",
    beside: dict[str, bytes] | None = None,
) -> Path:  # fmt: skip
    """A wheel of one package, `forge`, with one library, and with what lies beside that."""
    source, made = folder / "forge.c", folder / "libforge.so"
    source.write_text(c)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", made, source, *FLAGS, *flags], check=True)
    parts = WheelParts(
        name="forge", version="1.0", tag=tag or "py3-none-linux_x86_64", body="A library.\n",
        metadata=f"Description-Content-Type: text/plain\n{metadata}", files={"forge/__init__.py": init.encode(), "forge/libforge.so": made.read_bytes(), **(beside or {})},
        without=("onnxruntime_ep_forge/__init__.py", "libonnxruntime_ep_forge.so"),
    )  # fmt: skip
    return parts.write(folder)


def needing(folder: Path, soname: str) -> tuple[str, ...]:
    """Flags that make a library need one of that name, which is then gone."""
    stub = folder / "stub.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-xc", "/dev/null", "-o", stub, f"-Wl,-soname,{soname}"], check=True)
    return ("-Wl,--no-as-needed", str(stub))


def climbed(path: Path, expected: Expectations = NOTHING, **options: object) -> tuple[Verification, dict[str, Rung]]:
    made = verify((path,), lambda distribution: expected, VerifyOptions(runtime=(), **options))  # type: ignore[arg-type]
    return made, {rung.name: rung for rung in made.rungs}


def rules(rung: Rung) -> set[str]:
    return {finding.rule for finding in rung.findings if finding.severity == "error"}


ASKING = """
#include <stdio.h>
#include <stdlib.h>
int hipGetDeviceCount(int *);
__attribute__((constructor)) static void ask(void) {
  int n, code = hipGetDeviceCount(&n);
  if (code) { fprintf(stderr, "  what():  HIP failure %d: no ROCm-capable device is detected\\n\\n\\n\\n", code); abort(); }
}
"""


@pytest.mark.parametrize("code", [0, 100])
def test_an_initialiser_that_finds_no_device_is_said_to_need_a_gpu(code: int, tmp_path: Path):
    """As ONNX Runtime's ROCm provider does: its process ends before dlopen returns. The HIP runtime is a stand-in."""
    hip = tmp_path / "libamdhip64.so.6"
    text = f"int hipGetDeviceCount(int *n) {{ *n = 1; return {code}; }}"
    words = ["gcc", "-shared", "-fPIC", "-xc", "-", "-o", hip, "-Wl,-soname,libamdhip64.so.6"]
    subprocess.run(words, input=text, text=True, check=True)
    flags = (str(hip), "-Wl,-rpath,$ORIGIN")
    path = wheel(tmp_path, c=ASKING, flags=flags, beside={"forge/libamdhip64.so.6": hip.read_bytes()})
    _, rungs = climbed(path)
    said = "; the rest: this machine has no AMD GPU (an initialiser of libforge.so asks HIP for one)" if code else ""
    assert rungs["load"].status is Status.PASSED, rungs["load"]
    assert rungs["load"].reason == f"{1 if code else 2} of 2 libraries{said}"


def test_a_good_wheel_climbs_as_far_as_there_is_something_to_climb(tmp_path: Path):
    made, rungs = climbed(wheel(tmp_path))
    assert [r.status for r in made.rungs[:3]] == [Status.PASSED] * 3, made.claim
    assert rungs["load with ROCm"].status is Status.SKIPPED and rungs["operators"].status is Status.SKIPPED
    assert made.claim.startswith("verified (static rules + install and import + load; not run:")


def test_a_dependency_that_is_not_declared(tmp_path: Path):
    _, rungs = climbed(wheel(tmp_path, init="import importlib\nimportlib.import_module('flatbuffers')\n"))
    assert rules(rungs["install and import"]) == {"SB-RUN-IMPORT"}
    assert "flatbuffers" in rungs["install and import"].reason
    assert rungs["load"].status is Status.PASSED
    assert all(rungs[n].status is Status.SKIPPED for n in ("operators", "numerics", "GPU at work"))


def test_a_dependency_that_no_wheelhouse_has(tmp_path: Path):
    path = wheel(tmp_path, metadata="Requires-Dist: there-is-no-such-thing\n")
    made, rungs = climbed(path)
    assert "--wheelhouse" in rungs["install and import"].reason and not made.failed
    _, rungs = climbed(path, wheelhouse=tmp_path)
    assert rules(rungs["install and import"]) == {"SB-RUN-INSTALL"}
    assert "there-is-no-such-thing" in rungs["install and import"].reason


@pytest.mark.parametrize(
    ("init", "rule", "says"),
    [
        ("import os\nos.kill(os.getpid(), 11)\n", "SB-RUN-CRASH", "SIGSEGV (exit code 139)"),
        ("import os\nos._exit(3)\n", "SB-RUN-IMPORT", "exit code 3"),
        ("import sys\nsys.exit(0)\n", "SB-RUN-IMPORT", "SystemExit"),
        ("print('{\"modules\": {}}')\nraise ImportError\n", "SB-RUN-IMPORT", "ImportError"),
    ],
)
def test_ways_to_die_at_import(init: str, rule: str, says: str, tmp_path: Path):
    _, rungs = climbed(wheel(tmp_path, init=init))
    assert rules(rungs["install and import"]) == {rule} and says in rungs["install and import"].reason


def test_an_import_that_never_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(importing, "SECONDS", 2.0)
    _, rungs = climbed(wheel(tmp_path, init="import time\ntime.sleep(600)\n"))
    assert (
        rules(rungs["install and import"]) == {"SB-RUN-CRASH"} and "did not end" in rungs["install and import"].reason
    )


def test_the_cell_has_no_network_no_home_and_no_overrides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HSA_OVERRIDE_GFX_VERSION", "11.0.0")
    monkeypatch.setenv("SOME_TOKEN", "hunter2")
    probe = (
        "import os, pathlib, socket\n"
        "assert 'HSA_OVERRIDE_GFX_VERSION' not in os.environ and 'SOME_TOKEN' not in os.environ, 'environment'\n"
        "assert [n for _, n in socket.if_nameindex()] in (['lo'], []), 'network'\n"
        f"assert not pathlib.Path({str(Path.home())!r}, '.bashrc').exists(), 'home'\n"
        "try:\n    pathlib.Path('/usr/forge').touch()\nexcept OSError:\n    pass\nelse:\n    assert False, 'writable'\n"
    )
    made, rungs = climbed(wheel(tmp_path, init=probe))
    assert rungs["install and import"].status is Status.PASSED, made.claim
    notes = [f.found for f in rungs["install and import"].findings if f.rule == "SB-RUN-OVERRIDES"]
    assert notes and "HSA_OVERRIDE_GFX_VERSION" in notes[0]


def test_a_library_that_is_nobodys_to_supply(tmp_path: Path):
    _, rungs = climbed(wheel(tmp_path, flags=needing(tmp_path, "libsurely_not_here.so.3")))
    assert rules(rungs["load"]) == {"SB-RUN-LOAD"} and "libsurely_not_here.so.3" in rungs["load"].reason


def test_a_library_of_rocm_that_this_machine_has_not(tmp_path: Path):
    _, rungs = climbed(wheel(tmp_path, flags=needing(tmp_path, "librocalution.so.99")))
    assert rungs["load"].status is Status.SKIPPED and "librocalution.so.99" in rungs["load"].reason
    assert "librocalution.so.99" in rungs["load with ROCm"].reason


def test_an_undefined_symbol(tmp_path: Path):
    _, rungs = climbed(wheel(tmp_path, c="int nowhere(void); int f(void) { return nowhere(); }", flags=("-Wl,-z,now",)))
    assert rules(rungs["load"]) == {"SB-RUN-LOAD"} and "nowhere" in rungs["load"].reason


def test_a_constructor_that_kills_the_process(tmp_path: Path):
    c = "#include <stdlib.h>\n__attribute__((constructor)) static void go(void) { abort(); }\n"
    _, rungs = climbed(wheel(tmp_path, c=c))
    assert rules(rungs["load"]) == {"SB-RUN-CRASH"} and "SIGABRT" in rungs["load"].reason


def test_a_python_that_is_not_here(tmp_path: Path):
    made, rungs = climbed(wheel(tmp_path, tag="cp399-cp399-linux_x86_64"))
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert rungs["install and import"].reason == f"it is for cp399-cp399; this machine has Python {version}"
    assert not made.failed


def test_a_broken_wheel_is_not_run(tmp_path: Path):
    path = wheel(tmp_path)
    path.write_bytes(path.read_bytes()[:-50])
    made, rungs = climbed(path)
    assert made.failed and rungs["install and import"].reason == "the wheel cannot be read"


def test_the_command(tmp_path: Path):
    words = [
        sys.executable,
        "-m",
        "stackbuild",
        "verify",
        wheel(tmp_path, c="__attribute__((constructor)) void f(void) { __builtin_trap(); }"),
    ]
    ran = subprocess.run([*words, "--json"], capture_output=True, text=True, check=False)
    assert ran.returncode == 5 and '"stackbuild.verify/1"' in ran.stdout and "SB-RUN-CRASH" in ran.stdout
    assert "✗ load" in ran.stderr


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small root file system: this machine's Python, what it links to, and a ROCm library that this machine has not."""
    made = tmp_path_factory.mktemp("root")
    version = f"python3.{sys.version_info.minor}"
    library = made / "usr" / "lib" / "x86_64-linux-gnu"
    library.mkdir(parents=True)
    (made / "usr" / "bin").mkdir()
    shutil.copy(Path(sys.base_prefix, "bin", version), made / "usr" / "bin" / "python3")
    stdlib = Path(sys.base_prefix, "lib", version)
    leave = shutil.ignore_patterns(
        "site-packages", "dist-packages", "test", "__pycache__", "config-*", "idlelib", "tkinter"
    )
    shutil.copytree(stdlib, made / "usr" / "lib" / version, ignore=leave)
    modules = [
        str(path) for path in (stdlib / "lib-dynload").glob("*.so") if not path.name.startswith(("_tkinter", "_dbm"))
    ]
    shell = made / "usr" / "bin" / "sh"  # what begins every command in a sandbox
    shutil.copy(Path("/bin/sh").resolve(), shell)
    words = ["ldd", made / "usr" / "bin" / "python3", shell, *modules]
    said = subprocess.run(
        words, capture_output=True, text=True, check=True, env={"LD_LIBRARY_PATH": f"{sys.base_prefix}/lib"}
    )
    for path in {Path(line.split("=>")[1].split()[0]) for line in said.stdout.splitlines() if "=> /" in line}:
        shutil.copy(path.resolve(), library / path.name)
    (made / "usr" / "lib64").mkdir()
    shutil.copy(Path("/lib64/ld-linux-x86-64.so.2").resolve(), made / "usr" / "lib64" / "ld-linux-x86-64.so.2")
    for name in ("lib", "lib64", "bin"):
        (made / name).symlink_to(f"usr/{name}")
    subprocess.run(["gcc", "-shared", "-fPIC", "-xc", "/dev/null", "-o", library / "libamdhip64.so.99"], check=True)
    return made


def test_what_waits_for_rocm_is_loaded_in_a_root_that_has_it(root: Path, tmp_path: Path):
    path = wheel(tmp_path, flags=needing(tmp_path, "libamdhip64.so.99"))
    _, rungs = climbed(path)
    assert rungs["load with ROCm"].status is Status.SKIPPED and "libamdhip64.so.99" in rungs["load with ROCm"].reason
    _, rungs = climbed(path, root=root)
    assert rungs["load"].status is Status.SKIPPED and rungs["load with ROCm"].status is Status.PASSED
    assert rungs["load with ROCm"].reason == f"1 library, in the root file system {root}"


def test_an_extension_module_that_needs_rocm_is_opened_where_rocm_is(root: Path, tmp_path: Path):
    source, built = tmp_path / "module.c", tmp_path / "module.so"
    source.write_text("void* PyModule_Create2(void*, int); void* PyInit_module(void) { return PyModule_Create2(0, 1013); }")
    stub = needing(tmp_path, "libamdhip64.so.99")
    words = ["gcc", "-shared", "-fPIC", "-s", "-Wl,-z,noexecstack", "-o", built, source, *stub]
    subprocess.run(words, check=True)
    version = f"{sys.version_info.major}{sys.version_info.minor}"
    parts = WheelParts(
        name="forge", version="1.0", tag=f"cp{version}-cp{version}-linux_x86_64", metadata="",
        files={
            "forge/__init__.py": b"from forge.module import *\n",
            f"forge/module.cpython-{version}-x86_64-linux-gnu.so": built.read_bytes(),
        },
        without=("onnxruntime_ep_forge/__init__.py", "libonnxruntime_ep_forge.so"),
    )  # fmt: skip
    path = parts.write(tmp_path)
    _, rungs = climbed(path)
    for name in ("install and import", "load", "load with ROCm"):
        assert rungs[name].status is Status.SKIPPED and "libamdhip64.so.99" in rungs[name].reason, rungs[name].reason
    _, rungs = climbed(path, root=root)
    assert rungs["load with ROCm"].status is Status.PASSED
    assert rungs["load with ROCm"].reason == f"1 library, in the root file system {root}"
    nobody = replace(parts, files={"forge/__init__.py": b"import ctypes\nctypes.CDLL('libsurely_not_here.so.3')\n"})
    _, rungs = climbed(nobody.write(tmp_path))
    assert rungs["install and import"].status is Status.FAILED


def test_an_onnxruntime_is_loaded_with_the_migraphx_that_lies_in_a_wheel_beside(tmp_path: Path):
    stub, soname = tmp_path / "stub.so", "libmigraphx_c.so.3"
    runtime = wheel(tmp_path, c="int OrtGetApiBase(void) { return 1; }\n", flags=needing(tmp_path, soname))
    files = {
        "migraphx_rocm/__init__.py": migraphx_package.TEXT.encode(),
        f"migraphx_rocm/lib/{soname}": stub.read_bytes(),
    }
    gone = ("onnxruntime_ep_forge/__init__.py", "libonnxruntime_ep_forge.so")
    parts = WheelParts(
        name="migraphx-rocm", version="1.0", tag="py3-none-linux_x86_64", metadata="", files=files, without=gone
    )
    beside = parts.write(tmp_path)
    _, rungs = climbed(runtime)
    assert rungs["load with ROCm"].status is Status.SKIPPED and soname in rungs["load with ROCm"].reason
    _, rungs = climbed(runtime, migraphx=beside)
    assert rungs["load"].status is Status.SKIPPED and rungs["load with ROCm"].status is Status.PASSED
    assert rungs["load with ROCm"].reason == f"1 library, beside {beside.name}"
    assert rungs["operators"].status is Status.SKIPPED and not rungs["operators"].findings, rungs["operators"].reason
    before = beside.read_bytes()
    itself, _ = climbed(beside, migraphx=beside)
    assert not itself.failed and beside.read_bytes() == before
    together = verify((runtime, beside), lambda distribution: NOTHING, VerifyOptions(runtime=()))
    assert {rung.name: rung.status for rung in together.rungs}["load with ROCm"] is Status.PASSED
    other = replace(parts, tag="cp27-cp27m-linux_x86_64").write(tmp_path)
    _, rungs = climbed(runtime, migraphx=other)
    assert rungs["load with ROCm"].status is Status.SKIPPED
    assert f"pip does not install {other.name} beside it" in rungs["load with ROCm"].reason


def test_a_root_takes_the_place_of_a_machine_that_is_too_old(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("os.confstr", lambda name: "glibc 2.1")
    path = wheel(tmp_path, c='#include <stdio.h>\nint answer(void) { return puts("42"); }\n')
    made, rungs = climbed(path)
    assert "this machine has 2.1" in rungs["install and import"].reason
    made, rungs = climbed(path, root=root)
    assert [r.status for r in made.rungs[:3]] == [Status.PASSED] * 3, made.claim


def test_a_root_without_python_says_so(tmp_path: Path):
    (tmp_path / "bare" / "usr").mkdir(parents=True)
    path = wheel(tmp_path, tag="cp399-cp399-linux_x86_64")
    _, rungs = climbed(path, root=tmp_path / "bare")
    assert (
        f"it is for cp399-cp399; this machine has Python 3.{sys.version_info.minor}; there is no Python 3.99 in"
        in rungs["install and import"].reason
    )


def test_a_root_without_python_that_is_asked_for_its_rocm_says_so_too(tmp_path: Path):
    """`--root` that could not be used was passed over in silence."""
    (tmp_path / "bare" / "usr").mkdir(parents=True)
    _, rungs = climbed(wheel(tmp_path, flags=needing(tmp_path, "libamdhip64.so.99")), root=tmp_path / "bare")
    assert rungs["load with ROCm"].status is Status.SKIPPED
    assert rungs["load with ROCm"].reason == (
        f"this machine has no libamdhip64.so.99; there is no Python 3 in {tmp_path / 'bare'}"
    )


HOSTILE = {
    "links in place of the files that the host opens": (
        "import os, glob\nfor name in ('output.txt', '2.job.json', '2.answer.json', 'models'):\n"
        "    for folder in ('.', '..', '../..'):\n        try:\n            os.symlink({canary!r}, os.path.join(folder, name))\n        except OSError:\n            pass\n"
    ),
    "a start-up file for the probes after it": "import site, pathlib\npathlib.Path(site.getsitepackages()[0], 'evil.pth').write_text('import os; os._exit(0)\\n')\n",
    "the environment is removed": "import shutil, sys\nshutil.rmtree(sys.prefix)\n",
    "the probes are rewritten": "import sys, pathlib\npathlib.Path(sys.path[0], 'loading.py').write_text('')\n",
    "an answer that is no answer": "import os, sys\nos.write(int(sys.argv[2]), b'{{\"modules\": {{\"forge\": 7}}}}')\nos._exit(0)\n",
    "an answer about another package": "import os, sys\nos.write(int(sys.argv[2]), b'{{\"modules\": {{\"other\": {{}}}}}}')\nos._exit(0)\n",
    "a pipe in place of the answer": "import os, sys\nos.mkfifo('answer')\nos.dup2(os.open('answer', os.O_RDWR), int(sys.argv[2]))\nos._exit(0)\n",
    "files of the machine": "import pathlib\nassert not [p for p in ({canary!r}, '/etc/shadow', '/var/log', {home!r}) if pathlib.Path(p).exists()], 'seen'\n1 / 0\n",
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_a_wheel_s_code_neither_writes_nor_reads_beside_its_cell(what: str, tmp_path: Path):
    """It may spoil its own verdict, and nothing else: never a file of the host, a hang or a traceback."""
    canary = tmp_path / "canary"
    canary.write_text("whole")
    made, rungs = climbed(
        wheel(tmp_path, init=HOSTILE[what].format(canary=str(canary), home=str(Path.home() / ".bashrc")))
    )
    assert canary.read_text() == "whole" and "whole" not in str(made)
    assert rungs["load"].status is Status.PASSED
    if what != "links in place of the files that the host opens":
        assert rungs["install and import"].status is Status.FAILED
    assert "seen" not in rungs["install and import"].reason


def test_a_wheel_for_another_machine_is_not_said_to_be_bad(tmp_path: Path):
    for tag in ("py3-none-linux_aarch64", "cp399-abi3-linux_x86_64", "py3-none-manylinux_2_99_x86_64"):
        _, rungs = climbed(wheel(tmp_path, tag=tag))
        assert rungs["install and import"].status is Status.SKIPPED, tag
        assert rungs["install and import"].reason.startswith(
            f"it is for {tag.split('-', 2)[2] if 'py3' in tag else 'cp399-abi3'}"
        )


def test_a_wheel_may_be_a_link_to_a_store(tmp_path: Path):
    path = wheel(tmp_path)
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / path.name).symlink_to(path.rename(tmp_path / "blob"))
    made, rungs = climbed(tmp_path / "dist" / path.name)
    assert rungs["load"].status is Status.PASSED, made.claim


def test_what_a_root_cannot_hide_is_not_loaded_without_rocm(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("os.confstr", lambda name: "glibc 2.1")
    c = '#include <stdio.h>\nint answer(void) { return puts("42"); }\n'
    _, rungs = climbed(wheel(tmp_path, c=c, flags=needing(tmp_path, "libamdhip64.so.99")), root=root)
    assert rungs["load"].status is Status.SKIPPED and "cannot be hidden" in rungs["load"].reason
    assert rungs["load with ROCm"].status is Status.PASSED


def test_what_a_killed_verify_left_goes_at_the_next_start_and_a_live_one_s_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (dead := tmp_path / "stackbuild-verify-dead").mkdir()
    (dead / ".alive").touch()
    with workspace() as first, workspace() as second:
        assert not dead.exists() and first.is_dir() and second.is_dir()
    assert not first.exists()


def runtime_wheel(folder: Path) -> Path:
    """A distribution called onnxruntime of one Python file."""
    info = "onnxruntime-1.0.dist-info"
    files = {
        "onnxruntime/__init__.py": b"__version__ = '1.0'\n",
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: onnxruntime\nVersion: 1.0\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    folder.mkdir()
    path = folder / "onnxruntime-1.0-py3-none-any.whl"
    path.write_bytes(zipped(files | {f"{info}/RECORD": record(files, f"{info}/RECORD")}))
    return path


PLUGIN_C = "int CreateEpFactories(void) { return 0; }\nint ReleaseEpFactory(void) { return 0; }\n"
STARTUP = b"import sys; p = [q for q in sys.path if q.endswith('site-packages')]; p and open(p[0] + '/evil.py', 'w').close()\n"
"""A line of a .pth file that writes beside the packages: it can while pip installs what comes next."""


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"onnxruntime/__init__.py": b"__version__ = 'evil'\n"}, "1 file of both in one place: onnxruntime/__init__.py"),
        ({"forge.pth": STARTUP}, "1 file that no wheel has: evil.py"),
        ({}, ""),
    ],
)
def test_a_wheel_that_takes_onnxruntimes_place(tmp_path: Path, files: dict[str, bytes], says: str):
    """Its files lie where those of ONNX Runtime belong: what is tested then is not the wheel beside ONNX Runtime."""
    runtime_wheel(tmp_path / "house")
    source, made = tmp_path / "forge.c", tmp_path / "libforge.so"
    source.write_text(PLUGIN_C)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", made, source, *FLAGS], check=True)
    parts = WheelParts(
        name="forge", version="1.0", tag="py3-none-linux_x86_64", metadata="Description-Content-Type: text/plain\n",
        files={"forge/__init__.py": b"", "forge/libforge.so": made.read_bytes(), **files},
        without=("onnxruntime_ep_forge/__init__.py", "libonnxruntime_ep_forge.so"),
    )  # fmt: skip
    options = VerifyOptions(runtime=("onnxruntime",), wheelhouse=tmp_path / "house")
    rungs = {rung.name: rung for rung in verify((parts.write(tmp_path),), lambda name: NOTHING, options).rungs}
    changed = [f.found for r in rungs.values() for f in r.findings if f.rule == "SB-RUN-OVERWRITTEN"]
    if says:
        assert says in changed[0] and rungs["operators"].status is Status.FAILED
        assert rungs["numerics"].reason == "what is installed beside it is not what its wheels hold"
    else:
        assert changed == []
    assert ("SB-WHEEL-STARTUP" in rules(rungs["static rules"])) is ("forge.pth" in files)
