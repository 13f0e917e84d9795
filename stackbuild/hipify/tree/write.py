"""Writes the outputs of a run: only those that differ, and never over a file that this tool did not make."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stackbuild.core.errors import UsageError
from stackbuild.hipify.tree import state
from stackbuild.hipify.tree.outputs import ExistingEntry, OutputFolder
from stackbuild.hipify.tree.state import STATE, OutputRecord, State
from stackbuild.model.findings import Finding, Severity

_MAX_LINES = 5


@dataclass(frozen=True)
class Output:
    """A file to be: its bytes, or the file that has them, and their sha256; never older than `mtime_ns`.

    `origin` is the real path of its source relative to the output folder, "" for a support header.
    """

    path: str
    data: bytes | Path
    digest: str
    mtime_ns: int = 0
    origin: str = ""


@dataclass(frozen=True)
class WriteResult:
    """The result of writing: size and time of each output, the number written, and findings."""

    stamps: Mapping[str, tuple[int, int]]
    changed_outputs: int
    findings: tuple[Finding, ...]


def support_outputs(texts: Mapping[str, str]) -> list[Output]:
    """Support headers as outputs."""
    outputs = ((name, text.encode("utf-8", "surrogateescape")) for name, text in sorted(texts.items()))
    return [Output(name, data, hashlib.sha256(data).hexdigest()) for name, data in outputs]


def write_outputs(folder: OutputFolder, current: State, outputs: Sequence[Output], force: bool) -> WriteResult:
    """Write the outputs that differ from what lies there. Nothing is written where one may not be.

    An output that somebody edited is kept under another name, with a finding. Raises UsageError.
    """
    for path in current.pending:
        folder.clear(path)
    _refuse_two_texts(folder, outputs)
    verdicts = [
        (output, there := folder.look(output.path), _verdict(folder, current, output, there)) for output in outputs
    ]
    refusals = [(o, verdict) for o, _, verdict in verdicts if verdict not in ("stands", "write", "edited")]
    if refusals and not force:
        raise _refusal(folder, refusals)
    _journal(folder, current, [o for o, _, verdict in verdicts if verdict != "stands"])
    stamps: dict[str, tuple[int, int]] = {}
    findings = []
    for output, there, verdict in verdicts:
        if verdict == "stands":
            old = there.stamp[1] < output.mtime_ns
            stamps[output.path] = folder.touch(output.path, output.mtime_ns) if old else there.stamp
            continue
        if verdict == "edited" and not force:
            findings.append(_set_aside(folder, output.path))
        stamps[output.path] = folder.write(output.path, output.data, output.mtime_ns)
    return WriteResult(stamps, sum(verdict != "stands" for *_, verdict in verdicts), tuple(findings))


def _refuse_two_texts(folder: OutputFolder, outputs: Iterable[Output]) -> None:
    digests: dict[str, str] = {}
    for output in outputs:
        if digests.setdefault(output.path, output.digest) != output.digest:
            raise UsageError(
                f"the source has a {output.path} of its own, and a support header has that name",
                where=str(folder.path / output.path),
                next="leave it out with --exclude",
            )


def _verdict(folder: OutputFolder, current: State, output: Output, entry: ExistingEntry) -> str:
    """`stands`, `write`, `edited` (ours, and somebody wrote to it), or why it may not be written."""
    if entry.kind == "":
        return "write"
    if entry.kind != "file":
        return f"it is a {entry.kind}" if entry.kind != "other" else "it is not a file"
    if entry.digest == output.digest:
        return "stands"
    digests = current.digests(output.path)
    owner = current.files.get(output.path)
    if owner and entry.digest == owner.output_digest and owner.origin != output.origin:
        other = folder.path / owner.origin
        return f"it was made of {other}" if other.exists() else "write"
    if entry.digest in digests or entry.stamp[0] == 0:
        return "write"
    return "edited" if digests else "stackbuild did not make it"


def _refusal(folder: OutputFolder, refusals: Sequence[tuple[Output, str]]) -> UsageError:
    lines = "; ".join(f"{folder.path / o.path}: {why}" for o, why in refusals[:_MAX_LINES])
    more = f" (and {len(refusals) - _MAX_LINES} more)" if len(refusals) > _MAX_LINES else ""
    return UsageError(
        f"would be overwritten: {lines}{more}",
        where=str(folder.path),
        next="give another OUT, or --force to overwrite",
    )


def _journal(folder: OutputFolder, current: State, outputs: Iterable[Output]) -> None:
    """Say what is about to be written, so that a run after a killed one knows it."""
    pending = {output.path: (*current.pending.get(output.path, ()), output.digest) for output in outputs}
    if pending:
        folder.write(STATE, state.dump(replace(current, pending={**current.pending, **pending})))


def _set_aside(folder: OutputFolder, path: str) -> Finding:
    free = (aside for n in itertools.count() if not folder.look(aside := f"{path}.edited{f'.{n}' if n else ''}").kind)
    name = next(free).rpartition("/")[2]
    folder.rename(path, name)
    why = "outputs are made again from their source, so a change in one does not last"
    fix = "change the source, or bring the change in as a rule or a patch"
    message = f"the output had been changed; the changed one is now {name}"
    return Finding("HIPIFY-OUTPUT-EDITED", Severity.WARNING, path, message, why, fix)


def remove(folder: OutputFolder, current: State, paths: Iterable[str]) -> tuple[str, ...]:
    """Remove outputs, but those that somebody changed or a link leads to; the names of those removed."""
    removals = []
    for path in paths:
        try:
            if folder.look(path).digest != current.files[path].output_digest:
                continue
            folder.remove(path)
        except UsageError:  # no longer in a folder of ours
            continue
        removals.append(current.files[path].name)
    return tuple(sorted(removals))


def stale_outputs(current: State, records: Collection[str], is_mine: Callable[[OutputRecord], bool]) -> list[str]:
    """The outputs of earlier runs that are `is_mine` and not among the current ones."""
    return [path for path, record in current.files.items() if path not in records and is_mine(record)]


def save_state(folder: OutputFolder, after: State) -> None:
    """Leave the state for the next run, where it is another."""
    data = state.dump(after)
    if folder.look(STATE).digest != hashlib.sha256(data).hexdigest():
        folder.write(STATE, data)
