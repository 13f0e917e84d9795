"""What one file's report says of names and headers that another file of the tree has: nothing, since they are the project's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from stackbuild.hipify.model import FileReport
from stackbuild.hipify.passes.own_names import CONDITIONAL, TABLE_NAME, TABLE_RULES
from stackbuild.model.findings import Finding, Severity

_HEADER = "header "


def without_own(files: Sequence[FileReport], names: Iterable[str], beside: Iterable[Path]) -> tuple[FileReport, ...]:
    """The reports without findings about what the tree itself declares; `names` are its files' paths.

    `beside` are the folders of files that were named by themselves: what lies there is their project's as well.
    """
    names = list(names)
    files = _with_twins(files, names)
    declared_names = {name for file in files for name in file.declares}
    headers = {name.removeprefix(_HEADER) for file in files for _, _, name in file.unless if name.startswith(_HEADER)}
    paths = [f"/{name}" for name in names] if headers else []
    declared_names |= {f"{_HEADER}{path}" for path in headers if any(one.endswith(f"/{path}") for one in paths)}
    declared_names |= {f"{_HEADER}{path}" for folder in set(beside) for path in headers if (folder / path).is_file()}
    return tuple(_without(file, declared_names) for file in files) if declared_names else tuple(files)


def _with_twins(files: Sequence[FileReport], names: Iterable[str]) -> tuple[FileReport, ...]:
    """The reports, with notes alone of a file for CUDA that has one for HIP beside it: `Lock_CUDA.hpp`, `Lock_HIP.hpp`."""
    every = frozenset(names)
    return tuple(
        replace(file, findings=tuple(replace(f, severity=Severity.NOTE, fix=_TWIN) for f in file.findings))
        if any(_twin(file.source, hip) in every - {file.source} for hip in ("HIP", "Hip", "hip"))
        else file
        for file in files
    )


def _twin(name: str, hip: str) -> str:
    folder, slash, last = name.rpartition("/")
    return folder + slash + _CUDA_WORD.sub(hip, last)


_CUDA_WORD = re.compile(r"(?<![A-Za-z])(?:CUDA|Cuda|cuda)(?![a-z])")
_TWIN = "nothing, where the build for HIP takes the file for HIP beside it"


def _without(file: FileReport, declared_names: set[str]) -> FileReport:
    own = {(line, column) for line, column, name in file.unless if name in declared_names}
    table_places = {(line, column) for line, column, name in file.unless if f"{TABLE_NAME}{name}" in declared_names}
    if not own and not table_places:
        return file
    findings: list[Finding] = []
    for finding in file.findings:
        at = (finding.place.line, finding.place.column) if finding.place else (0, 0)
        if finding.rule in CONDITIONAL and at in own:
            continue
        is_note = finding.rule in TABLE_RULES and at in table_places
        findings.append(replace(finding, severity=Severity.NOTE, fix=_ADVICE) if is_note else finding)
    return replace(file, findings=tuple(findings))


_ADVICE = "see what it is linked with: the tree declares it itself, so it compiles"
