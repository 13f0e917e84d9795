"""Statements about one wheel that several machines made, as one: where it was built, and each that has a GPU.

A wheel has one statement of each kind beside it. That of a verification has the rungs of all machines, that of
benchmarks each verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stackbuild.core import digest
from stackbuild.core.errors import UsageError
from stackbuild.core.folder_walk import walk_folders
from stackbuild.publishing.placement import read_attached, refuse_misstated
from stackbuild.publishing.predicates import claim_of, read_measurements, read_verification, refuse_contradictions
from stackbuild.publishing.statements import (
    NAMES,
    ResourceDescriptor,
    is_statement,
    read_statement,
    statement,
    statement_name,
)

MERGED_KINDS = ("verification", "benchmarks")
"""The kinds that several machines state."""


def with_proofs(
    wheels: Sequence[Path], attachments: Mapping[Path, tuple[Path, ...]], folders: Sequence[Path], into: Path
) -> dict[Path, tuple[Path, ...]]:
    """What travels with each wheel, joined with the statements about it below those folders; written into `into`.

    Raises UsageError for a folder without a statement about any of these wheels, and for a statement about another wheel
    or about other bytes. Also for one with a failed result, or with a claim that its rungs do not come to.
    """
    statement_files = _statements_in(wheels, folders)
    result = dict(attachments)
    for wheel in wheels:
        descriptor = ResourceDescriptor(wheel.name, digest.of_file(wheel))
        for kind in MERGED_KINDS:
            name = statement_name(wheel.name, kind)
            paths = (*(path for path in result.get(wheel, ()) if path.name == name), *statement_files.get(name, ()))
            if len(paths) < 2 and name not in statement_files:
                continue
            contents = [read_attached(path) for path in paths]
            for data in contents:
                refuse_misstated(descriptor, name, data)
            (into / name).write_bytes(merge_statements(descriptor, kind, contents))
            others = (path for path in result.get(wheel, ()) if path.name != name)
            result[wheel] = (*others, into / name)
    return result


def write_proof(folder: Path, wheel: ResourceDescriptor, kind: str, data: bytes) -> None:
    """Write a statement about a wheel into a folder, for `publish --proof`. Raises UsageError where that cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / statement_name(wheel.name, kind)).write_bytes(data)
    except OSError as error:
        raise UsageError(
            f"cannot write the statement: {error.strerror}", where=str(folder), next="name another folder"
        ) from None


def _statements_in(wheels: Sequence[Path], folders: Sequence[Path]) -> dict[str, list[Path]]:
    """The statements below the folders, by file name."""
    names = {statement_name(wheel.name, kind) for wheel in wheels for kind in MERGED_KINDS}
    statement_files: dict[str, list[Path]] = {}
    for folder in folders:
        paths = sorted(
            Path(here, name) for here, _, names in walk_folders(folder) for name in names if is_statement(name)
        )
        if not paths:
            raise UsageError(
                "no statement about a wheel lies there",
                where=str(folder),
                next="give the folder that `stackbuild verify --statements` or `gate --statements` wrote",
            )
        for path in paths:
            if path.name not in names:
                kinds = " and ".join(MERGED_KINDS)
                raise UsageError(
                    "this statement is about none of these wheels, or not of the kind that other machines make",
                    where=str(path),
                    next=f"give its wheel, too, or take it away; {kinds} are joined",
                )
            statement_files.setdefault(path.name, []).append(path)
    return statement_files


def merge_statements(wheel: ResourceDescriptor, kind: str, contents: Sequence[bytes]) -> bytes:
    """Statements of one kind about one wheel as one. One alone stays as it is; what is given twice counts once.

    Raises UsageError where one says what cannot be published, and where two contradict each other.
    """
    if len(set(contents)) == 1:
        return contents[0]
    predicates = [read_statement(data)["predicate"] for data in dict.fromkeys(contents)]
    try:
        merged_predicate = _join_verifications(predicates) if kind == "verification" else _join_benchmarks(predicates)
    except ValueError as error:
        raise UsageError(
            f"the statements cannot be joined: {error}",
            where=statement_name(wheel.name, kind),
            next="give one statement of each machine, and name each by `--machine` where it is made",
        ) from None
    return statement([wheel], NAMES[kind], merged_predicate)


def _join_verifications(predicates: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The rungs of all machines, the same ones once. Raises ValueError where two contradict each other."""
    rows = tuple(dict.fromkeys(row for predicate in predicates for row in read_verification(predicate).rows))
    refuse_contradictions(rows)
    rows = tuple(sorted(rows, key=lambda row: row.machine))
    return {"claim": claim_of(rows), "rungs": [row.model_dump(mode="json", exclude_defaults=True) for row in rows]}


def _join_benchmarks(predicates: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The measurements of all machines, the same ones once. Raises ValueError where two are of one machine."""
    rows: dict[str, list[Any]] = {}
    for predicate in predicates:
        read_measurements(predicate)
        for row in predicate.get("measurements", (predicate,)):
            same_machine = rows.setdefault(row.get("machine", ""), [])
            if row not in same_machine:
                same_machine.append(row)
    result = {"measurements": [row for machine in sorted(rows) for row in rows[machine]]}
    read_measurements(result)
    return result
