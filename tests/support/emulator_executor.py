"""The executor of translated kernels, from Python: compiles native/executor.c once a version and calls it through ctypes.

A wrong kernel can end the process that it runs in: use this in a process of its own.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from subprocess import run

from stackbuild.core.errors import Stop
from stackbuild.emulator.counter_model import COUNTERS
from stackbuild.emulator.native_library import NATIVE, compiler
from stackbuild.emulator.translate import TranslationError


class ExecutionError(Stop):
    """A dispatch that did not end well, or a folder that cannot be opened."""


@dataclass(frozen=True)
class DeviceFinding:
    """What a dispatch reports: `kind` by emulator.h, its name, the instruction and one sentence."""

    kind: int
    kind_name: str
    kernel: str
    pc: int
    instruction: str
    text: str
    workgroup: tuple[int, int, int]
    wave: int
    lane: int
    address: int


class _FindingStruct(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_int), ("kind_name", ctypes.c_char_p), ("kernel", ctypes.c_char_p), ("pc", ctypes.c_uint64),
        ("instruction", ctypes.c_char_p), ("text", ctypes.c_char_p), ("workgroup", ctypes.c_uint32 * 3), ("wave", ctypes.c_uint32),
        ("lane", ctypes.c_int), ("address", ctypes.c_uint64),
    )  # fmt: skip


class _Counters(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint64) for name in COUNTERS)


_ReportCallback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(_FindingStruct))
_Range = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_uint64,
    ctypes.c_int,
    ctypes.POINTER(ctypes.c_uint64),
    ctypes.POINTER(ctypes.c_uint64),
)


class _Dispatch(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_uint32), ("kernel", ctypes.c_void_p), ("grid", ctypes.c_uint32 * 3), ("workgroup", ctypes.c_uint32 * 3),
        ("pointers", ctypes.c_void_p), ("kernarg", ctypes.c_char_p), ("kernarg_bytes", ctypes.c_size_t),
        ("dynamic_lds_bytes", ctypes.c_uint32), ("lds_limit", ctypes.c_uint32), ("seed", ctypes.c_uint64), ("threads", ctypes.c_uint32),
        ("budget", ctypes.c_uint64), ("context", ctypes.c_void_p), ("range", _Range), ("report", _ReportCallback),
        ("counters", ctypes.POINTER(_Counters)), ("items", ctypes.c_uint32 * 3),
    )  # fmt: skip


def executor_library(folder: Path) -> Path:
    """The compiled executor below `folder`. Raises TranslationError."""
    sources = sorted([*NATIVE.glob("*.c"), *NATIVE.glob("*.h")])
    digest = sha256(b"".join(file.read_bytes() for file in sources)).hexdigest()[:16]
    library = folder / f"executor-{digest}.so"
    if not library.exists():
        folder.mkdir(parents=True, exist_ok=True)
        fresh = library.with_suffix(".new")
        command = [
            compiler(),
            "-O2",
            "-std=gnu11",
            "-fPIC",
            "-shared",
            str(NATIVE / "executor.c"),
            "-o",
            str(fresh),
            "-lpthread",
            "-ldl",
            "-lm",
        ]
        made = run(command, capture_output=True, text=True, check=False)
        if made.returncode:
            raise TranslationError(f"{compiler()} failed on executor.c: {made.stderr[:400]}")
        fresh.replace(library)
    return library


@dataclass(frozen=True)
class LaunchSize:
    """The sizes of a dispatch and how it is run. `items` are the grid's work-items where its last workgroups are partial."""

    grid: tuple[int, int, int]
    workgroup: tuple[int, int, int]
    dynamic_lds_bytes: int = 0
    seed: int = 0
    threads: int = 0
    budget: int = 0
    items: tuple[int, int, int] = (0, 0, 0)


class Executor:
    """An open folder of translated kernels."""

    def __init__(self, folder: Path, library: Path) -> None:
        self._library = ctypes.CDLL(str(library))
        self._library.emulator_open.restype = ctypes.c_void_p
        self._library.emulator_find.restype = ctypes.c_void_p
        error = ctypes.create_string_buffer(512)
        self._object = self._library.emulator_open(str(folder).encode(), error, 512)
        if not self._object:
            raise ExecutionError(error.value.decode())

    def dispatch(
        self,
        kernel: str,
        launch: LaunchSize,
        kernarg: bytes,
        ranges: Sequence[tuple[int, int]] | None = None,
        heard: Callable[[DeviceFinding], None] = lambda finding: None,
    ) -> dict[str, int]:
        """Run a kernel to its end and return its counters. `kernarg` has the explicit arguments at their offsets; `ranges`
        the memory it may use as (start, end). Raises ExecutionError after the finding was heard.
        """
        handle = self._library.emulator_find(ctypes.c_void_p(self._object), kernel.encode())
        if not handle:
            raise ExecutionError(f"there is no kernel {kernel}")
        last: list[DeviceFinding] = []

        def report(_: int, finding: object) -> None:
            f = finding.contents  # type: ignore[attr-defined]
            last.append(
                DeviceFinding(f.kind, f.kind_name.decode(), f.kernel.decode(), f.pc, f.instruction.decode(), f.text.decode(),
                        tuple(f.workgroup), f.wave, f.lane, f.address)
            )  # fmt: skip
            heard(last[-1])

        def in_range(_: int, address: int, write: int, start: object, end: object) -> int:
            for low, high in ranges or ():
                if low <= address < high:
                    start[0], end[0] = low, high  # type: ignore[index]
                    return 1
            return 0

        counters = _Counters()
        given = _Dispatch(
            ctypes.sizeof(_Dispatch), handle, (ctypes.c_uint32 * 3)(*launch.grid), (ctypes.c_uint32 * 3)(*launch.workgroup), None,
            kernarg, len(kernarg), launch.dynamic_lds_bytes, 0, launch.seed, launch.threads, launch.budget, None,
            _Range(in_range) if ranges is not None else _Range(), _ReportCallback(report), ctypes.pointer(counters), (ctypes.c_uint32 * 3)(*launch.items),
        )  # fmt: skip
        result = self._library.emulator_dispatch(ctypes.byref(given))
        if result:
            raise ExecutionError(last[-1].text if last else f"dispatch of {kernel}: error {result}")
        return {name: getattr(counters, name) for name in COUNTERS}
