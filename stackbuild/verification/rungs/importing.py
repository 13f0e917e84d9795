"""Rung 2: install into a clean environment without network, and import with nothing but what is declared."""

from __future__ import annotations

import re
from pathlib import Path

from stackbuild.core.digest import Json
from stackbuild.model.findings import Finding
from stackbuild.tables.runtime_variables import scrubbed_variables
from stackbuild.verification.catalogue import IMPORT, INSTALL, SCRUBBED_VARIABLES, SHADOWED_MODULE
from stackbuild.verification.clean_env import install
from stackbuild.verification.installation import environment_findings
from stackbuild.verification.machine_libraries import is_machine_library
from stackbuild.verification.probe_sandbox import ProbeSandbox
from stackbuild.verification.rung import RungOutcome, probe_finding
from stackbuild.verification.subject import Form, Subject

SECONDS = 120.0


def check_import(
    subject: Subject, sandbox: ProbeSandbox, wheelhouse: Path | None, external: tuple[str, ...] = ()
) -> RungOutcome:
    """Install the wheels with their declared dependencies only, then import their packages.

    A package that stops at a library of ROCm, or at one of `external`, which the machine is to have, is said to wait for it.
    """
    result = install(sandbox, wheelhouse, tuple(map(str, subject.wheels)))
    if result.code and wheelhouse is None and subject.requires:
        return RungOutcome(skip="there is no wheelhouse to take its dependencies from (--wheelhouse DIR)")
    if result.code:
        refusal = INSTALL.finding(subject.name, f"pip: {result.tail or 'it said nothing'}")
        return RungOutcome((probe_finding(INSTALL, subject.name, result) if result.termination else refusal,))
    if not subject.modules:
        return RungOutcome(skip="it has no package to import")
    result = sandbox.probe("importing", {"modules": list(subject.modules)}, SECONDS)
    if result.problem:
        return RungOutcome((probe_finding(IMPORT, ", ".join(subject.modules), result),))
    modules = _items(result.answer.get("modules"))
    if {name for name, _ in modules} != set(subject.modules):
        return RungOutcome((IMPORT.finding(subject.name, "the import gave no true account of itself"),))
    waits = {name: soname for name, answer in modules if (soname := _machine_library(answer, external))}
    findings = [f for name, answer in modules if name not in waits for f in _judge(name, answer, sandbox, result.tail)]
    findings += environment_findings(sandbox, subject.wheels, wheelhouse)
    names = scrubbed_variables()
    if names:
        findings.append(SCRUBBED_VARIABLES.finding("environment", f"not passed on: {', '.join(names)}"))
    if set(waits) == set(subject.modules) and not findings:
        return RungOutcome(skip=f"this machine has no {', '.join(sorted(set(waits.values())))}")
    imported_names = ", ".join(name for name in subject.modules if name not in waits)
    rest = "".join(f"; {name} waits for {soname}, which this machine has not" for name, soname in waits.items())
    return RungOutcome(
        tuple(findings),
        says=f"Python {result.answer.get('python')}: {imported_names}{rest}{_lists(subject, result.answer)}",
    )


def _machine_library(answer: dict[str, Json], external: tuple[str, ...]) -> str:
    """The soname that a package's import stopped at, where it is one of the machine's; or ''."""
    match = re.match(r"ImportError: ([^\s:/]+): cannot open shared object file", str(answer.get("error", "")))
    return match[1] if match and is_machine_library(match[1], external) else ""


def _items(value: Json) -> list[tuple[str, dict[str, Json]]]:
    return [(k, v) for k, v in value.items() if isinstance(v, dict)] if isinstance(value, dict) else []


def _judge(name: str, answer: dict[str, Json], sandbox: ProbeSandbox, tail: str) -> list[Finding]:
    if "error" in answer:
        return [IMPORT.finding(name, str(answer["error"]) + (f"; it printed: {tail}" if tail else ""))]
    file = str(answer.get("file", ""))
    if file and not Path(file).is_relative_to(sandbox.folder):
        own = " of the standard library" if _STANDARD.search(file) else ""
        return [SHADOWED_MODULE.finding(name, f"imported from {file}{own}")]
    return []


_STANDARD = re.compile(r"/lib(64)?/python3\.\d+/(?!(site|dist)-packages/)")
"""In the path of a module that comes with Python."""


def _lists(subject: Subject, answer: dict[str, Json]) -> str:
    """get_available_providers() is compile-time text, never evidence: shown as what it is."""
    listed_names = answer.get("listed")
    if subject.form is not Form.RUNTIME or not isinstance(listed_names, list):
        return ""
    return f" (it lists {', '.join(map(str, listed_names))}, which proves nothing yet)"
