"""The lines of a log that matter, and what kind of failure they tell of. Pure."""

from __future__ import annotations

import re

from stackbuild.core.errors import inert

ERROR = re.compile(
    r"(\berror\b[:\s]|^FAILED: |\bCMake Error\b|undefined reference|\bfatal:|^Traceback|^E: |No such file or directory"
    r"|cannot find -l|\*\*\* \[)",
    re.IGNORECASE | re.MULTILINE,
)
OUT_OF_MEMORY = re.compile(
    r"Killed signal terminated program|virtual memory exhausted|std::bad_alloc|Cannot allocate memory|LLVM ERROR: out of memory"
)
DISK_FULL = re.compile(r"No space left on device|Disk quota exceeded")
_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
    r"|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)
"""Escape sequences, control characters, and what turns the direction of a line or breaks it (Unicode bidi controls)."""
MOST = 12
WIDEST = 400


def clean(line: str) -> str:
    """A log line that a terminal can be shown: no control sequences, no bidi controls, at most 400 characters.

    What would command the program that keeps a CI job's log has an escape in it.
    """
    text = inert(_CONTROL.sub("", line)[: 2 * WIDEST])
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


def excerpt(log: str) -> tuple[str, ...]:
    """The first error of a log with two lines after it, then its last lines; at most 12 lines."""
    lines = [clean(line) for line in log.splitlines() if line.strip()]
    first = next((i for i, line in enumerate(lines) if ERROR.search(line)), None)
    tail_from = max(0, len(lines) - (MOST if first is None else MOST // 2))
    if first is None or first >= tail_from:
        return tuple(lines[tail_from:])
    head = lines[first : min(first + 5, tail_from)]
    gap = ["…"] if first + 5 < tail_from else []
    return (*head, *gap, *lines[tail_from:])
