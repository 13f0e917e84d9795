"""JUnit documents."""

from __future__ import annotations

from xml.etree import ElementTree

from stackbuild.cli import load_commands
from stackbuild.model.findings import Rung, Severity, Status, Verification
from stackbuild.views.junit import case_results, junit_of_verifications
from stackbuild.views.markdown import markdown_of_verifications
from support.findings import finding, verified

load_commands()


def test_junit_is_well_formed_whatever_is_in_it():
    root = ElementTree.fromstring(junit_of_verifications([verified(finding(1), finding(2, Severity.WARNING))]).encode())
    suite = root[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("4", "2", "1")
    assert "\x1b" not in ElementTree.tostring(root, encoding="unicode")


def test_markdown_has_every_case_that_failed_or_was_skipped_and_nothing_in_it_acts():
    """GitHub shows no JUnit: its job summary has the same cases."""
    some = [verified(finding(1), finding(2, Severity.WARNING))]
    root = ElementTree.fromstring(junit_of_verifications(some).encode())
    failed = [(suite.get("name"), case.get("name")) for suite in root for case in suite if case.find("failure") is not None]
    rows = case_results(some)
    assert [(row.suite, row.name) for row in rows if row.result == "failed"] == failed != []
    text = markdown_of_verifications(some)
    assert text.count(" | failed | ") == len(failed) and text.count(" | skipped | ") == 1
    assert "2 failed, 1 skipped, 1 passed" in text and "❌" in text
    assert "<" not in text and "\x1b" not in text
    sound = markdown_of_verifications([Verification("w.whl", "", (Rung("load", Status.PASSED, "", 0.0),))])
    assert "✅ 0 failed, 0 skipped, 1 passed" in sound and "|" not in sound
