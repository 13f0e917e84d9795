"""The side of the emulator that translates: it answers the HIP stand-in in other processes, and gathers what they report.

A stand-in gets one end of a socket as an inherited descriptor (native/hip/channel.c). It asks for the device's limits,
for a bundle of code objects to be opened, and for kernels to be translated. It reports dispatches, findings and failed
calls. What it says is read with care: a stranger's code runs beside it.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import re
import select
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread

from stackbuild.core.errors import Stop
from stackbuild.emulator.code_objects import check_descriptor, code_object_for
from stackbuild.emulator.source_lines import SourceLines
from stackbuild.emulator.translate import translate
from stackbuild.inspection.readers.byte_parser import MalformedError
from stackbuild.tables.gpu_limits import GpuLimits

CHANNEL = "STACKBUILD_EMULATOR_CHANNEL"
_MESSAGE = 1 << 16
_MOST_REPORTS = 100_000
_SEPARATOR = "\x1f"
_KERNEL = re.compile(r"[\w.$]+")
_PC = re.compile(r"0x[0-9a-f]{1,16}")


@dataclass(frozen=True)
class EmulatorReport:
    """One thing that a stand-in said: `kind` is dispatch, finding, error or host call; `fields` are its values by name."""

    kind: str
    fields: dict[str, str]


@dataclass
class EmulatorService:
    """Answers the stand-ins of one target while its `running` block lasts.

    `folder` takes the translated kernels, and must be readable to the stand-ins under the same path.
    """

    limits: GpuLimits
    folder: Path
    sanitize: bool = False
    counters: bool = False
    reports: list[EmulatorReport] = field(default_factory=list)
    kernels: dict[str, float] = field(default_factory=dict)
    _objects: dict[str, bytes] = field(default_factory=dict)
    _lines: dict[str, SourceLines] = field(default_factory=dict)
    """By kernel."""

    @contextmanager
    def running(self) -> Iterator[int]:
        """The descriptor that a stand-in's process inherits, under the number that CHANNEL names."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        stop_here, stop_there = socket.socketpair()
        with ours, theirs, stop_here, stop_there:
            server = Thread(target=self._serve, args=(ours, stop_there), daemon=True)
            server.start()
            try:
                yield theirs.fileno()
            finally:
                stop_here.close()
                server.join()

    def of(self, kind: str) -> list[dict[str, str]]:
        """The fields of every report of one kind, in order."""
        return [report.fields for report in self.reports if report.kind == kind]

    def _serve(self, ours: socket.socket, stop: socket.socket) -> None:
        while True:
            ready, _, _ = select.select([ours, stop], [], [])
            if ours in ready:
                self._receive(ours)
            elif stop in ready:  # after all that was sent before
                return

    def _receive(self, ours: socket.socket) -> None:
        try:
            data, descriptors, _, _ = socket.recv_fds(ours, _MESSAGE, 2)
        except OSError:
            return
        try:
            text = data.decode("utf-8", "replace")
            if text.startswith("report "):
                self._note(text.removeprefix("report "))
            elif descriptors:
                answer = self._answer(text, descriptors[1] if len(descriptors) > 1 else None)
                with contextlib.suppress(OSError), socket.socket(fileno=os.dup(descriptors[0])) as reply:
                    reply.sendall(answer.encode())
        finally:
            for each in descriptors:
                os.close(each)

    def _note(self, text: str) -> None:
        kind, *parts = text.split(_SEPARATOR)
        if len(self.reports) >= _MOST_REPORTS:
            return
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
        except (Stop, MalformedError) as stop:
            return f"error {stop.what if isinstance(stop, Stop) else stop}"
        except Exception as error:  # the stand-in waits for an answer; what went wrong is a finding of the rung
            return f"error the emulator itself failed: {type(error).__name__} {error}"

    def _load(self, payload: int | None) -> Path:
        """Open a bundle or code object: the folder of what of it is for this target, with no kernel translated yet."""
        if payload is None:
            raise MalformedError("a code object was not handed over")
        with mmap.mmap(payload, 0, prot=mmap.PROT_READ) as data:
            code = code_object_for(self.limits.target, data)
        translation = self._run_translate(code, [])
        self._objects[str(translation)] = code
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
            code, self.limits.target, self.folder, sanitize=self.sanitize, counters=self.counters, kernels=names
        )
