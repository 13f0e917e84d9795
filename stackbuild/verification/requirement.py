"""Rungs that must have run: `verify --require`. A skipped rung proves nothing, so where it is required it is a failure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stackbuild.core.errors import UsageError
from stackbuild.core.packaging import canonicalize_name, distribution_of
from stackbuild.core.shell_words import shell_word
from stackbuild.model.findings import GPU_RUNG, STATIC_RUNG, Rung, Status, Verification
from stackbuild.tables.near_words import nearest

RUNGS = {
    "static": STATIC_RUNG,
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
    if unknown_rungs := [word for word in words if word not in RUNGS]:
        near = nearest(unknown_rungs[0], [*RUNGS])
        whole = ",".join(near if word == unknown_rungs[0] else word for word in words)
        next = f"did you mean `--require {shell_word(whole)}`?" if near else f"rungs are {', '.join(RUNGS)}"
        raise UsageError(f"no rung is called {unknown_rungs[0]!r}", where="--require", next=next)
    return words


@dataclass(frozen=True)
class RequiredRungs:
    """Rungs that must have passed: words of `RUNGS`, of every wheel, or of those of one `distribution`."""

    words: tuple[str, ...]
    distribution: str = ""


def required_rungs_of(texts: Sequence[str]) -> tuple[RequiredRungs, ...]:
    """The values of `--require`: `operators,gpu`, or `DISTRIBUTION:operators,gpu`. Raises UsageError."""
    parts = (text.rpartition(":") for text in texts)
    requirements = (
        RequiredRungs(required_rungs(words), str(canonicalize_name(name.strip()))) for name, _, words in parts
    )
    return tuple(one for one in requirements if one.words)


def unmet_by(verifications: Sequence[Verification], requirements: Sequence[RequiredRungs]) -> tuple[str, ...]:
    """Why each required rung does not count as passed, in a line; none where all passed.

    A rung passed where it did on one of the machines that verified the same bytes. Of several subjects a line begins with
    the subject. A distribution without a wheel among them is a line, too.
    """
    by_subject: dict[tuple[str, str], list[Verification]] = {}
    for each in verifications:
        by_subject.setdefault((each.subject, each.sha256), []).append(each)
    lines = []
    for one in requirements:
        groups = [group for group in by_subject.values() if one.distribution in ("", *_distributions(group[0]))]
        if not groups:
            lines.append(f"{one.distribution}: {', '.join(one.words)} required, and no wheel of it was verified")
        for group in groups:
            subject = f"{group[0].subject}: " if len(by_subject) > 1 else ""
            for word in one.words:
                by_machine = [unmet_rungs(verification.rungs, (word,)) for verification in group]
                lines += [f"{subject}{line}" for line in by_machine[-1] if all(by_machine)]
    return tuple(dict.fromkeys(lines))


def _distributions(verification: Verification) -> list[str]:
    return [distribution_of(file)[0] for file in verification.subject.split(" + ")]


def unmet_rungs(rungs: Sequence[Rung], words: Sequence[str]) -> tuple[str, ...]:
    """Why each required rung does not count as passed, in a line; none where all passed."""
    lines = []
    for word in words:
        matching_rungs = [
            rung for rung in rungs if rung.name.startswith(RUNGS[word]) and (word != "load" or rung.name == "load")
        ]
        if not matching_rungs:
            lines.append(f"{RUNGS[word]} is required, and was not asked for")
        lines += [
            f"{rung.name} is required, and {'failed' if rung.status is Status.FAILED else 'was not run here'}: {rung.reason}"
            for rung in matching_rungs
            if rung.status is not Status.PASSED
        ]
    return tuple(lines)
