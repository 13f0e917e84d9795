"""The side of the emulator that translates: it answers the HIP stand-in in other processes, and gathers what they report.

A stand-in gets one end of a socket as an inherited descriptor (native/hip/channel.c). It asks for the device's limits,
for a bundle of code objects to be opened, and for kernels to be translated. It reports dispatches, findings and failed
calls. A stranger's code runs beside it and has the same socket: what comes is bounded in size, count and time, a file is
never mapped, and no answer is waited for.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import socket
import stat
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

from stackbuild.core.errors import MachineLacks, Stop
from stackbuild.emulator.cache_files import is_lack
from stackbuild.emulator.code_objects import check_descriptor, code_object_for
from stackbuild.emulator.source_lines import SourceLines
from stackbuild.emulator.translate import IMAGE, TranslationError, translate
from stackbuild.inspection.readers.byte_parser import MalformedError
from stackbuild.tables.gpu_limits import GpuLimits

CHANNEL = "STACKBUILD_EMULATOR_CHANNEL"
_MESSAGE = 1 << 14
"""Bytes of a message: as many as native/hip/channel.c sends."""
_PAYLOAD = 1 << 30
"""Bytes of a bundle or code object."""
_TOTAL = 4 << 30
"""Bytes of all code objects of a run, and of their images on the disk."""
_ANSWER = 4096
_SEPARATOR = "\x1f"
DISPATCH = "dispatch"
_DEFECTS = frozenset(("finding", "error", "host call"))
_KERNEL = re.compile(r"[\w.$]+")
_PC = re.compile(r"0x[0-9a-f]{1,16}")


@dataclass(frozen=True)
class EmulatorReport:
    """One thing that a stand-in said: `kind` is dispatch, finding, error or host call; `fields` are its values by name."""

    kind: str
    fields: dict[str, str]


@dataclass
class _Room:
    """How many reports are kept, and of how many bytes together."""

    count: int
    size: int

    def takes(self, text: str) -> bool:
        """Whether there is room for one more, which is taken."""
        if not self.count or len(text) > self.size:
            return False
        self.count -= 1
        self.size -= len(text)
        return True


@dataclass
class EmulatorService:
    """Answers the stand-ins of one target while its `running` block lasts.

    `folder` takes the translated kernels, and must be readable to the stand-ins under the same path. Dispatches have room
    of their own, so that many of them leave no defect out. `omitted_dispatches` is how many were not kept.
    """

    limits: GpuLimits
    folder: Path
    sanitize: bool = False
    counters: bool = False
    reports: list[EmulatorReport] = field(default_factory=list)
    kernels: dict[str, float] = field(default_factory=dict)
    omitted_dispatches: int = 0
    lack: str = ""
    """What the machine lacks to translate, "" where nothing: then the answers of a run say nothing of a wheel."""
    _objects: dict[str, bytes] = field(default_factory=dict)
    _total: int = 0
    _dispatch_room: _Room = field(default_factory=lambda: _Room(100_000, 64 << 20))
    _defect_room: _Room = field(default_factory=lambda: _Room(10_000, 16 << 20))
    _end: Event = field(default_factory=Event)
    _lines: dict[str, SourceLines] = field(default_factory=dict)
    """By kernel."""

    @contextmanager
    def running(self) -> Iterator[int]:
        """The descriptor that a stand-in's process inherits, under the number that CHANNEL names."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        stop_here, stop_there = socket.socketpair()
        self._end.clear()
        with ours, theirs, stop_here, stop_there:
            server = Thread(target=self._serve, args=(ours, stop_there), daemon=True)
            server.start()
            try:
                yield theirs.fileno()
            finally:
                self._end.set()
                stop_here.close()
                server.join()

    def of(self, kind: str) -> list[dict[str, str]]:
        """The fields of every report of one kind, in order."""
        return [report.fields for report in self.reports if report.kind == kind]

    def _serve(self, ours: socket.socket, stop: socket.socket) -> None:
        while True:
            ready, _, _ = select.select([ours, stop], [], [])
            if stop in ready:
                self._read_rest(ours)
                return
            if not self._receive(ours):
                with contextlib.suppress(OSError):
                    ours.shutdown(socket.SHUT_RDWR)  # other stand-ins see at once that nobody answers
                return

    def _read_rest(self, ours: socket.socket) -> None:
        """Take the reports that were sent before the end; nobody waits for an answer any more."""
        while select.select([ours], [], [], 0)[0] and self._receive(ours):
            pass

    def _receive(self, ours: socket.socket) -> bool:
        """Read a message. False where none will come: somebody has shut the socket down, or sent nothing."""
        try:
            data, descriptors, _, _ = socket.recv_fds(ours, _MESSAGE, 2, socket.MSG_CMSG_CLOEXEC)
        except OSError:
            return False
        try:
            text = data.decode("utf-8", "replace")
            if text.startswith("report "):
                self._note(text.removeprefix("report "))
            elif descriptors and not self._end.is_set():
                _reply(descriptors[0], self._answer(text, descriptors[1] if len(descriptors) > 1 else None))
        finally:
            for each in descriptors:
                _close(each)
        return bool(data)

    def _note(self, text: str) -> None:
        kind, *parts = text.split(_SEPARATOR)
        if kind == DISPATCH and not self._dispatch_room.takes(text):
            self.omitted_dispatches += 1
            return
        if kind != DISPATCH and not (kind in _DEFECTS and self._defect_room.takes(text)):
            return  # 10,000 defects are as bad as more
        fields = dict(zip(parts[::2], parts[1::2], strict=False))
        if kind == "finding" and (line := self._line(fields)):
            fields["source"] = line
        self.reports.append(EmulatorReport(kind, fields))

    def _line(self, fields: dict[str, str]) -> str:
        """The source line of a finding, "" where it is not known."""
        kernel, pc = fields.get("kernel", ""), fields.get("pc", "")
        return self._lines[kernel].of(kernel, int(pc, 16)) if kernel in self._lines and _PC.fullmatch(pc) else ""

    def _answer(self, text: str, payload: int | None) -> str:
        """What a request is answered: `ok …`, or `error` and a sentence."""
        verb, _, rest = text.partition(" ")
        verbs: dict[str, Callable[[], str]] = {
            "device": lambda: f"ok\n{self.limits.description}",
            "load": lambda: f"ok {self._load(payload)}",
            "kernel": lambda: f"ok {self._translate(*rest.split(_SEPARATOR, 1))}",
        }
        if verb not in verbs:
            return f"error the request {verb!r} is not known"
        try:
            return verbs[verb]()
        except MachineLacks as lacks:
            self.lack = self.lack or lacks.what
            return f"error {lacks.what}"
        except (Stop, MalformedError) as stop:
            return f"error {stop.what if isinstance(stop, Stop) else stop}"
        except Exception as error:  # the stand-in waits for an answer; what went wrong is a finding of the rung
            if isinstance(error, OSError) and is_lack(error):
                self.lack = self.lack or f"the store takes no kernels: {error.strerror}"
            return f"error the emulator itself failed: {type(error).__name__} {error}"

    def _load(self, payload: int | None) -> Path:
        """Open a bundle or code object: the folder of what of it is for this target, with no kernel translated yet."""
        if payload is None:
            raise MalformedError("a code object was not handed over")
        code = code_object_for(self.limits.target, _payload(payload))
        if self._total + len(code) > _TOTAL:
            raise MalformedError(f"code objects of more than {_TOTAL:,} bytes were loaded")
        translation = self._run_translate(code, [])
        if str(translation) not in self._objects:
            self._objects[str(translation)] = code
            self._total += len(code) + (translation / IMAGE).stat().st_size
        return translation

    def _translate(self, folder: str, name: str = "") -> Path:
        if folder not in self._objects or not _KERNEL.fullmatch(name):
            raise MalformedError(f"{name} of {folder} was not loaded")
        check_descriptor(self._objects[folder], name)
        start_time = time.process_time()
        translation = self._run_translate(self._objects[folder], [name])
        self.kernels[name] = time.process_time() - start_time
        self._lines[name] = SourceLines(self._objects[folder])
        return translation

    def _run_translate(self, code: bytes, names: list[str]) -> Path:
        return translate(
            code, self.limits.target, self.folder, sanitize=self.sanitize, counters=self.counters, kernels=names,
            check=self._require_running,
        )  # fmt: skip

    def _require_running(self) -> None:
        if self._end.is_set():
            raise TranslationError("nobody waits for the kernel any more")


def _payload(file: int) -> bytes:
    """What was handed over. It is read and not mapped: its owner can cut it short at any moment. Raises MalformedError."""
    status = os.fstat(file)
    if not stat.S_ISREG(status.st_mode) or not 0 < status.st_size <= _PAYLOAD:
        raise MalformedError(f"a code object is a file of 1 to {_PAYLOAD:,} bytes")
    pieces: list[bytes] = []
    at = 0
    while at < status.st_size and (piece := os.pread(file, min(1 << 24, status.st_size - at), at)):
        pieces.append(piece)
        at += len(piece)
    return b"".join(pieces)


def _close(descriptor: int) -> None:
    """Close a descriptor that a stranger handed over. A socket's unsent data is dropped: SO_LINGER would wait for it."""
    with contextlib.suppress(OSError):
        if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
            lingering = socket.socket(fileno=descriptor)
            try:
                lingering.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            finally:
                lingering.detach()
    os.close(descriptor)


def _reply(descriptor: int, answer: str) -> None:
    """Send an answer, unless its socket is gone or full: nobody is waited for."""
    with contextlib.suppress(OSError):
        reply = socket.socket(fileno=descriptor)
        try:
            reply.send(answer.encode()[:_ANSWER], socket.MSG_DONTWAIT)
        finally:
            reply.detach()
