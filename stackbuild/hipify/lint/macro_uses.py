"""Uses of a macro whose body has a finding: the compiler's error stands where the macro is expanded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stackbuild.hipify.cpp import macros
from stackbuild.hipify.cpp.scan import line_start
from stackbuild.hipify.cpp.source_text import View
from stackbuild.model.findings import Finding, Severity, SourceLocation

# Rules of what does not compile. A finding about what computes something else is not repeated.
COMPILE_ERRORS = frozenset(
    (
        "HIPIFY-UNSUPPORTED", "HIPIFY-UNSUPPORTED-DEVICE", "HIPIFY-UNSUPPORTED-TYPE", "HIPIFY-GONE-FROM-ROCM", "HIPIFY-NEEDS-ROCM", "HIPIFY-NOT-IN-TARGET", "HIPIFY-ARGUMENTS", "HIPIFY-UNKNOWN", "LINT-DEVICE-NAME", "LINT-DEFAULTS",
        "LINT-TEXTURE-FETCH", "LINT-SURFACE-REFERENCE", "LINT-CUDA-STD", "LINT-WMMA", "LINT-ASYNC-COPY", "LINT-PTX", "LINT-GROUPS", "LINT-MEMBER", "HIPIFY-NO-TABLE",
        "HIPIFY-PASTED-NAME", "HIPIFY-UNKNOWN-DEVICE", "LINT-FP8-OCP", "LINT-CUB-NAME", "LINT-THRUST-NAME", "LINT-CUB-MACRO",
    )
)  # fmt: skip


def error_lines(findings: Sequence[Finding]) -> dict[int, Finding]:
    """The first finding of each line that says that it does not compile, by lines in order.

    Of names that were put together those count that are CUDA's still.
    """
    lines: dict[int, Finding] = {}
    for f in findings:
        if f.rule in COMPILE_ERRORS and f.place and (f.rule != "HIPIFY-PASTED-NAME" or f.severity is not Severity.NOTE):
            other = lines.setdefault(f.place.line, f)
            if other is not f and other.place and _order(f, f.place) < _order(other, other.place):
                lines[f.place.line] = f
    return dict(sorted(lines.items()))


def _order(finding: Finding, place: SourceLocation) -> tuple[int, str, str]:
    return place.column, finding.rule, finding.found


def notes(view: View, findings: Sequence[Finding]) -> Iterator[Finding]:
    """A note at each use of a macro for the first finding in its body that says that it does not compile."""
    lines = error_lines(findings)
    if not lines or "define" not in view.words:
        return
    for macro in macros.read(view.code):
        first, last = view.lines.at(macro.at)[0], view.lines.at(macro.end)[0]
        finding = next((lines[line] for line in range(first, last + 1) if line in lines), None)
        for at in view.places(macro.name) if finding else ():
            start = line_start(view.code, at)
            if finding and not view.code[start:at].lstrip().startswith("#") and not macro.at <= at < macro.end:
                yield view.finding(
                    at,
                    finding.rule,
                    Severity.NOTE,
                    f"{macro.name} has in its body: {finding.found}",
                    finding.why,
                    finding.fix,
                )
