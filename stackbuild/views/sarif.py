"""Verifications as SARIF 2.1.0, for code hosts that show findings beside the code. Pure text.

Hosts refuse more than 20 runs or 5,000 results; results beyond that are counted in the run's properties instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath
from urllib.parse import quote

from stackbuild.checks.catalogue import rules_by_id
from stackbuild.core.digest import Json, document_text
from stackbuild.model.findings import Finding, Severity, Verification
from stackbuild.version import __version__

RESULTS = 5_000
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
_TEXT = 1_000
_ROOT = "SRCROOT"


def sarif(verifications: Sequence[Verification], locate: Callable[[Finding], str] | None = None, root: str = "") -> str:
    """One SARIF document with one run; errors first where the host's limit cuts.

    `locate` gives a finding's URI, relative to the URI `root` or absolute, "" where it is about no file; without it
    places and subjects are taken as they are.

    A finding's fingerprint is its rule, subject and file and which of these it is, so that it outlives a moved line.
    """
    rows = [(v, f) for v in verifications for f in v.findings]
    rows.sort(key=lambda row: list(_LEVELS).index(row[1].severity))
    rules = {finding.rule: finding for _, finding in rows}
    counts: Counter[str] = Counter()
    run: dict[str, Json] = {
        "tool": {"driver": {"name": "stackbuild", "version": __version__, "rules": [_rule(f) for f in rules.values()]}},
        "results": [_result(v, f, list(rules).index(f.rule), counts, locate) for v, f in rows[:RESULTS]],
        "properties": {"resultsLeftOut": max(0, len(rows) - RESULTS)},
    }
    if root:
        run["originalUriBaseIds"] = {_ROOT: {"uri": root}}
    document = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return document_text(document, indent=1)


def _rule(finding: Finding) -> Json:
    rule = rules_by_id().get(finding.rule)
    if rule is None:  # `hipify` describes its findings in the findings alone
        texts: dict[str, Json] = {
            "shortDescription": {"text": finding.why[:_TEXT]},
            "help": {"text": finding.fix[:_TEXT]},
        }
    else:
        more = f"`stackbuild help {rule.id}`, docs/rules.md#{rule.id.lower()}"
        texts = {
            "shortDescription": {"text": rule.title},
            "fullDescription": {"text": f"{rule.when} {rule.why}"[:_TEXT]},
            "help": {"text": f"{rule.fix} More: {more}"},
        }
    row: dict[str, Json] = {
        "id": finding.rule, **texts, "defaultConfiguration": {"level": _LEVELS[finding.severity]},
    }  # fmt: skip
    return row | {"helpUri": finding.link} if finding.link else row


def _result(
    verification: Verification,
    finding: Finding,
    index: int,
    occurrences: Counter[str],
    locate: Callable[[Finding], str] | None,
) -> Json:
    identity = f"{finding.rule}:{finding.subject}:{finding.place.file if finding.place else ''}"[:_TEXT]
    occurrences[identity] += 1
    location: dict[str, Json] = {"logicalLocations": [{"fullyQualifiedName": finding.subject[:_TEXT]}]}
    if artifact := _artifact(verification, finding, locate):
        region: dict[str, Json] = {"startLine": finding.place.line if finding.place else 1}
        if finding.place:
            region["startColumn"] = finding.place.column
        location["physicalLocation"] = {"artifactLocation": artifact, "region": region}
    return {
        "ruleId": finding.rule, "ruleIndex": index, "level": _LEVELS[finding.severity],
        "message": {"text": f"{finding.subject}: {finding.found}"[:_TEXT]},
        "locations": [location],
        "partialFingerprints": {"stackbuild/v2": f"{identity}:{occurrences[identity]}"},
    }  # fmt: skip


def _artifact(verification: Verification, finding: Finding, locate: Callable[[Finding], str] | None) -> dict[str, Json]:
    """Where the file of a finding is; nothing where it is about none."""
    if locate is None:
        return {"uri": _uri(finding.place.file if finding.place else verification.subject)}
    uri = locate(finding)
    if not uri:
        return {}
    return {"uri": uri} if uri.startswith("file:") else {"uri": uri, "uriBaseId": _ROOT}


def _uri(path: str) -> str:
    """A relative URI: hosts resolve it against the checkout, and it gives away no folder of the build machine."""
    return quote(PurePosixPath(path).name if path.startswith("/") else path, errors="replace")
