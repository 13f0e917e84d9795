"""Verifications as JUnit XML, which every CI system reads. Pure text.

One suite a verification; one case a rung, and one a rule that found something (a failure where it is an error).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from xml.etree import ElementTree

from stackbuild.model.findings import Finding, Rung, Severity, Status, Verification

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TEXT = 20_000


def junit(verifications: Sequence[Verification]) -> str:
    """One well-formed document; characters that XML forbids become U+FFFD."""
    root = ElementTree.Element("testsuites", name="stackbuild")
    for verification in verifications:
        _suite(root, verification)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _suite(root: ElementTree.Element, verification: Verification) -> None:
    suite = ElementTree.SubElement(root, "testsuite", name=_clean(verification.subject))
    for rung in verification.rungs:
        _rung(suite, rung)
        _rules(suite, rung)
    cases = list(suite)
    suite.set("tests", str(len(cases)))
    suite.set("failures", str(sum(case.find("failure") is not None for case in cases)))
    suite.set("skipped", str(sum(case.find("skipped") is not None for case in cases)))
    suite.set("time", f"{sum(rung.seconds for rung in verification.rungs):.3f}")


def _rung(suite: ElementTree.Element, rung: Rung) -> None:
    case = ElementTree.SubElement(
        suite, "testcase", classname="stackbuild.rung", name=_clean(rung.name), time=f"{rung.seconds:.3f}"
    )
    if rung.status is Status.FAILED:
        ElementTree.SubElement(case, "failure", message=_clean(rung.reason)).text = _clean(_listed(rung.findings))
    elif rung.status is Status.SKIPPED:
        ElementTree.SubElement(case, "skipped", message=_clean(rung.reason))


def _rules(suite: ElementTree.Element, rung: Rung) -> None:
    by_rule: dict[str, list[Finding]] = defaultdict(list)
    for finding in rung.findings:
        by_rule[finding.rule].append(finding)
    for rule, findings in by_rule.items():
        case = ElementTree.SubElement(
            suite, "testcase", classname=f"stackbuild.{_clean(rung.name)}", name=rule, time="0"
        )
        text = _clean(_listed(tuple(findings)))
        if findings[0].severity is Severity.ERROR:
            first = f"{findings[0].subject}: {findings[0].found}"
            ElementTree.SubElement(case, "failure", message=_clean(first)).text = text
        else:
            ElementTree.SubElement(case, "system-out").text = text


def _listed(findings: tuple[Finding, ...]) -> str:
    return "\n".join(f"{f.severity} {f.rule} {f.subject}: {f.found}\n  fix: {f.fix}" for f in findings)


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)[:_TEXT]
