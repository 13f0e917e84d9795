"""SARIF documents."""

from __future__ import annotations

import json
from dataclasses import replace

from stackbuild.cli import load_commands
from stackbuild.model.findings import Severity, SourceLocation
from stackbuild.views.sarif import RESULTS, sarif
from support.findings import finding, verified

load_commands()


def test_sarif_has_what_hosts_ask_for():
    made = json.loads(sarif([verified(finding(1), finding(2, Severity.NOTE, SourceLocation("src/a.cc", 3, 7)))]))
    (run,) = made["runs"]
    assert made["version"] == "2.1.0" and run["tool"]["driver"]["name"] == "stackbuild"
    first, second = run["results"]
    assert (first["level"], second["level"]) == ("error", "note")
    assert second["locations"][0]["physicalLocation"]["region"]["startLine"] == 3
    assert not first["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].startswith("/")
    assert all(run["tool"]["driver"]["rules"][r["ruleIndex"]]["id"] == r["ruleId"] for r in run["results"])


def test_sarif_stays_within_the_hosts_limit_and_keeps_errors():
    many = [finding(n, Severity.NOTE) for n in range(RESULTS + 50)] + [finding(0, Severity.ERROR)]
    run = json.loads(sarif([verified(*many)]))["runs"][0]
    assert len(run["results"]) == RESULTS and run["results"][0]["level"] == "error"
    assert run["properties"]["resultsLeftOut"] == 51


def test_two_findings_of_one_kind_in_one_file_are_two_alerts_also_when_their_lines_move():
    def prints(*lines: int) -> list[str]:
        found = [replace(finding(1), place=SourceLocation("a.cu", line, 1)) for line in lines]
        return [
            r["partialFingerprints"]["stackbuild/v2"]
            for r in json.loads(sarif([verified(*found)]))["runs"][0]["results"]
        ]

    assert len(set(prints(3, 9))) == 2 and prints(3, 9) == prints(5, 11)
