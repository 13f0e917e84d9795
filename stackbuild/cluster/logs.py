"""A step's log on the client: written as pieces come from a worker, so that the live view and `logs` read it as ever."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

from stackbuild.model.events import Emit, Note, StepStarted

COMPLETE_SECONDS = 2.0
"""How long the last pieces are waited for once the outcome is there."""


class LogCopy:
    """Hears the messages of one task. `started` is the event when the step begins to run, without its machine."""

    def __init__(self, path: Path, emit: Emit, start_event: StepStarted) -> None:
        self.path = path
        self.has_begun = False
        self._emit = emit
        self._start_event = start_event
        self._machine = ""
        self._size = 0
        self._growth = threading.Condition()

    def __call__(self, message: dict[str, Any]) -> None:
        """A piece of the log, or an event. Another machine's first message begins the log anew: the step runs again."""
        machine = str(message["machine"])
        if "log" in message:
            self._write(machine, int(message["at"]), bytes(message["log"]))
            return
        event = message["event"]
        if event["event"] == "StepStarted":
            self._begin(machine)
        elif event["event"] == "Note":
            self._emit(Note("warning" if event["level"] == "warning" else "info", f"{machine}: {event['text']}"))

    def complete(self, size: int) -> None:
        """Wait until so many bytes have come; where some were sent before this client listened, the log says so."""
        with self._growth:
            self._growth.wait_for(lambda: self._size >= size, COMPLETE_SECONDS)
            if self._size < size:
                with self.path.open("ab") as file:
                    file.write(f"\n[{size - self._size} more bytes of this log did not come]\n".encode())

    def _begin(self, machine: str) -> None:
        if self._machine:
            self._emit(Note("warning", f"{self._start_event.step}: runs again, on {machine}; {self._machine} was lost"))
        self._machine, self.has_begun = machine, True
        with self._growth:
            self.path.write_bytes(b"")
            self._size = 0
        self._emit(replace(self._start_event, machine=machine))

    def _write(self, machine: str, at: int, piece: bytes) -> None:
        if not self._machine:  # begun for another client, before this one listened
            self._begin(machine)
        with self._growth:
            mode = "r+b" if self.path.exists() else "w+b"
            with self.path.open(mode) as file:
                if at > self._size:
                    file.seek(0, 2)
                    file.write(f"[{at - self._size} bytes of this log went to another client]\n".encode())
                file.seek(0, 2)
                file.write(piece)
            self._size = max(self._size, at + len(piece))
            self._growth.notify_all()
