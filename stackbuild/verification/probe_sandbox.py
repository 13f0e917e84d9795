"""Where probes run: a bubblewrap sandbox without network, without the caller's environment and home.

A wheel's code runs in it, so nothing that it can write is opened by name outside. Jobs come in by a descriptor. Answers
and output go out by descriptors of files without a name. The environment and the probes are read-only. What a probe
writes (profiles, outputs) is read by other probes only. Each probe is a process with limits of its own.
"""

from __future__ import annotations

import json
import math
import os
import re
import resource
import shutil
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from stackbuild.core.child_process import wait_within
from stackbuild.core.digest import Json
from stackbuild.core.log_excerpt import clean
from stackbuild.core.plain_file import read_regular
from stackbuild.runners import bwrap, cgroup
from stackbuild.runners.log import log_pipe
from stackbuild.runners.protocol import MOST_PROCESSES

PROBES = Path(__file__).with_name("probes")
ERROR_METRICS = Path(__file__).resolve().parents[1] / "bench" / "error_metrics.py"
_ANSWER = 16 << 20
"""Bytes of an answer that are read. As JSON of empty lists they take 0.4 GB of memory."""
_HEAD, _TAIL = 1 << 16, 1 << 16
"""Bytes that are kept of the first and of the last that a probe prints: a wheel may print without an end."""
_FILE = 8 << 30
#: Share of this machine's memory that a probe may take, where control groups can be made.
_MEMORY = 0.75


class Budget:
    """The time that all probes of a rung share; without an end until a rung begins it."""

    def __init__(self) -> None:
        self.seconds = math.inf
        self._until = math.inf

    def begin(self, seconds: float) -> None:
        """From now on probes have that many seconds together."""
        self.seconds, self._until = seconds, time.monotonic() + seconds

    def remaining(self) -> float:
        return max(0.0, self._until - time.monotonic())


@dataclass(frozen=True)
class ProbeResult:
    """How a probe ended: exit code (negative: by that signal), its answer, and the end of what it printed, to be shown only.

    `budget` is the rung's in seconds where that ran out, 0 where it did not.
    """

    code: int
    timed_out: bool
    seconds: float
    answer: dict[str, Json]
    tail: str
    budget: float = 0.0

    @property
    def termination(self) -> str:
        """'' for a process that exited by itself, otherwise what ended it."""
        if self.budget:
            return f"did not end within the {self.budget:.0f} s that all probes of this check share"
        if self.timed_out:
            return f"did not end within {self.seconds:.0f} s"
        if self.code < 0 or self.code > 128:
            number = -self.code if self.code < 0 else self.code - 128
            name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
            return f"killed by {name} (exit code {128 + number})"
        return ""

    @property
    def problem(self) -> str:
        """'' for a good answer, otherwise what went wrong."""
        if self.termination:
            return self.termination
        if self.code or not self.answer:
            return f"exit code {self.code} without an answer: {self.tail or 'it printed nothing'}"
        return str(self.answer.get("error", ""))


@dataclass(frozen=True)
class ProbeSandbox:
    """The folder of one ladder and what its probes see of the machine.

    In `folder`: `env`, the environment, read-only but for `furnish`; `out`, which probes may write. `python` is the
    interpreter, `readable` what else they may read, `root` the root file system in place of this machine's: a recipe's
    base, say. `installations` are the folders that the interpreter lies in, where they are known: links of an environment
    that a wheel's code could write are not followed on this machine. `interpreter` is what `interpreter_files` gave of the
    environment before a wheel's code ran. `env` is added to each probe's environment, and `inherited_fds` are descriptors that every
    probe gets beside its own. `preload` are packages whose `preload()` each probe calls first. `check` is called meanwhile
    and may raise.
    """

    folder: Path
    python: Path
    readable: tuple[Path, ...] = ()
    rocm: bool = False
    root: Path | None = None
    env: tuple[tuple[str, str], ...] = ()
    inherited_fds: tuple[int, ...] = ()
    preload: tuple[str, ...] = ()
    check: Callable[[], None] = lambda: None
    budget: Budget = field(default_factory=Budget)
    installations: tuple[Path, ...] | None = None
    interpreter: tuple[tuple[str, str], ...] = ()

    @property
    def site(self) -> Path:
        """Where the packages of the environment are. A wheel's code can have put another thing there while wheels were
        installed: the path of nothing then."""
        lib = self.folder / "env" / "lib"
        places = (
            p for p in sorted(lib.glob("python*/site-packages")) if not any(map(os.path.islink, (p, p.parent, lib)))
        )
        return next(places, lib / "python" / "site-packages")

    @property
    def out(self) -> Path:
        """Where probes may write, and other probes may read it."""
        return self.folder / "out"

    def probe(
        self, name: str, job: dict[str, Json], seconds: float, env: tuple[tuple[str, str], ...] = ()
    ) -> ProbeResult:
        """Run `probes/NAME.py` on a job: for so many seconds, and no longer than the rung's budget has left."""
        remaining = self.budget.remaining()
        if not remaining:
            return ProbeResult(-signal.SIGKILL, True, 0.0, {}, "", self.budget.seconds)
        scripts = self.folder / "probes"
        if not scripts.exists():
            shutil.copytree(PROBES, scripts, ignore=shutil.ignore_patterns("__pycache__"))
            shutil.copy(ERROR_METRICS, scripts)
        with self._file("job") as job_file, self._file("answer") as answer:
            job_file.write(json.dumps({**job, "preload": [*self.preload]}).encode())
            job_file.seek(0)
            argv = [str(self.python), str(scripts / f"{name}.py"), str(job_file.fileno()), str(answer.fileno())]
            descriptors = (job_file.fileno(), answer.fileno(), *self.inherited_fds)
            result = self._run(argv, min(seconds, remaining), (*self.env, *env), descriptors, ())
            limit_seconds = self.budget.seconds if result.timed_out and remaining < seconds else 0.0
            return replace(result, answer=_read(answer), budget=limit_seconds)

    def furnish(self, argv: list[str], seconds: float) -> ProbeResult:
        """Run a command that may write to the environment: the one that makes it, and pip."""
        (self.folder / "env").mkdir(exist_ok=True)
        return self._run(argv, seconds, (), (), (self.folder / "env",))

    def _file(self, kind: str) -> BinaryIO:
        """A new file that only its descriptors lead to."""
        return TemporaryFile("w+b", dir=self.folder, prefix=kind)

    def _run(
        self,
        argv: list[str],
        seconds: float,
        env: tuple[tuple[str, str], ...],
        descriptors: tuple[int, ...],
        writable: tuple[Path, ...],
    ) -> ProbeResult:
        """Run a command in the sandbox; it and all its children are dead when this returns."""
        self.out.mkdir(exist_ok=True)
        start_time = time.monotonic()
        with self._file("output") as output, cgroup.limits("verify", _memory(), MOST_PROCESSES) as group:
            with (
                log_pipe(Path(f"/proc/self/fd/{output.fileno()}"), _HEAD, _TAIL) as pipe,
                self._bwrap(env, writable).start(
                    argv, pipe, pass_fds=descriptors, preexec=lambda: _limit(group.entry_files), seconds=seconds
                ) as process,
            ):
                code, timed_out = wait_within(process, seconds, self.check)  # bwrap's end is that of its pid namespace
            return ProbeResult(code, timed_out, time.monotonic() - start_time, {}, _tail(output))

    def _bwrap(self, env: tuple[tuple[str, str], ...], writable: tuple[Path, ...]) -> bwrap.Bwrap:
        known_folders = interpreter_folders(self.python) if self.installations is None else self.installations
        readable = (*(() if self.root else known_folders), *self.readable)
        own = tuple(path for name in ("env", "probes") if (path := self.folder / name).is_dir())
        paths = (*readable, *(path for path in own if path not in writable))
        devices = [d for d in ("/dev/kfd", "/dev/dri") if Path(d).exists()] if self.rocm else []
        binds = [("--ro-bind", path) for path in paths] + [("--bind", path) for path in (self.out, *writable)]
        return bwrap.Bwrap(
            bwrap.bwrap_path(": probes are not run outside a sandbox"),
            root=_root_words(self.root or Path("/"), self.rocm),
            mounts=(
                *(word for kind, path in binds for word in (kind, str(path), str(path))),
                *(word for device in devices for word in ("--dev-bind", device, device)),
            ),
            env=(*_ENVIRONMENT, *env),
            cwd=str(self.out),
        )


_ENVIRONMENT = (
    ("PATH", "/usr/bin:/bin"), ("HOME", "/tmp"), ("LANG", "C.UTF-8"), ("PYTHONNOUSERSITE", "1"),
    ("PYTHONDONTWRITEBYTECODE", "1"), ("PYTHONHASHSEED", "0"), ("OMP_NUM_THREADS", "2"), ("PIP_NO_CACHE_DIR", "1"),
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"), ("PIP_CONFIG_FILE", "/dev/null"),
)  # fmt: skip
_PYTHON = re.compile(r"python[0-9.]*")
_SETTINGS_BYTES = 1 << 16
_FOLDERS = ("bin", "lib", "lib32", "lib64", "libx32", "sbin", "usr")
_SETTINGS = (
    "OpenCL", "alternatives", "group", "hosts", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "nsswitch.conf", "passwd",
)  # fmt: skip


def _root_words(root: Path, rocm: bool) -> tuple[str, ...]:
    """The parts of a root file system that programs need, read-only, on an empty `/` where anything can be mounted.

    Of /etc only what tells no secrets; /opt, where ROCm lies, only with `rocm`; /sys, where it looks for GPUs.
    """
    folders = (*_FOLDERS, *(("opt",) if rocm else ()))
    return (*bwrap.root_mounts(root, folders, _SETTINGS), "--ro-bind", "/sys", "/sys")


def interpreter_folders(python: Path) -> tuple[Path, ...]:
    """What interpreters need that does not lie in /usr: their installations. Follows links of `python`."""
    prefixes = {Path(sys.base_prefix), python.parent.parent, python.resolve().parent.parent}
    return tuple(sorted(p for p in prefixes if not p.is_relative_to("/usr") and p != Path("/")))


def interpreter_files(env: Path) -> tuple[tuple[str, str], ...]:
    """What an environment runs: each `bin/python…` with its link's target, and its settings. Nothing is followed."""
    folder = env / "bin"
    if folder.is_symlink():
        return (("bin", os.readlink(folder)),)
    settings = read_regular(env / "pyvenv.cfg", _SETTINGS_BYTES)
    files = sorted(file for file in folder.iterdir() if _PYTHON.fullmatch(file.name)) if folder.is_dir() else []
    links = ((file.name, os.readlink(file) if file.is_symlink() else "not a link") for file in files)
    return (*links, ("pyvenv.cfg", repr(settings)))


def _memory() -> int:
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * _MEMORY)


def _limit(entry_files: tuple[str, ...]) -> None:
    """Into the control group, no core dumps, and no file that fills the disk. Runs between fork and exec."""
    for file in entry_files:
        with open(file, "w") as entry:  # noqa: PTH123 - nothing is imported between fork and exec
            entry.write("0")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE, _FILE))


def _read(answer: BinaryIO) -> dict[str, Json]:
    """A probe's answer; {} where it is missing or not a JSON object."""
    answer.seek(0)
    data = answer.read(_ANSWER + 1)
    try:
        document = json.loads(data.decode("utf-8")) if len(data) <= _ANSWER else None
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _tail(output: BinaryIO) -> str:
    """The last lines a command printed, to be shown to a person."""
    output.seek(max(0, output.seek(0, os.SEEK_END) - 4096))
    lines = [line for line in output.read(4096).decode("utf-8", "replace").splitlines() if line.strip()]
    return " | ".join(clean(line.strip()) for line in lines[-3:])
