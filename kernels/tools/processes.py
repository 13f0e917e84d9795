"""Child processes, the time limit and the platform of this machine, for the scripts that check on a GPU."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import IO

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
DEATH_SECONDS = 5.0  # what a killed process gets to be gone: one that waits in a driver may never be
_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_LIBC = ctypes.CDLL(None)


class NoGpu(Exception):
    """This machine lacks what building for its GPU needs; the message says what."""


class Unusable(Exception):
    """There is nothing to check here, or nothing to check it with; the message says what."""


class SignalReceived(BaseException):
    """SIGINT, SIGTERM or SIGHUP arrived. Raised once: signals that follow are ignored while the processes are ended."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


class Clock:
    """The time limit of the whole script, from its start."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._start_time = time.monotonic()

    @property
    def end(self) -> float:
        """The end of the time limit, in seconds of time.monotonic()."""
        return self._start_time + self.seconds

    def seconds_since_start(self) -> float:
        return time.monotonic() - self._start_time


class ProcessGroup:
    """A process that leads a process group of its own. Its output goes to files: a pipe that nobody reads would stop it after 64 KiB."""

    def __init__(self, name: str, command: list[str], environment: dict[str, str], separate_stderr: bool) -> None:
        self.name, self.command, self.in_time, self.seconds = name, command, True, 0.0
        self._out = _log()
        self._err = _log() if separate_stderr else None
        self._start_time = time.monotonic()
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=self._out, stderr=self._err or subprocess.STDOUT, preexec_fn=lambda: _prepare_child(mask)
        )

    def has_ended(self) -> bool:
        """Whether the process that leads the group has ended. It is not reaped, so that its number stays the group's."""
        return self.process.returncode is not None or os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def kill(self) -> None:
        """Kills everything in the group, whether its leader still runs or not."""
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)

    def wait(self, until: float) -> bool:
        """Reaps the killed process. False where it is not gone by `until`."""
        try:
            self.process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            return False
        return True

    @property
    def status(self) -> int:
        """The exit status; SIGKILL's for a process that was killed and is not gone."""
        return -signal.SIGKILL if self.process.returncode is None else self.process.returncode

    def status_text(self) -> str:
        """The exit status in words."""
        return f"exit {self.status}" if self.status >= 0 else f"killed by {signal.Signals(-self.status).name}"

    def output(self) -> str:
        """What it printed on stdout; with stderr unless the two are kept apart."""
        return _read_all(self._out)

    def stderr_text(self) -> str:
        """What it printed on stderr; with stdout unless the two are kept apart."""
        return _read_all(self._err or self._out)

    def close(self, until: float) -> None:
        """Kills what is left of the group, and records how long the run took."""
        self.seconds = time.monotonic() - self._start_time
        self.kill()
        if not self.wait(until):
            print(f"{self.name}: process {self.process.pid} was killed and is not gone", file=sys.stderr)


def _log() -> IO[str]:
    return tempfile.TemporaryFile("w+", errors="replace")


def _read_all(file: IO[str]) -> str:
    file.seek(0)
    return file.read()


def _prepare_child(mask: set[signal.Signals | int]) -> None:
    """Runs in the child before its program: makes a process group, and has the kernel kill the child when its parent ends."""
    os.setpgid(0, 0)
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask - set(ENDINGS))


class Children:
    """Processes that this one starts. None outlives the `with`, nor this process if that is killed."""

    def __init__(self, environment: dict[str, str] | None = None) -> None:
        self._environment = os.environ.copy() if environment is None else environment
        self._runs: list[ProcessGroup] = []
        self._watch: _Watchdog | None = None

    def __enter__(self) -> Children:
        return self

    def __exit__(self, *_: object) -> None:
        for number in ENDINGS:
            signal.signal(number, signal.SIG_IGN)
        self._close(self._runs)
        if self._watch:
            self._watch.close()

    def start(self, name: str, command: list[str], separate_stderr: bool = False) -> ProcessGroup:
        """Starts `command`. Signals are blocked from the start until the run is in the list of those to end."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDINGS)
        try:
            self._watch = self._watch or _Watchdog()
            run = ProcessGroup(name, command, self._environment, separate_stderr)
            self._runs.append(run)
            self._watch.add(run.process.pid)
            return run
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def as_completed(self, runs: Iterable[ProcessGroup], end: float) -> Iterator[ProcessGroup]:
        """Each run as it ends. Those that still run at `end` are killed, all before the first is reaped, and have `in_time` False."""
        waiting = list(runs)
        while waiting:
            late = time.monotonic() >= end
            finished_runs = [run for run in waiting if late or run.has_ended()]
            for run in finished_runs:
                run.in_time = run.has_ended()
            self._close(finished_runs)
            waiting = [run for run in waiting if run not in finished_runs]
            yield from finished_runs
            if not finished_runs:
                time.sleep(0.02)

    def run(self, name: str, command: list[str], end: float) -> ProcessGroup:
        """Starts `command` and waits for its end."""
        return next(self.as_completed([self.start(name, command)], end))

    def _close(self, runs: list[ProcessGroup]) -> None:
        for run in runs:
            run.kill()
        until = time.monotonic() + DEATH_SECONDS
        for run in runs:
            if run.process.returncode is None:
                run.close(until)
                assert self._watch is not None
                self._watch.drop(run.process.pid)


class _Watchdog:
    """A process that kills what is left of its parent's process groups after the parent was killed (SIGKILL). A pipe names them."""

    def __init__(self) -> None:
        reading, self._writing = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                os.close(self._writing)
                self._serve(reading)
            finally:
                os._exit(0)
        os.close(reading)

    def add(self, group: int) -> None:
        os.write(self._writing, b"+%d\n" % group)

    def drop(self, group: int) -> None:
        os.write(self._writing, b"-%d\n" % group)

    def close(self) -> None:
        os.close(self._writing)
        os.waitpid(self._pid, 0)

    @staticmethod
    def _serve(reading: int) -> None:
        os.setpgid(0, 0)  # out of the parent's group, to which a terminal sends its signals
        for number in ENDINGS:
            signal.signal(number, signal.SIG_IGN)
        groups: set[int] = set()
        with os.fdopen(reading) as pipe:
            for line in pipe:
                (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
        for group in groups:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)


def _interrupt(number: int, frame: FrameType | None) -> None:
    for each in ENDINGS:
        signal.signal(each, signal.SIG_IGN)
    raise SignalReceived(number)


def run_interruptibly(name: str, work: Callable[[], int]) -> int:
    """The result of `work`; 128 and the signal's number where SIGINT, SIGTERM or SIGHUP ends it. Signals that nohup ignores stay ignored."""
    for number in ENDINGS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    try:
        return work()
    except SignalReceived as interruption:
        print(f"{name}: interrupted by {interruption}", file=sys.stderr)
        return 128 + interruption.number


def platform() -> str:
    """The platform to build for: amd where there is a hipconfig, nvidia where there is an nvcc. Raises NoGpu where neither is."""
    for tool, name in (("hipconfig", "amd"), ("nvcc", "nvidia")):
        if shutil.which(tool):
            return name
    raise NoGpu("neither hipconfig (ROCm's HIP) nor nvcc (CUDA) is in PATH: nothing to build with; --library names a built library")


def device_options(name: str) -> list[str]:
    """CMake's options for this machine's GPUs. Raises NoGpu where there is none."""
    tool = {"amd": "rocm_agent_enumerator", "nvidia": "nvidia-smi"}[name]
    if shutil.which(tool) is None:
        raise NoGpu(f"no GPU found: there is no {tool}")
    try:
        output = subprocess.run([tool, *(["-L"] if name == "nvidia" else [])], capture_output=True, text=True, check=False, timeout=60)
    except subprocess.TimeoutExpired:
        raise NoGpu(f"no GPU found: {tool} did not answer in 60 s") from None
    targets = sorted(set(output.stdout.split()) - {"gfx000"})
    if output.returncode or not targets:
        raise NoGpu(f"no GPU found: {tool} {'ends with ' + str(output.returncode) if output.returncode else 'names none'}")
    return ["-DCMAKE_CUDA_ARCHITECTURES=native"] if name == "nvidia" else ["-DGPU_TARGETS=" + ";".join(targets)]
