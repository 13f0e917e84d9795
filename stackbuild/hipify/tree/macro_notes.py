"""Uses of macros of a tree's headers whose bodies have a finding: the compiler's error stands where the macro is used."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from stackbuild.hipify.convert import in_order
from stackbuild.hipify.cpp import macros
from stackbuild.hipify.cpp.newlines import Newlines
from stackbuild.hipify.cpp.scan import line_start
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.lint import EACH_USE
from stackbuild.hipify.lint.macro_uses import error_lines
from stackbuild.hipify.model import FileReport
from stackbuild.hipify.tree.files import ConversionJob
from stackbuild.model.findings import Finding, Severity

_WORD = re.compile(r"[A-Za-z_]\w*")
_DEPTH = 8
"""So many macros may stand one in the other."""


def with_uses(jobs: Sequence[ConversionJob], reports: Sequence[FileReport]) -> tuple[FileReport, ...]:
    """The reports, with a note at each use of a header's macro that does not compile, in files that do not define it.

    `jobs` are those of the reports. What cannot be read has no uses.
    """
    pairs = list(zip(jobs, reports, strict=True))
    views: dict[str, View] = {}
    faults: dict[str, Finding] = {}
    for job, report in pairs:
        if not job.is_rest and View("", job.name).is_header and (lines := error_lines(report.findings)):
            faults |= _faulty_macros(_view(job, views), lines)
    if not faults:
        return tuple(reports)
    for _ in range(_DEPTH):
        outer = [_outer_macros(_view(job, views), faults) for job, _ in pairs if _names_any(job, views, faults)]
        new = {name: finding for macros_of_file in outer for name, finding in macros_of_file.items() if name not in faults}
        faults |= new
        if not new:
            break
    return tuple(
        _with_notes(job, report, _view(job, views), faults) if _names_any(job, views, faults) else report
        for job, report in pairs
    )


def _view(job: ConversionJob, views: dict[str, View]) -> View:
    """The text of a file; none where it cannot be read."""
    if job.name not in views:
        try:
            data = b"" if job.is_rest else job.source.read_bytes()
        except OSError:
            data = b""
        views[job.name] = View(Newlines(data.decode("utf-8", "surrogateescape")).text, job.name)
    return views[job.name]


def _names_any(job: ConversionJob, views: dict[str, View], faults: Mapping[str, Finding]) -> bool:
    return not _view(job, views).words.isdisjoint(faults)


def _faulty_macros(view: View, lines: Mapping[int, Finding]) -> dict[str, Finding]:
    """The macros of a header in whose bodies a line does not compile, each with the first such finding."""
    faults: dict[str, Finding] = {}
    for macro in view.macros if lines else ():
        first, last = view.lines.at(macro.at)[0], view.lines.at(macro.end)[0]
        finding = next((lines[line] for line in range(first, last + 1) if line in lines), None)
        if finding and (finding.severity is not Severity.NOTE or _is_later_use(finding)):
            faults.setdefault(macro.name, finding)
    return faults


def _is_later_use(finding: Finding) -> bool:
    """Whether a note is one because the name has a finding before it in the file, and not for what stands around it."""
    return finding.rule in EACH_USE and not finding.fix.startswith("nothing")


def _outer_macros(view: View, faults: Mapping[str, Finding]) -> dict[str, Finding]:
    """The macros of a header whose bodies use faulty ones."""
    if not view.is_header:
        return {}
    uses = {macro.name: _first(macro, faults) for macro in view.macros}
    return {name: finding for name, finding in uses.items() if finding is not None}


def _first(macro: macros.Macro, faults: Mapping[str, Finding]) -> Finding | None:
    return next((faults[word] for word in _WORD.findall(macro.body) if word in faults), None)


def _with_notes(job: ConversionJob, report: FileReport, view: View, faults: Mapping[str, Finding]) -> FileReport:
    own = {macro.name for macro in view.macros}
    notes: list[Finding] = []
    for name in sorted(view.words & faults.keys() - own):
        finding = faults[name]
        for at in view.places(name):
            if not view.code[line_start(view.code, at) : at].lstrip().startswith("#"):
                message = f"{name} has in its body: {finding.found}"
                notes.append(view.finding(at, finding.rule, Severity.NOTE, message, finding.why, finding.fix))
    return replace(report, findings=in_order([*report.findings, *notes])) if notes else report
