"""Rungs that must have run: `verify --require`. A skipped rung proves nothing, so where it is required it is a failure."""

from __future__ import annotations

from collections.abc import Sequence

from stackbuild.core.errors import UsageError
from stackbuild.model.findings import GPU_RUNG, Rung, Status

RUNGS = {
    "static": "static rules",
    "import": "install and import",
    "load": "load",
    "rocm": "load with ROCm",
    "operators": "operators",
    "share": "share of nodes",
    "numerics": "numerics",
    "emulated": "device code, emulated",
    "gpu": GPU_RUNG,
}
"""The word for `--require` to the rung's name, or the beginning of it."""


def required_rungs(text: str) -> tuple[str, ...]:
    """The words of a list such as `operators,numerics,gpu`. Raises UsageError."""
    words = tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    if unknown := [word for word in words if word not in RUNGS]:
        raise UsageError(f"no rung is called {unknown[0]!r}", where="--require", next=f"rungs are {', '.join(RUNGS)}")
    return words


def unmet(rungs: Sequence[Rung], required: Sequence[str]) -> tuple[str, ...]:
    """Why each required rung does not count as passed, in a line; none where all passed."""
    lines = []
    for word in required:
        distributions = [
            rung for rung in rungs if rung.name.startswith(RUNGS[word]) and (word != "load" or rung.name == "load")
        ]
        if not distributions:
            lines.append(f"{RUNGS[word]} is required, and was not asked for")
        lines += [
            f"{rung.name} is required, and {'failed' if rung.status is Status.FAILED else 'was not run here'}: {rung.reason}"
            for rung in distributions
            if rung.status is not Status.PASSED
        ]
    return tuple(lines)
