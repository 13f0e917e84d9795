"""A whole run as JUnit XML: its steps, its verifications and its gates as test cases."""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import median
from xml.etree import ElementTree

from stackbuild.model.results import GateVerdict, Series
from stackbuild.pipeline.run_record import RunRecord, Span
from stackbuild.views.junit import junit

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_of(run: RunRecord) -> str:
    """One document: a suite for the steps, one for each verification, one for what was measured, one for the gates."""
    root = ElementTree.fromstring(junit(run.verifications).partition("\n")[2])
    if run.steps:
        _suite(root, "steps", [_step(span) for span in run.steps])
    if run.benchmarks:
        holes = {(case, side): why for case, side, why in run.holes}
        series = [(case.name, one) for case in run.benchmarks.cases for one in case.series]
        _suite(root, "benchmarks", [_series(case, one, holes.get((case, one.side), "")) for case, one in series])
    if run.verdict:
        _suite(root, "gates", [_gate(gate) for gate in run.verdict.gates])
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _suite(root: ElementTree.Element, name: str, cases: Sequence[ElementTree.Element]) -> None:
    suite = ElementTree.SubElement(root, "testsuite", name=name, tests=str(len(cases)))
    suite.set("failures", str(sum(case.find("failure") is not None for case in cases)))
    suite.set("skipped", str(sum(case.find("skipped") is not None for case in cases)))
    suite.extend(cases)


def _step(span: Span) -> ElementTree.Element:
    case = ElementTree.Element(
        "testcase", classname="stackbuild.step", name=clean(span.name), time=f"{span.seconds:.3f}"
    )
    if span.how in ("failed", "unfinished"):
        ElementTree.SubElement(case, "failure", message=span.how).text = clean(span.says)
    return case


def _series(case: str, one: Series, why: str) -> ElementTree.Element:
    """A side of a case, a failure where it was not measured; its time is one inference's."""
    time = f"{median(one.seconds):.6f}" if one.seconds else "0"
    made = ElementTree.Element("testcase", classname=f"stackbuild.bench.{clean(one.side)}", name=clean(case), time=time)
    if why:
        ElementTree.SubElement(made, "failure", message=clean(why))
    elif one.problem or not one.seconds:
        ElementTree.SubElement(made, "skipped", message=clean(f"waived: {one.problem}"))
    return made


def _gate(gate: GateVerdict) -> ElementTree.Element:
    case = ElementTree.Element(
        "testcase", classname=f"stackbuild.gate.{clean(gate.gate)}", name=clean(gate.case), time="0"
    )
    if gate.closed:
        ElementTree.SubElement(case, "failure", type=gate.outcome.value, message=clean(gate.says))
    elif gate.waived:
        ElementTree.SubElement(case, "skipped", message=clean(f"waived: {gate.waived}: {gate.says}"))
    else:
        ElementTree.SubElement(case, "system-out").text = clean(gate.says)
    return case


def clean(text: str) -> str:
    """Text that XML may hold: what it forbids (escape sequences of terminals among it) becomes U+FFFD."""
    return _FORBIDDEN.sub("\ufffd", text)[:20_000]
