"""The numbers of signed indexes that were seen on this machine: a lower one, seen again, is a rollback.

`verify-release` asks it, and so does a change that is signed: an older state that somebody put in the index's place is
not built on.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from stackbuild.core import digest
from stackbuild.core.errors import UsageError
from stackbuild.core.plain_file import read_named_file
from stackbuild.core.user_folders import user_folder
from stackbuild.store import atomic, locks

MOST_NUMBERS = 64 << 20
"""Bytes of the file that are read."""


def below(number: int, at_least: int) -> str:
    """What speaks against a state of that number where a lower one than `at_least` is refused; "" where nothing does."""
    if number >= at_least:
        return ""
    return f"the index has number {number}, and {at_least} is the lowest that is accepted: it was rolled back"


@dataclass(frozen=True)
class IndexNumbers:
    """A file with the last number of each index, by a name of the index, and the sha256 of the snapshot under it.

    `next` is what the reader of a command does where the file cannot be written.
    """

    file: Path
    next: str = "set $XDG_STATE_HOME to a folder that can be written"

    def problem(self, name: str, number: int, sha256: str) -> str:
        """What speaks against that state of the index; "" where nothing does. Raises UsageError for a damaged file."""
        match self._read().get(name):
            case [int(last), str()] if number < last:
                return f"the index has number {number}, and number {last} was seen here before: it was rolled back"
            case [int(last), str(other)] if number == last and sha256 != other:
                return f"the index has two states under number {number}: this one is not the one that was seen before"
        return ""

    def place_problem(self, places: Iterable[str], index: str, number: int) -> str:
        """What speaks against that index, by its own name, at places where one was seen; "" where nothing does.

        Raises UsageError for a damaged file.
        """
        numbers = self._read()
        for place in places:
            match numbers.get(_seen_at(place)):
                case [int(last), str(other)] if other != index:
                    return (
                        f"another index was seen here before, with number {last}: this one, with number {number}, was put in"
                        " its place"
                    )
        return ""

    def remember_places(self, places: Iterable[str], index: str, number: int) -> None:
        """Note which index lies at these places, in the place of any other. Raises UsageError."""
        names = [_seen_at(place) for place in places]
        self._write({name: [number, index] for name in names}, names)

    def last(self, name: str) -> int:
        """The highest number that was seen of the index, 0 for none. Raises UsageError for a damaged file."""
        match self._read().get(name):
            case [int(number), str()]:
                return number
        return 0

    def remember(self, names: Iterable[str], number: int, sha256: str) -> None:
        """Note a state under each name. A number never sinks, also where two processes write. Raises UsageError."""
        self._write({name: [number, sha256] for name in names}, ())

    def refuse_unwritable(self) -> None:
        """Raises UsageError where no number can be noted: to be asked before an index is changed."""
        self._write({}, ())

    def forget(self, *names: str) -> None:
        """Raises UsageError."""
        if not self._read().keys().isdisjoint(names):
            self._write({}, names)

    def forget_places(self, places: Iterable[str]) -> None:
        """Raises UsageError."""
        self.forget(*map(_seen_at, places))

    def _write(self, states: dict[str, list[object]], names: Collection[str]) -> None:
        try:
            with locks.hold(self.file.with_name(f".{self.file.name}.lock"), lambda pid: None, lambda: None):
                numbers = self._read()
                changed_states = {n: s for n, s in states.items() if n in names or not _is_higher(numbers.get(n), s)}
                others = {name: state for name, state in numbers.items() if name not in names}
                atomic.write_whole(self.file, json.dumps({**others, **changed_states}, indent=1), self.file.parent)
        except OSError as error:
            raise UsageError(
                f"the number of the index cannot be noted: {error.strerror}",
                where=str(self.file),
                next=self.next,
            ) from None

    def _read(self) -> dict[str, list[object]]:
        try:
            value = digest.json_of(read_named_file(self.file, MOST_NUMBERS).decode("utf-8"))
            if not isinstance(value, dict):
                raise ValueError("it is not a table of numbers")
            return value
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (ValueError, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise UsageError(
                f"the numbers of indexes seen before cannot be read: {reason}",
                where=str(self.file),
                next="remove the file if you know why it is damaged; a rollback is not seen then",
            ) from None


def default_numbers_file() -> Path:
    """Where the numbers of this user's machine are."""
    return user_folder("XDG_STATE_HOME") / "stackbuild" / "indexes.json"


def _seen_at(place: str) -> str:
    return f"index at {place}"


def _is_higher(state: object, other: list[object]) -> bool:
    """Whether the number of a noted state is above that of another."""
    match state, other:
        case [int(number), str()], [int(fresh), str()]:
            return number > fresh
    return False
