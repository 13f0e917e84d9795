"""JUnit XML, which every CI system reads: verifications alone, or a whole run. Pure text.

A verification is a suite with one case a rung, and one a rule that found something (a failure where it is an error). A
run adds suites for its steps, for what was measured and for the gates. Characters that XML forbids (escape sequences of
terminals among them) become U+FFFD.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from stackbuild.model.findings import Finding, Rung, Severity, Status, Verification

if TYPE_CHECKING:
    from stackbuild.model.results import GateVerdict, Series
    from stackbuild.pipeline.run_record import RunRecord, TimeSpan

_FORBIDDEN_CHARACTER = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TEXT = 20_000


def junit_of_verifications(verifications: Sequence[Verification]) -> str:
    """One document with a suite for each verification."""
    return _document(map(_verification, verifications))


@dataclass(frozen=True)
class CaseResult:
    """A case as the document has it: `suite` is its wheel, `result` passed, failed or skipped, `says` why."""

    suite: str
    name: str
    result: str
    says: str


def case_results(verifications: Sequence[Verification]) -> tuple[CaseResult, ...]:
    """The cases of `junit_of_verifications`, for a place that shows no XML."""
    rows = []
    for suite in map(_verification, verifications):
        for case in suite:
            mark = next((part for part in case if part.tag in ("failure", "skipped")), None)
            result = "passed" if mark is None else "failed" if mark.tag == "failure" else "skipped"
            says = "" if mark is None else mark.get("message", "")
            rows.append(CaseResult(suite.get("name", ""), case.get("name", ""), result, says))
    return tuple(rows)


def junit_of_run(run: RunRecord) -> str:
    """One document with a suite for each verification, for the steps, for what was measured and for the gates."""
    suites = [_verification(verification) for verification in run.verifications]
    if run.steps:
        suites.append(_suite("steps", [_step(span) for span in run.steps]))
    if run.benchmarks:
        holes = {(case, side): why for case, side, why in run.holes}
        series = [(case.name, one) for case in run.benchmarks.cases for one in case.series]
        suites.append(
            _suite("benchmarks", [_series(case, one, holes.get((case, one.side), "")) for case, one in series])
        )
    if run.verdict:
        suites.append(_suite("gates", [_gate(gate) for gate in run.verdict.gates]))
    return _document(suites)


def _document(suites: Iterable[Element]) -> str:
    root = Element("testsuites", name="stackbuild")
    root.extend(suites)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _suite(name: str, cases: Sequence[Element]) -> Element:
    suite = Element("testsuite", name=_clean(name), tests=str(len(cases)))
    suite.set("failures", str(sum(case.find("failure") is not None for case in cases)))
    suite.set("skipped", str(sum(case.find("skipped") is not None for case in cases)))
    suite.extend(cases)
    return suite


def _case(kind: str, name: str, time: str) -> Element:
    return Element("testcase", classname=f"stackbuild.{_clean(kind)}", name=_clean(name), time=time)


def _verification(verification: Verification) -> Element:
    suite = _suite(verification.subject, [case for rung in verification.rungs for case in (_rung(rung), *_rules(rung))])
    suite.set("time", f"{sum(rung.seconds for rung in verification.rungs):.3f}")
    return suite


def _rung(rung: Rung) -> Element:
    case = _case("rung", rung.name, f"{rung.seconds:.3f}")
    if rung.status is Status.FAILED:
        SubElement(case, "failure", message=_clean(rung.reason)).text = _clean(_list_findings(rung.findings))
    elif rung.status is Status.SKIPPED:
        SubElement(case, "skipped", message=_clean(rung.reason))
    return case


def _rules(rung: Rung) -> Iterator[Element]:
    by_rule: dict[str, list[Finding]] = defaultdict(list)
    for finding in rung.findings:
        by_rule[finding.rule].append(finding)
    for rule, findings in by_rule.items():
        case = _case(rung.name, rule, "0")
        text = _clean(_list_findings(findings))
        if findings[0].severity is Severity.ERROR:
            first = f"{findings[0].subject}: {findings[0].found}"
            SubElement(case, "failure", message=_clean(first)).text = text
        else:
            SubElement(case, "system-out").text = text
        yield case


def _list_findings(findings: Sequence[Finding]) -> str:
    return "\n".join(f"{f.severity} {f.rule} {f.subject}: {f.found}\n  fix: {f.fix}" for f in findings)


def _step(span: TimeSpan) -> Element:
    case = _case("step", span.name, f"{span.seconds:.3f}")
    if span.how in ("failed", "unfinished"):
        SubElement(case, "failure", message=span.how).text = _clean(span.says)
    return case


def _series(case_name: str, series: Series, hole: str) -> Element:
    """A side of a case: a failure where it was not measured, for the reason in `hole`; its time is one inference's."""
    time = f"{median(series.seconds):.6f}" if series.seconds else "0"
    case = _case(f"bench.{series.side}", case_name, time)
    if hole:
        SubElement(case, "failure", message=_clean(hole))
    elif series.problem or not series.seconds:
        SubElement(case, "skipped", message=_clean(f"waived: {series.problem}"))
    return case


def _gate(gate: GateVerdict) -> Element:
    case = _case(f"gate.{gate.gate}", gate.case, "0")
    if gate.closed:
        SubElement(case, "failure", type=gate.outcome.value, message=_clean(gate.says))
    elif gate.waived:
        SubElement(case, "skipped", message=_clean(f"waived: {gate.waived}: {gate.says}"))
    else:
        SubElement(case, "system-out").text = _clean(gate.says)
    return case


def _clean(text: str) -> str:
    return _FORBIDDEN_CHARACTER.sub("\ufffd", text)[:_TEXT]
