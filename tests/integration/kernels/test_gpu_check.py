"""kernels/gpu-check without a GPU: how it ends, with a library built for an emulated one (tests/emulation)."""

from __future__ import annotations

import ast
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.kernels import KERNELS
from support.paths import TESTS

EMULATION = Path(__file__).parents[2] / "emulation"
pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
SCRIPTS = (KERNELS / "gpu-check", KERNELS / "ep" / "gpu-check")


def emulated(kernels: Path, out: Path) -> Path:
    command = [sys.executable, str(EMULATION / "build.py"), str(kernels), "gfx942", str(out), "--only", "leaky_relu"]
    subprocess.run(command, check=True, capture_output=True)
    return out


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return emulated(KERNELS, tmp_path_factory.mktemp("emulated") / "leaky.so")


def mutated(folder: Path, was: str, becomes: str) -> Path:
    """LeakyRelu with one line of its kernel changed."""
    kernels = folder / "kernels"
    shutil.copytree(KERNELS, kernels, ignore=shutil.ignore_patterns("__pycache__", "ep", "tools", "customop"))
    kernel = kernels / "leaky_relu" / "leaky_relu_kernels.hpp"
    assert was in kernel.read_text()
    kernel.write_text(kernel.read_text().replace(was, becomes))
    return emulated(kernels, folder / "mutated.so")


def tool(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def alive(pid: int) -> bool:
    """Whether a process runs (one that nobody has waited for yet does not)."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


RUNS = """while [ "${1#--}" != "$1" ]; do shift 2; done\n"$@" || exit $?\n"""
NOTHING_FOUND = 'echo "========= ERROR SUMMARY: 0 errors"'


def checked(
    library: Path, out: Path, *words: str, path: Path | None = None, **more: str
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPTS[0]), "--library", str(library), "--out", str(out), *words]
    tools = f"{path}:{os.environ['PATH']}" if path else os.environ["PATH"]
    environment = {**os.environ, "PATH": tools, **more}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=100)


def stand_in(out: Path, more: str) -> Path:
    """A library whose device is the host's memory and has `more`: what gives memory, and the launchers."""
    asks = "import sys; sys.path.insert(0, sys.argv[1]); from tools import device as d; print(*(d.c.sizeof(s) for s in d.STRUCTURES))"
    command = [sys.executable, "-c", asks, str(KERNELS)]
    sizes = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    out.with_suffix(".c").write_text(
        "#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n"
        f"void sbk_gpu_abi(unsigned* s) {{ unsigned all[] = {{{', '.join(sizes)}}}; memcpy(s, all, sizeof all); }}\n"
        'const char* sbk_gpu_platform(void) { return "none"; }\n'
        "int sbk_gpu_device_count(int* n) { *n = 1; return 0; }\n"
        "int sbk_gpu_device_name(int i, char* to) { *to = 0; return 0; }\n"
        "int sbk_gpu_stream_create(void** to) { *to = 0; return 0; }\n"
        "int sbk_gpu_stream_synchronize(void* stream) { return 0; }\n"
        "int sbk_gpu_fill(void* to, int byte, size_t n) { memset(to, byte, n); return 0; }\n"
        "int sbk_gpu_copy(void* to, void* from, size_t n) { memcpy(to, from, n); return 0; }\n"
        "void sbk_gpu_free(void* memory) { free(memory); }\n"
        "size_t sbk_gpu_group_norm_workspace, sbk_gpu_conv_workspace, sbk_gpu_attention_workspace;\n" + more
    )
    subprocess.run(["gcc", "-shared", "-fPIC", str(out.with_suffix(".c")), "-o", str(out)], check=True)
    return out


@pytest.fixture(scope="module")
def stuck(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library for a device that never gives memory."""
    return stand_in(tmp_path_factory.mktemp("stuck") / "stuck.so", "int sbk_gpu_malloc(void) { for (;;) pause(); }\n")


def test_what_is_right_is_told_with_each_stages_seconds(library: Path, tmp_path: Path) -> None:
    tool(tmp_path / "bin", "compute-sanitizer", RUNS + NOTHING_FOUND)
    words = [word for stage in ("correct", "streams", "sanitize") for word in ("--only", stage)]
    done = checked(library, tmp_path / "new" / "out", *words, "--op", "LeakyRelu", path=tmp_path / "bin")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all right" in done.stdout.splitlines()[-1]
    assert "LEFT OUT" not in done.stdout
    written = json.loads((tmp_path / "new" / "out" / "gpu-check.json").read_text())
    assert {"correct", "streams", "sanitize"} < set(written["stages"])
    plain, formed = (written["cases"][f"LeakyRelu float32{form}"] for form in ("", " in another form"))
    assert plain == formed > 0


def test_a_mismatch_is_exit_1(tmp_path: Path) -> None:
    gives = "int sbk_gpu_malloc(void** to, size_t n) { *to = malloc(n); return 0; }\n"
    idle = stand_in(tmp_path / "idle.so", gives + "int sbk_gpu_leaky_relu(void) { return 0; }\n")
    done = checked(idle, tmp_path, "--only", "correct", "--only", "streams", "--op", "LeakyRelu")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "WRONG correct: LeakyRelu float32" in done.stdout
    assert "are not finite (not written?)" in done.stdout
    assert "WRONG streams: two streams: LeakyRelu float32" in done.stdout
    assert json.loads((tmp_path / "gpu-check.json").read_text())["wrong"]


def test_a_sanitizer_sees_what_is_read_past_a_tensors_end(library: Path, tmp_path: Path) -> None:
    """The tool is told of no byte behind a tensor: the emulated device's page that faults stands in for it."""
    reads = mutated(tmp_path, "if (at < vectors) values[i] = x[at];", "if (at <= vectors) values[i] = x[at];")
    tool(tmp_path / "bin", "compute-sanitizer", "export EMULATION_TIGHT=1; " + RUNS + NOTHING_FOUND)
    words = ("--only", "correct", "--only", "sanitize", "--op", "LeakyRelu")
    assert checked(library, tmp_path, *words, path=tmp_path / "bin").returncode == 0
    done = checked(reads, tmp_path, *words, path=tmp_path / "bin")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "WRONG compute-sanitizer memcheck" in done.stdout
    assert "WRONG correct" not in done.stdout  # no answer is another


def test_what_is_written_past_an_inputs_end_is_named(tmp_path: Path) -> None:
    behind = "if (at + 1 == vectors) const_cast<Vec<T, N>*>(x)[vectors] = values[i];"
    writes = mutated(tmp_path, "y[at] = values[i];", "y[at] = values[i]; " + behind)
    done = checked(writes, tmp_path, "--only", "correct", "--op", "LeakyRelu")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "wrote past the end of x" in done.stdout


@pytest.mark.parametrize(
    ("does", "says"),
    [
        (RUNS + 'echo "========= ERROR SUMMARY: 1 error"; exit 9', "it found something, or a case is wrong (exit 9)"),
        ("echo nothing; exit 0", "no case ran in it"),
        ('echo "0 of 0 cases right on it"; ' + NOTHING_FOUND, "no case ran in it"),
        (RUNS, "it does not say that it found nothing"),
        (RUNS + 'echo "========= ERROR SUMMARY: 10 errors"', "it does not say that it found nothing"),
        ("yes Race reported | head -c 1000000; exit 9", "it found something"),
        ("kill -SEGV $$", "killed by SIGSEGV"),
    ],
)
def test_a_sanitizer_that_does_not_say_that_all_is_right_is_exit_1(
    library: Path, tmp_path: Path, does: str, says: str
) -> None:
    tool(tmp_path / "bin", "compute-sanitizer", does)
    done = checked(library, tmp_path, "--only", "sanitize", "--op", "LeakyRelu", path=tmp_path / "bin")
    assert done.returncode == 1, done.stdout + done.stderr
    assert says in done.stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--only", "sanitize"], "WRONG sanitize: asked for, and left out: compute-sanitizer is not installed"),
        (["--only", "time"], "WRONG time: asked for, and left out: torch"),
        (["--sweep"], "WRONG torch is not installed"),
        (["--only", "provider"], "WRONG provider: asked for, and left out: "),
        (
            ["--only", "correct", "--op", "LeakyRelu", "--part", "99999/100000"],
            "WRONG correct: there was no case to run",
        ),
        (["--only", "correct", "--op", "BatchNormalization"], "WRONG correct: killed by SIGABRT"),  # is not in it
    ],
)
def test_what_cannot_be_done_is_not_all_right(library: Path, tmp_path: Path, words: list[str], says: str) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError\n")
    done = checked(library, tmp_path, *words, PYTHONPATH=str(tmp_path))
    assert done.returncode == 1, done.stdout + done.stderr
    assert says in done.stdout


def test_what_is_left_out_is_in_the_last_line(library: Path, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError\n")
    done = checked(library, tmp_path, "--op", "LeakyRelu", PYTHONPATH=str(tmp_path))
    last = done.stdout.splitlines()[-1]
    assert done.returncode == 0, done.stdout + done.stderr
    assert last.startswith("all right")
    assert "LEFT OUT: " in last
    for what in ("sanitize (", "provider (", "time (torch is not installed)"):
        assert what in last


def test_a_kernel_that_does_not_return_is_ended_and_named(stuck: Path, tmp_path: Path) -> None:
    start = time.monotonic()
    done = checked(stuck, tmp_path, "--only", "correct", "--only", "streams", "--limit", "4")
    assert time.monotonic() - start < 20
    assert done.returncode == 1, done.stdout + done.stderr
    assert "WRONG correct: NOT DONE" in done.stdout
    assert "WRONG streams: NOT DONE" in done.stdout


def test_a_provider_that_cannot_be_loaded_is_exit_1(library: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    shutil.copy(library, tmp_path / "kernels.so")
    (tmp_path / "ep").mkdir()
    (tmp_path / "ep" / "libonnxruntime_ep_rockernels.so").write_text("nothing\n")
    done = checked(tmp_path / "kernels.so", tmp_path / "new", "--only", "provider")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "is not registered" in done.stdout
    assert "Traceback" not in done.stdout
    assert json.loads((tmp_path / "new" / "gpu-check.json").read_text())["wrong"]


def test_what_changes_the_choice_of_convolutions_is_not_handed_on(library: Path, tmp_path: Path) -> None:
    tool(tmp_path / "bin", "compute-sanitizer", f'env > "{tmp_path}/environment"; ' + RUNS + NOTHING_FOUND)
    words = ("--only", "sanitize", "--op", "LeakyRelu")
    done = checked(library, tmp_path, *words, path=tmp_path / "bin", STACKBUILD_KERNELS_CONV="measure")
    assert "STACKBUILD_KERNELS_CONV is set here, and is not handed on" in done.stdout
    assert "STACKBUILD_KERNELS_CONV" not in (tmp_path / "environment").read_text()


def as_from_a_terminal() -> None:
    """What a shell's background or nohup has tests ignore ends a process again."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@pytest.mark.parametrize(
    ("number", "times", "status"),
    [
        (signal.SIGINT, 1, 130),
        (signal.SIGTERM, 1, 143),
        (signal.SIGHUP, 1, 129),
        (signal.SIGKILL, 1, -9),
        (signal.SIGINT, 60, 130),
        (signal.SIGTERM, 60, 143),
    ],
)
def test_an_interrupted_sanitizer_leaves_no_process(
    library: Path, tmp_path: Path, number: signal.Signals, times: int, status: int
) -> None:
    tool(tmp_path / "bin", "compute-sanitizer", f'sleep 300 & echo "$$ $!" > "{tmp_path}/$$.pid"; wait')
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    command = [sys.executable, str(SCRIPTS[0]), "--library", str(library), "--only", "sanitize", "--out", str(tmp_path)]
    running = subprocess.Popen(
        command,
        env={**os.environ, "PATH": path},
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=as_from_a_terminal,
    )
    end = time.monotonic() + 120
    while len(list(tmp_path.glob("*.pid"))) < 12 and running.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(0.2)
    for _ in range(times):
        running.send_signal(number)
        time.sleep(0.004)
    _, said = running.communicate(timeout=60)
    pids = [int(pid) for file in tmp_path.glob("*.pid") for pid in file.read_text().split()]
    left = gone_or_left(pids)
    assert len(pids) == 24
    assert left == []
    assert running.returncode == status
    assert "Traceback" not in said


def gone_or_left(pids: list[int]) -> list[int]:
    """Those that still run a second after; they are killed."""
    end = time.monotonic() + 1
    while any(map(alive, pids)) and time.monotonic() < end:
        time.sleep(0.02)
    left = [pid for pid in pids if alive(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return left


LEADERLESS = """
import sys, time
sys.path.insert(0, sys.argv[1])
from tools.processes import Children
with Children() as children:
    start = time.monotonic()
    run = children.start("it", ["sh", "-c", "sleep 300 & echo $!"])
    (one,) = children.as_completed([run], start + 30)
    print(one.in_time, one.output().strip(), time.monotonic() - start < 10)
"""


def test_a_run_is_over_with_the_process_that_leads_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LEADERLESS, str(KERNELS)], capture_output=True, text=True, check=True, timeout=60
    )
    in_time, pid, soon = done.stdout.split()
    assert (in_time, soon) == ("True", "True")
    assert gone_or_left([int(pid)]) == []


def test_another_library_is_exit_2(library: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.so"
    subprocess.run(["g++", "-shared", "-x", "c++", "/dev/null", "-o", str(other)], check=True)
    command = [sys.executable, str(SCRIPTS[0]), "--library", str(other), "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "is not libstackbuild_kernels_hip.so" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_bare_name_is_a_file_here(library: Path) -> None:
    asks = "import sys, pathlib; sys.path.insert(0, sys.argv[1]); from tools import device; print(device.GpuDevice(pathlib.Path(sys.argv[2])).count())"
    command = [sys.executable, "-c", asks, str(KERNELS), library.name]
    done = subprocess.run(command, cwd=library.parent, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr


@pytest.mark.parametrize("script", SCRIPTS, ids=["kernels", "provider"])
@pytest.mark.parametrize(
    ("tools", "says"),
    [
        ({}, "neither hipconfig"),
        ({"hipconfig": "true"}, "there is no rocm_agent_enumerator"),
        ({"hipconfig": "true", "rocm_agent_enumerator": "echo gfx000"}, "rocm_agent_enumerator names none"),
        ({"hipconfig": "true", "rocm_agent_enumerator": "exit 1", "nvcc": "true"}, "rocm_agent_enumerator ends with 1"),
        ({"nvcc": "true"}, "there is no nvidia-smi"),
    ],
)
def test_what_is_missing_to_build_is_said_in_a_line(
    script: Path, tools: dict[str, str], says: str, tmp_path: Path
) -> None:
    """One rule for the platform in both: AMD's where there is a hipconfig."""
    (tmp_path / "bin").mkdir()
    for name, text in tools.items():
        tool(tmp_path / "bin", name, text)
    environment = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}
    command = [
        sys.executable,
        str(script),
        *(["--out", str(tmp_path / "out")] if script == SCRIPTS[0] else ["--sanitize"]),
    ]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr[-1000:]
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr


AMD = {"hipconfig": "true", "rocm_agent_enumerator": "echo gfx90a"}
NVIDIA = {"nvcc": "true", "nvidia-smi": "echo 'GPU 0: it'"}


def built(folder: Path, tools: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    for name, text in tools.items():
        tool(folder / "bin", name, text)
    command = [sys.executable, str(SCRIPTS[0]), "--out", str(folder / "out"), *words]
    environment = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--seed", "-1"], "argument --seed: invalid seed value: '-1'"),
        (["--limit", "nan"], "argument --limit: invalid seconds value: 'nan'"),
        (["--limit", "-3"], "argument --limit: invalid seconds value: '-3'"),
        (["--library", "absent.so"], "--library absent.so: there is no such file"),
        (["--library", "absent.so", "--only", "build"], "--library absent.so: there is no such file"),
        (["--library", sys.executable, "--only", "build"], "leave out one of them"),
        (["--sweep", "--only", "time"], "--sweep takes the place of the stages that --only names: leave out one of them"),
        (["--headers", "absent"], "--headers absent: no onnxruntime_ep_c_api.h in it"),
    ],
)
def test_wrong_arguments_are_exit_2_before_anything_is_built(words: list[str], says: str, tmp_path: Path) -> None:
    done = built(tmp_path, {**AMD, "cmake": f'touch "{tmp_path}/called"'}, *words)
    assert done.returncode == 2, done.stdout + done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "called").exists()


def test_a_limit_too_short_for_the_device_is_no_fault_of_its_driver(library: Path, tmp_path: Path) -> None:
    done = checked(library, tmp_path, "--limit", "0.01")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "WRONG device: NOT DONE in the 0.01 s" in done.stdout


def test_a_compilers_words_are_told_wherever_it_prints_them(tmp_path: Path) -> None:
    done = built(tmp_path, {**AMD, "cmake": 'echo "FAILED: it.o"; echo "error: no" >&2; exit 1'})  # on stdout: ninja
    assert done.returncode == 2
    assert "FAILED: it.o" in done.stderr
    assert "error: no" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_build_that_is_not_done_in_time_is_wrong(tmp_path: Path) -> None:
    done = built(tmp_path, {**AMD, "cmake": "sleep 300"}, "--limit", "1")
    assert done.returncode == 1, done.stderr
    assert "WRONG build: NOT DONE" in done.stdout
    assert json.loads((tmp_path / "out" / "gpu-check.json").read_text())["wrong"]


@pytest.mark.parametrize(("words", "says"), [([], "amd"), (["--platform", "nvidia"], "nvidia")])
def test_a_platform_can_be_asked_for(tmp_path: Path, words: list[str], says: str) -> None:
    done = built(tmp_path, {**AMD, **NVIDIA, "cmake": "exit 1"}, *words)
    assert done.returncode == 2
    assert f"-DSBK_PLATFORM={says}" in done.stderr


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake")
@pytest.mark.parametrize("targets", ["", ";", ";;"])
def test_no_target_is_refused(targets: str, tmp_path: Path) -> None:
    command = ["cmake", "-S", str(KERNELS), "-B", str(tmp_path / "build"), f"-DGPU_TARGETS={targets}"]
    done = subprocess.run(command, env={**os.environ, "CXX": "g++"}, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "GPU_TARGETS is empty" in done.stderr


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake")
def test_a_compiler_that_is_not_hips_is_refused_before_anything_is_built(tmp_path: Path) -> None:
    command = ["cmake", "-S", str(KERNELS), "-B", str(tmp_path / "build"), "-DGPU_TARGETS=gfx90a;"]
    environment = {**os.environ, "CXX": "g++"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "does not compile HIP for the target 'gfx90a'" in " ".join(done.stderr.split())


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake")
@pytest.mark.parametrize("target", ["gfx906", "gfx906:sramecc+:xnack-", "gfx900"])
def test_a_target_without_a_form_is_refused_by_name(target: str, tmp_path: Path) -> None:
    command = ["cmake", "-S", str(KERNELS), "-B", str(tmp_path / "build"), f"-DGPU_TARGETS=gfx908;{target}"]
    done = subprocess.run(command, env={**os.environ, "CXX": "g++"}, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert f"the kernels have no form for {target}: take it out of GPU_TARGETS" in " ".join(done.stderr.split())
    assert "gfx908, gfx90a, gfx942, gfx950" in " ".join(done.stderr.split())


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake")
@pytest.mark.parametrize(("version", "says"), [("17.0.6", "clang 17.0.6 does not compile the kernels for gfx908"), ("21.1.8", "does not compile HIP")])
def test_gfx908_is_refused_for_a_compiler_that_cannot_make_it(version: str, says: str, tmp_path: Path) -> None:
    """A compiler by its word alone: g++ that calls itself clang. The newer one is refused later, for not being HIP's."""
    words = ["-DCMAKE_CXX_COMPILER_FORCED=ON", "-DCMAKE_CXX_COMPILER_ID=Clang", f"-DCMAKE_CXX_COMPILER_VERSION={version}"]
    command = ["cmake", "-S", str(KERNELS), "-B", str(tmp_path / "build"), "-DGPU_TARGETS=gfx90a;gfx908", *words]
    done = subprocess.run(command, env={**os.environ, "CXX": "g++"}, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert says in " ".join(done.stderr.split())


def assigned(file: Path, name: str) -> object:
    """What a module assigns to a name, without running it."""
    return next(
        ast.literal_eval(node.value)
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == name
    )


TOLD = """
import subprocess, sys
sys.path.insert(0, sys.argv[1])
from support.kernels import KernelStack
from conftest import ended_in_order
from pathlib import Path
for _ in ended_in_order.__wrapped__():
    KernelStack("r", Path(sys.argv[2]), Path(sys.argv[2])).run("build")
"""
SANDBOXED = """
import pathlib, signal, subprocess, sys
running = subprocess.Popen(["sleep", "300"])
signal.signal(signal.SIGTERM, lambda *_: (running.terminate(), running.wait(), sys.exit(143)))
pathlib.Path("pid").write_text(str(running.pid))
while True:
    signal.pause()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_build_of_the_tests_ends_with_them(tmp_path: Path, number: signal.Signals) -> None:
    """`stackbuild build` (here a stand-in) is asked to end, and not killed over what it runs."""
    (tmp_path / "stackbuild").mkdir()
    (tmp_path / "stackbuild" / "__init__.py").touch()
    (tmp_path / "stackbuild" / "store.py").write_text("locks = None\n")
    (tmp_path / "stackbuild" / "__main__.py").write_text(SANDBOXED)
    command = [sys.executable, "-c", TOLD, str(Path(__file__).parent), str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{TESTS}"}
    running = subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, text=True, preexec_fn=as_from_a_terminal
    )
    end = time.monotonic() + 60
    while not (tmp_path / "pid").exists() and time.monotonic() < end:
        time.sleep(0.02)
    time.sleep(0.1)
    running.send_signal(number)
    _, said = running.communicate(timeout=60)
    assert f"KeyboardInterrupt: {number.name}" in said
    assert gone_or_left([int((tmp_path / "pid").read_text())]) == []


def test_every_check_of_the_provider_is_run() -> None:
    here, provider = KERNELS / "tools" / "provider.py", KERNELS / "tools" / "ep" / "gpu_check.py"
    asked = [check for part in assigned(here, "CHECKS") for check in part] + list(assigned(here, "ALONE"))  # type: ignore[attr-defined]
    assert sorted(asked) == sorted([*assigned(provider, "CHECKS"), assigned(provider, "TIMES")])  # type: ignore[misc]
