"""JUnit documents."""

from __future__ import annotations

from xml.etree import ElementTree

from stackbuild.cli import load_commands
from stackbuild.model.findings import Severity
from stackbuild.views.junit import junit_of_verifications
from support.findings import finding, verified

load_commands()


def test_junit_is_well_formed_whatever_is_in_it():
    root = ElementTree.fromstring(junit_of_verifications([verified(finding(1), finding(2, Severity.WARNING))]).encode())
    suite = root[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("4", "2", "1")
    assert "\x1b" not in ElementTree.tostring(root, encoding="unicode")
