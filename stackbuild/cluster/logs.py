"""A step's log on the client: written as pieces come from a worker, so that the live view and `logs` read it as ever."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from stackbuild.model.events import Emit, Note, StepStarted
from stackbuild.runners.log import HEAD, TAIL

COMPLETE_SECONDS = 2.0
"""How long the last pieces are waited for once the outcome is there."""
MOST_BYTES = HEAD + TAIL + (1 << 20)
"""What a log of one command has at most, and a step has few that print so much. What is beyond is counted, not kept."""
MOST_NOTES = 1000
MOST_NOTE = 4000
MOST_NAME = 200
"""Characters of a machine's name that are shown."""
MOST_BEGINNINGS = 100
"""A task may be given to a few workers one after the other."""
MOST_OFFSET = 1 << 60


class LogCopy:
    """Hears the messages of one task. `started` is the event when the step begins to run, without its machine.

    They are from another machine, and are kept within bounds whatever it sends. What is not a message is passed over.
    """

    def __init__(self, path: Path, emit: Emit, start_event: StepStarted) -> None:
        self.path = path
        self.has_begun = False
        self._emit = emit
        self._start_event = start_event
        self._machine = ""
        self._size = 0
        self._file_size = 0
        self._left_out = 0
        self._notes = 0
        self._beginnings = 0
        self._growth = threading.Condition()

    def __call__(self, message: dict[str, Any]) -> None:
        """A piece of the log, or an event. Another machine's first message begins the log anew: the step runs again."""
        match message:
            case {"machine": str(machine), "at": int(at), "log": bytes(piece)} if 0 <= at <= MOST_OFFSET:
                self._write(machine[:MOST_NAME], at, piece)
            case {"machine": str(machine), "event": {"event": "StepStarted"}}:
                self._begin(machine[:MOST_NAME])
            case {"machine": str(machine), "event": {"event": "Note", "level": level, "text": str(text)}}:
                words = f"{machine[:MOST_NAME]}: {text[:MOST_NOTE]}"
                self._tell(Note("warning" if level == "warning" else "info", words))

    def _tell(self, note: Note) -> None:
        self._notes += 1
        if self._notes == MOST_NOTES:
            note = Note("warning", f"{self._start_event.step}: no more than {MOST_NOTES} notes of a step are shown")
        if self._notes <= MOST_NOTES:
            self._emit(note)

    def complete(self, size: int) -> None:
        """Wait until so many bytes have come; where some were sent before this client listened, the log says so."""
        with self._growth:
            self._growth.wait_for(lambda: self._size >= size, COMPLETE_SECONDS)
            for count, what in (
                (size - self._size, "more bytes of this log did not come"),
                (self._left_out, "bytes left out"),
            ):
                if count > 0:
                    with self.path.open("ab") as file:
                        file.write(f"\n[{count} {what}]\n".encode())

    def _begin(self, machine: str) -> None:
        self._beginnings += 1
        if self._beginnings > MOST_BEGINNINGS:
            return
        if self._machine:
            self._tell(Note("warning", f"{self._start_event.step}: runs again, on {machine}; {self._machine} was lost"))
        self._machine, self.has_begun = machine, True
        with self._growth:
            self.path.write_bytes(b"")
            self._size = self._left_out = self._file_size = 0
        self._emit(replace(self._start_event, machine=machine))

    def _write(self, machine: str, at: int, piece: bytes) -> None:
        if not self._machine:  # begun for another client, before this one listened
            self._begin(machine)
        with self._growth:
            mode = "r+b" if self.path.exists() else "w+b"
            with self.path.open(mode) as file:
                file.seek(0, 2)
                if at > self._size:
                    self._append(file, f"[{at - self._size} bytes of this log went to another client]\n".encode())
                self._left_out += self._append(file, piece)
            self._size = max(self._size, at + len(piece))
            self._growth.notify_all()

    def _append(self, file: IO[bytes], data: bytes) -> int:
        """Write what the log has room for; how many bytes were left out."""
        piece = data[: max(0, MOST_BYTES - self._file_size)]
        file.write(piece)
        self._file_size += len(piece)
        return len(data) - len(piece)
