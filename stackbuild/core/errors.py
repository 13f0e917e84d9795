"""Every way stackbuild stops, and the exit code of each.

    Stop
     ├─ Defect                1   a mistake in stackbuild itself
     ├─ UsageError            2   the command line or its input is wrong
     │   └─ RecipeError       2   the recipe is wrong: one Mistake per place
     ├─ PlanError             3   the recipe is right but cannot be planned
     │   └─ LockError         3   the lock is missing, stale or refused
     ├─ StepFailed            4   a build step failed
     ├─ VerificationFailed    5   an error finding, or a rung that failed
     ├─ GateClosed            6   a release gate failed
     ├─ MachineLacks          7   the machine lacks something: engine, disk, tool
     └─ Stopped         130/143   a signal ended the run

Each says what happened, where, and what to do next. Its `topic` is a section of docs/troubleshooting.md, which
`stackbuild help TOPIC` prints. Nothing in stackbuild catches a Stop but the command line
(and a verb that reports several of them together).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from signal import Signals

MAX_LINES = 20
"""So many mistakes of one recipe are shown; a bomb has thousands."""


def safe(text: str, keep: str = "\n\t") -> str:
    """A text that a terminal can be shown: control characters and lone surrogates as escapes, but for those in `keep`.

    No command of it reaches the program that keeps a CI job's log.
    """
    return inert("".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text))


def inert(text: str) -> str:
    """The text with an escape in each command to the program that keeps a CI job's log (`COMMAND`)."""
    return COMMAND.sub(_escape_last, text) if "##" in text or "::" in text else text


COMMAND = re.compile(
    r"##(?=(?:vso|teamcity)?\[)|^[^\S\n]*:(?=:(?:add-mask|add-matcher|remove-matcher|add-path|set-env|set-output|save-state"
    r"|stop-commands|echo|group|endgroup|debug|notice|warning|error|internal-set-repo-path)(?: |::))",
    re.MULTILINE | re.IGNORECASE,
)
"""How a line of a job's log begins to command: `##vso[task.setvariable …]` of Azure Pipelines and `##teamcity[…]` of
TeamCity anywhere in it, `::add-mask::` of GitHub at its beginning and `##[…]` anywhere."""


def _escape_last(match: re.Match[str]) -> str:
    return f"{match[0][:-1]}\\x{ord(match[0][-1]):02x}"


def bar_lines(text: str) -> str:
    """A text that a terminal can be shown, every line after the first behind a bar: none passes for a line of our own."""
    return safe(text).replace("\n", "\n  │ ")


class Stop(Exception):
    """The base of all the ways to stop: `what` happened, `where`, and the `next` step for the reader."""

    exit_code = 1
    topic = "defect"

    def __init__(self, what: str, *, where: str = "", next: str = "", topic: str = "") -> None:
        super().__init__(what)
        self.topic = topic or self.topic
        self.what = what
        self.where = where
        self.next = next

    def __str__(self) -> str:
        where = f"{safe(self.where, '')}: " if self.where else ""
        next = f"\n  next: {bar_lines(self.next)}" if self.next else ""
        return f"{where}{bar_lines(self.what)}{next}"


class Defect(Stop):
    """Something that should be impossible; worth a bug report."""


class UsageError(Stop):
    exit_code = 2
    topic = "usage"


WIDTH = 100
"""So many characters of a source line are shown around the place of a mistake."""


@dataclass(frozen=True)
class Mistake:
    """One mistake in a text a person wrote: place as `file:line:column`, what is wrong, and how to fix it.

    `line` is the text of that line; it is shown with a caret below the column.
    """

    place: str
    what: str
    next: str
    line: str = ""

    def __str__(self) -> str:
        next = f"\n  next: {safe(self.next, '')}" if self.next else ""
        return f"{safe(self.place, '')}: {safe(self.what, '')}{self._source_line()}{next}"

    def _source_line(self) -> str:
        """The source line, cut around the column, and the caret; nothing where the line is blank or not known."""
        column = self.place.rpartition(":")[2]
        if not self.line.strip() or not column.isdigit():
            return ""
        start = max(0, min(int(column) - 1, len(self.line)) - WIDTH // 2)
        text = "".join(c if c.isprintable() else " " for c in self.line[start : start + WIDTH])
        at = min(int(column) - 1 - start, len(text))
        cut = len(text) - len(text.lstrip())
        return f"\n    {inert(text.strip())}\n    {' ' * max(0, at - cut)}^"


def without_password(text: str) -> str:
    """The text with `***` in place of each login of an http address: a job's log is read by others."""
    return _LOGIN.sub("***", text)


_LOGIN = re.compile(r"(?<=http://)[^\s/?#@]+(?=@)|(?<=https://)[^\s/?#@]+(?=@)")
"""The user, password or token before the `@` of an http address."""


def with_lines(mistakes: Iterable[Mistake], text: str) -> tuple[Mistake, ...]:
    """The mistakes of one text, each with its source line."""
    lines = text.split("\n")
    safe_lines: dict[int, str] = {}  # a line of a megabyte may have a hundred mistakes

    def one(mistake: Mistake) -> Mistake:
        number = mistake.place.rsplit(":", 2)[1:2]
        at = int(number[0]) if number and number[0].isdigit() else 0
        if at not in safe_lines:
            safe_lines[at] = without_password(lines[at - 1].rstrip("\r") if 0 < at <= len(lines) else "")
        return replace(mistake, what=without_password(mistake.what), line=safe_lines[at])

    return tuple(map(one, mistakes))


class RecipeError(UsageError):
    """All the mistakes of one recipe together, in the order of the file."""

    topic = "wrong-recipe"

    def __init__(self, mistakes: tuple[Mistake, ...]) -> None:
        super().__init__(f"{len(mistakes)} mistake{'s' * (len(mistakes) != 1)} in the recipe")
        self.mistakes = mistakes

    def __str__(self) -> str:
        more = len(self.mistakes) - MAX_LINES
        return "\n".join([*map(str, self.mistakes[:MAX_LINES]), *([f"… and {more} more mistakes"] if more > 0 else [])])


class PlanError(Stop):
    exit_code = 3
    topic = "plan"


class LockError(PlanError):
    topic = "lock"


class StepFailed(Stop):
    exit_code = 4
    topic = "step"


class VerificationFailed(Stop):
    exit_code = 5
    topic = "verification"


class GateClosed(Stop):
    exit_code = 6
    topic = "gate"


class MachineLacks(Stop):
    exit_code = 7
    topic = "machine"


class Interruption(Stop):
    """A signal ended the run: exit code 128 + its number."""

    topic = "stopped"

    def __init__(self, signal_number: int, *, next: str = "") -> None:
        super().__init__(f"stopped by {Signals(signal_number).name}", next=next)
        self.exit_code = 128 + signal_number


class OutputWriteError(OSError):
    """Standard output took no more; the system's error does not say which file it was."""
