"""Builds, checks and times the kernels and the execution provider on this machine's GPU, in under eight minutes.

    kernels/gpu-check [--library LIB] [--headers DIR] [--out DIR] [--only build|correct|streams|time|sanitize|provider]
                      [--op OP] [--quick] [--thorough] [--part I/N] [--seed N] [--limit SECONDS] [--platform amd|nvidia]
    kernels/gpu-check --sweep [--library LIB] [--seed N] [--limit SECONDS]

1. builds the HIP library and the plugin execution provider with the platform's compiler (hipcc's clang or nvcc), unless --library names
   a built one. The provider needs ONNX Runtime's headers of 1.27 or newer: --headers says where, if not in /usr/include/onnxruntime;
2. checks every operator, type and layout against float64, with poisoned outputs and guards; and every seventh case on two streams at once;
3. runs compute-sanitizer (memcheck, racecheck and synccheck, at once) over another seventh of the cases (--thorough: all), where it is installed;
4. runs the provider's checks (`kernels/ep/gpu-check`), where the onnxruntime wheel is installed and the provider was built. 2 to 4 keep the
   host busy, not the device, and go on side by side;
5. then, with the device to itself, times the shapes of docs/kernels.md beside PyTorch and the naive baselines, where torch is installed, and
   checks their answers;
6. and models through the provider (six of its sizes, --thorough: all), beside PyTorch where torch, torchvision and transformers are installed.

--sweep does none of that but the build: it times shapes of models and 200 random ones of --seed, Attention and Conv, with a hot and a cold cache,
beside the fastest that PyTorch has, and names the ten slowest (tools/sweep.py).

Needs numpy. What is left out because something is missing is named in the last line; a stage that --only asks for may not be left out.
All of it together has --limit seconds (470; --thorough: 1800): what is not done by then is ended, named, and wrong.
Every stage is a process with a process group of its own, and is ended with this script, however that ends. STACKBUILD_KERNELS_CONV and
STACKBUILD_KERNELS_CONV_CACHE, which change how convolutions are made, are not handed on to them.

Exit status: 0 all right, 1 something is wrong or not done, 2 no GPU, no compiler, not to be built or wrong arguments, 129, 130 and 143 ended by
SIGHUP, SIGINT and SIGTERM. Results: tables on stdout, DIR/gpu-check.json.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tools import processes, provider, sanitizer, selection
from tools.processes import Children, Clock, NoGpu, ProcessGroup, Unusable, run_interruptibly

TOOLS = Path(__file__).resolve().parent

STAGES = ("correct", "streams", "sanitize", "provider", "time")
SWEEP = "sweep"
SWEEP_WRITES = 10.0  # seconds that it has for one more shape and its results
LIMIT = {False: 470.0, True: 1800.0}  # seconds for everything; thorough or not
HEADER = "onnxruntime_ep_c_api.h"
CHANGE_CONVOLUTIONS = ("STACKBUILD_KERNELS_CONV", "STACKBUILD_KERNELS_CONV_CACHE")


class OutOfTime(Exception):
    """The time limit ended before there was a library to check."""


class Check:
    """One run of this script: its arguments and results."""

    def __init__(self, args: argparse.Namespace, children: Children, scratch: Path) -> None:
        self.args, self.children, self.scratch = args, children, scratch
        self.clock = Clock(args.limit)
        self.folder = None if str(args.out) == os.devnull else args.out
        self.wrong: list[str] = []
        self.left_out: list[str] = []
        self.seconds: dict[str, float] = {}
        self.result: dict[str, Any] = {"schema": 2, "seed": args.seed}
        self.library = Path()

    def is_wanted(self, stage: str) -> bool:
        return stage in (self.args.only or STAGES)

    def skip(self, stage: str, why: str) -> None:
        """Records a stage that cannot run: an error where --only asks for it."""
        if stage in (self.args.only or ()):
            self.wrong.append(f"{stage}: asked for, and left out: {why}")
        self.left_out.append(f"{stage} ({why})")

    @contextmanager
    def time_stage(self, stage: str) -> Iterator[None]:
        start_time = time.monotonic()
        try:
            yield
        finally:
            self.seconds[stage] = round(time.monotonic() - start_time, 1)

    # The library and the device.

    def build(self) -> Path:
        """Configures and builds in --out, the provider too where there are ONNX Runtime's headers; returns the HIP library."""
        platform, headers = self.args.platform or processes.platform(), self.args.headers
        options = ["-DSBK_CUSTOM_OPS=OFF", "-DSBK_BENCH=ON", f"-DSBK_PLATFORM={platform}", *processes.device_options(platform)]
        options += [f"-DSBK_EP={'ON' if headers else 'OFF'}", f"-DONNXRUNTIME_INCLUDE_DIR={headers.resolve() if headers else ''}"]
        if shutil.which("cmake") is None:
            raise Unusable("cmake is not in PATH: nothing to build with; --library names a built library")
        for command in (["cmake", "-S", str(TOOLS.parent), "-B", str(self.args.out), *options], ["cmake", "--build", str(self.args.out), "--parallel"]):
            run = self.children.run("build", command, self.clock.end)
            if not run.in_time:
                raise OutOfTime(f"build: {self.not_done_text()}")
            if run.status:
                raise Unusable(f"{run.output()[-8000:]}\ngpu-check: {' '.join(command)}: {run.status_text()}")
        return Path(self.args.out, "libstackbuild_kernels_hip.so")

    def query_device(self) -> None:
        """Asks the library, in a process: a driver may not answer."""
        run = self.children.run("device", self.stage("device"), min(self.clock.end, time.monotonic() + 60))
        if not run.in_time and time.monotonic() >= self.clock.end:
            raise OutOfTime(f"device: {self.not_done_text()}")
        if not run.in_time:
            raise Unusable(f"the GPU's driver did not answer in {run.seconds:.0f} s")
        if run.status:
            raise Unusable(run.output().strip() or run.status_text())
        self.result |= self.stage_result("device")

    # Commands.

    def stage(self, name: str, *words: str) -> list[str]:
        words = (*words, "--seed", str(self.args.seed), "--json", str(self.scratch / f"{name}.json"))
        return [sys.executable, str(TOOLS / "stage.py"), name, "--library", str(self.library), *words]

    def stage_result(self, stage: str) -> dict[str, Any]:
        """The result that a stage wrote before its end."""
        file = self.scratch / f"{stage}.json"
        return json.loads(file.read_text()) if file.exists() else {}

    def not_done_text(self) -> str:
        return f"NOT DONE in the {self.clock.seconds:g} s that everything has (--limit)"

    # The stages.

    def run_concurrent_checks(self) -> None:
        """Runs, at the same time, the checks that leave the device idle most of the time."""
        start_time: dict[ProcessGroup, str] = {}
        for stage, commands in (("sanitize", self.sanitizers()), ("provider", self.provider_checks()), ("correct", self.cases()), ("streams", self.streams())):
            start_time |= {self.children.start(name, command, separate_stderr=stage == "provider"): stage for name, command in commands.items()}
        for run in self.children.as_completed(start_time, self.clock.end):
            stage = start_time[run]
            self.seconds[stage] = max(self.seconds.get(stage, 0.0), round(run.seconds, 1))
            {"sanitize": self.judge_sanitizer, "provider": self.judge_provider}.get(stage, self.judge_stage)(run)

    def cases(self) -> dict[str, list[str]]:
        if not self.is_wanted("correct"):
            return {}
        if self.args.part != selection.EVERY:
            self.left_out.append(f"cases outside of part {selection.text(self.args.part)}")
        return {"correct": self.stage("correct", "--part", selection.text(self.args.part), *self.only_operators())}

    def streams(self) -> dict[str, list[str]]:
        part = selection.text(selection.sample(self.args.seed))
        return {"streams": self.stage("streams", "--part", part, *self.only_operators())} if self.is_wanted("streams") else {}

    def only_operators(self) -> list[str]:
        return [word for op in self.args.op for word in ("--op", op)]

    def sanitizers(self) -> dict[str, list[str]]:
        if not self.is_wanted("sanitize"):
            return {}
        tool = shutil.which("compute-sanitizer")
        if tool is None:
            self.skip("sanitize", "compute-sanitizer is not installed")
            return {}
        return sanitizer.commands(tool, self.library, self.args.seed, self.args.thorough, self.args.op)

    def provider_checks(self) -> dict[str, list[str]]:
        if not self.is_wanted("provider"):
            return {}
        if why := provider.missing_for(self.library):
            self.skip("provider", why)
            return {}
        return provider.checks(self.library, self.folder)

    def run_measurements(self) -> None:
        """Runs what measures, one after the other."""
        if self.is_wanted("time"):
            with self.time_stage("time"):
                run = self.children.run("time", self.stage("time", *["--try-all"] * self.args.try_all), self.clock.end)
            self.judge_stage(run)
        if self.is_wanted("provider") and not provider.missing_for(self.library):
            if why := provider.missing_for_torch():
                self.left_out.append(f"PyTorch beside the models ({why})")
            with self.time_stage("models"):
                run = self.children.start("provider: devices, times", provider.times(self.library, self.folder, self.args.thorough), separate_stderr=True)
                next(self.children.as_completed([run], self.clock.end))
            self.judge_provider(run)

    def run_sweep(self) -> None:
        """Times the sweep's shapes, until a moment before the end."""
        limit = max(1.0, self.clock.end - time.monotonic() - SWEEP_WRITES)
        command = [sys.executable, str(TOOLS / "sweep.py"), "--library", str(self.library), "--out", str((self.folder or self.scratch) / "sweep.json"),
                   "--seed", str(self.args.seed), "--limit", f"{limit:.0f}"]
        with self.time_stage(SWEEP):
            run = self.children.run(SWEEP, command, self.clock.end)
        self.judge_stage(run)

    # What came of them.

    def judge_stage(self, run: ProcessGroup) -> None:
        stage_result = self.stage_result(run.name)
        print(run.output(), end="", flush=True)
        self.result |= {key: value for key, value in stage_result.items() if key in ("cases", "timing")}
        self.wrong += [f"{run.name}: {why}" for why in stage_result.get("wrong", [])]
        if "left out" in stage_result:
            self.skip(run.name, stage_result["left out"])
        if not run.in_time:
            timing = stage_result.get("timing")
            self.wrong.append(f"{run.name}: {self.not_done_text()}" + (f": {len(timing['rows'])} of {timing['shapes']} shapes are" if timing else ""))
        elif run.status and not stage_result.get("wrong"):
            self.wrong.append(f"{run.name}: {run.status_text()}")

    def judge_sanitizer(self, run: ProcessGroup) -> None:
        output = run.output()
        print(f"{run.name}: {run.status_text() if run.in_time else 'ended'}: {sanitizer.summary(output)}", flush=True)
        why = sanitizer.failure(run.name.partition(" ")[0], run.status, output) if run.in_time else self.not_done_text()
        if why:
            print(output[-4000:], flush=True)
            self.wrong.append(f"compute-sanitizer {run.name}: {why}" + (f" ({run.status_text()})" if run.in_time else ""))

    def judge_provider(self, run: ProcessGroup) -> None:
        print(f"{run.name}:\n{run.output()}", end="", flush=True)
        if run.in_time and run.status == 0:
            return
        print(run.stderr_text()[-4000:], flush=True)  # ONNX Runtime warns of every graph: printed where something failed
        self.wrong.append(f"{run.name}: {run.status_text() if run.in_time else self.not_done_text()}")

    def report(self) -> int:
        """The last lines and gpu-check.json; the exit status."""
        for line in self.wrong:
            print("WRONG " + line)
        elapsed_seconds = round(self.clock.seconds_since_start(), 1)
        print(f"seconds: {', '.join(f'{stage} {seconds:g}' for stage, seconds in self.seconds.items())}; {elapsed_seconds:g} in all, of {self.clock.seconds:g}")
        if self.folder:
            self.result |= {"wrong": self.wrong, "left out": self.left_out, "stages": self.seconds, "seconds": elapsed_seconds}
            (self.folder / "gpu-check.json").write_text(json.dumps(self.result, indent=1))
        print(f"{'MISMATCH' if self.wrong else 'all right'}, {elapsed_seconds:g} s" + (f"; LEFT OUT: {'; '.join(self.left_out)}" if self.left_out else ""))
        return 1 if self.wrong else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path, help="a built libstackbuild_kernels_hip.so")
    parser.add_argument("--headers", type=Path, default=installed_headers(), help=f"folder with {HEADER}, for the provider")
    parser.add_argument("--out", type=Path, default=Path("build/gpu-check"), help="where to build and write results")
    parser.add_argument("--only", action="append", choices=("build", *STAGES), help="only this stage (repeatable)")
    parser.add_argument("--op", action="append", default=[], choices=selection.MODULES, help="only this operator's cases (repeatable)")
    parser.add_argument("--quick", action="store_true", help=f"one correctness case in {selection.SAMPLE}")
    parser.add_argument("--thorough", action="store_true", help="every case under compute-sanitizer, every model's size (ten minutes and more)")
    parser.add_argument("--sweep", action="store_true", help="time the sweep's shapes in place of the stages")
    parser.add_argument("--part", type=selection.part, default=selection.EVERY, metavar="I/N", help="of the correctness cases one in N, from the Ith")
    parser.add_argument("--try-all", action="store_true", help="time every convolution algorithm, to choose by")
    parser.add_argument("--limit", type=selection.seconds, help="seconds that everything has together (470; with --thorough 1800)")
    parser.add_argument("--platform", choices=("amd", "nvidia"), help="build for it (amd where there is a hipconfig, or else nvidia)")
    parser.add_argument("--seed", type=selection.seed, default=0)
    args = parser.parse_args()
    if args.library and not args.library.is_file():
        parser.error(f"--library {args.library}: there is no such file")
    if args.library and args.only == ["build"]:
        parser.error("--only build builds the library that --library names as built: leave out one of them")
    if args.sweep and args.only:
        parser.error("--sweep takes the place of the stages that --only names: leave out one of them")
    if args.headers and not (args.headers / HEADER).is_file():
        parser.error(f"--headers {args.headers}: no {HEADER} in it (ONNX Runtime 1.27 and newer have it)")
    args.limit = LIMIT[args.thorough] if args.limit is None else args.limit
    args.part = selection.sample(args.seed) if args.quick else args.part
    return args


def installed_headers() -> Path | None:
    """Where a system's packages put ONNX Runtime's headers, if they are there with the plugin interface."""
    places = (Path(root, "include/onnxruntime", below) for root in ("/usr", "/usr/local") for below in (".", "core/session"))
    return next((place for place in places if (place / HEADER).exists()), None)


def environment() -> dict[str, str]:
    """The stages': the library's own choice of convolutions, and one thread of BLAS in each of so many processes."""
    for name in CHANGE_CONVOLUTIONS:
        if name in os.environ:
            print(f"{name} is set here, and is not handed on: the library chooses by its own rule")
    return {"OPENBLAS_NUM_THREADS": "1"} | {name: value for name, value in os.environ.items() if name not in CHANGE_CONVOLUTIONS}


def run_check(check: Check) -> int:
    args = check.args
    try:
        if lacking := provider.missing_modules(numpy=find_spec("numpy")):
            raise Unusable(lacking)
        if check.folder:
            check.folder.mkdir(parents=True, exist_ok=True)
        with check.time_stage("build"):
            check.library = (args.library or check.build()).resolve()
        if args.only == ["build"]:
            print(check.library)
            return 0
        check.query_device()
    except OutOfTime as late:
        check.wrong.append(str(late))
        return check.report()
    except (OSError, subprocess.SubprocessError, Unusable, NoGpu) as error:
        print(f"gpu-check: {error}", file=sys.stderr)
        return 2
    try:
        if args.sweep:
            check.run_sweep()
        else:
            check.run_concurrent_checks()
            check.run_measurements()
    except Exception as error:
        traceback.print_exc()
        check.wrong.append(f"gpu-check itself: {type(error).__name__}: {error}")
    return check.report()


def main() -> int:
    args = arguments()
    with tempfile.TemporaryDirectory() as scratch, Children(environment()) as children:
        return run_interruptibly("gpu-check", lambda: run_check(Check(args, children, Path(scratch))))
