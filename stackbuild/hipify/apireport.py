"""The API report: what HIP lacks, calls experimental or has only in other versions, and what no table knows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from stackbuild.hipify.prepare import Gate, Plan
from stackbuild.hipify.scan import skip_space
from stackbuild.hipify.view import View
from stackbuild.report import Finding, Severity

TABLES = "https://rocm.docs.amd.com/projects/HIPIFY/en/latest/reference/supported_apis.html"


@dataclass(frozen=True)
class Kind:
    """How one kind of gate is told. The texts may name {name}, {detail}, {first} and {last} word of it, {rocm}."""

    rule: str
    severity: Severity
    found: str
    why: str
    fix: str


KINDS = {
    "unsupported": Kind(
        "HIPIFY-UNSUPPORTED",
        Severity.ERROR,
        "{name} has no counterpart in {lacking}",
        "HIPIFY's tables name nothing that it could become, so the HIP text does not compile or link",
        "replace the call, or guard it for CUDA and write the HIP side by hand",
    ),
    "device-function": Kind(
        "HIPIFY-UNSUPPORTED-DEVICE",
        Severity.ERROR,
        "device function {name} does not exist in HIP",
        "HIPIFY's tables list it as unsupported",
        "write it by hand, or add a rule with its replacement",
    ),
    "device-type": Kind(
        "HIPIFY-UNSUPPORTED-TYPE",
        Severity.ERROR,
        "device type {name} does not exist in HIP",
        "HIPIFY's tables list it as unsupported",
        "use another type, or add a rule with its replacement",
    ),
    "experimental": Kind(
        "HIPIFY-EXPERIMENTAL",
        Severity.WARNING,
        "{name} is only experimentally supported (HIP {detail})",
        "it is converted only when asked for",
        "give --experimental if the target has it",
    ),
    "removed": Kind(
        "HIPIFY-CUDA-REMOVED",
        Severity.NOTE,
        "{name} was removed in CUDA {detail}",
        "the source is for an older CUDA; HIP may have dropped its counterpart too",
        "move to its successor when the CUDA side is updated",
    ),
    "deprecated": Kind(
        "HIPIFY-CUDA-DEPRECATED",
        Severity.NOTE,
        "{name} is deprecated since CUDA {detail}",
        "HIP may drop its counterpart",
        "move to its successor when the CUDA side is updated",
    ),
    "too-new": Kind(
        "HIPIFY-NEEDS-ROCM",
        Severity.ERROR,
        "{name} becomes {first}, which needs ROCm {last}; the target is {rocm}",
        "the target's headers do not declare it",
        "target a newer ROCm, or replace the call",
    ),
    "gone": Kind(
        "HIPIFY-GONE-FROM-ROCM",
        Severity.ERROR,
        "{name} becomes {first}, which ROCm {last} removed; the target is {rocm}",
        "the target's headers no longer declare it",
        "replace the call by its successor",
    ),
}
_LACKING = {"hip": "HIP", "roc": "the roc libraries", "miopen": "MIOpen", "hipdnn": "hipDNN", "": "HIP"}
_LOOKS_LIKE_API = re.compile(r"cuda[A-Z]\w+")
_LIBRARY_CALL = re.compile(r"(?:cublas(?:Lt)?|cudnn|cusparse|cufft|curand|cusolver(?:Dn|Sp)|nvrtc|nvml)[A-Z]\w+")


def report(view: View, plan: Plan, present: Iterable[str], ruled: frozenset[str]) -> list[Finding]:
    """The findings for the names `present`; of names that a rule takes care of (`ruled`) they are mere notes."""
    findings: list[Finding] = []
    for name in present:
        for gate in plan.gates.get(name, ()):
            told = list(_told(view, plan, name, gate))
            findings += [_eased(f) for f in told] if name in ruled else told
    findings += _unknown(view, plan, ruled)
    return findings


def _told(view: View, plan: Plan, name: str, gate: Gate) -> Iterator[Finding]:
    kind = KINDS[gate.kind]
    words = (gate.detail.split() or [""])[0], (gate.detail.split() or [""])[-1]
    for at in view.own(name):
        if gate.call_only and not view.code.startswith("(", skip_space(view.code, at + len(name))):
            continue
        fill = {
            "name": name,
            "detail": gate.detail,
            "lacking": _LACKING.get(gate.detail, "HIP"),
            "first": words[0],
            "last": words[1],
            "rocm": plan.target.rocm,
        }
        yield view.finding(at, kind.rule, kind.severity, kind.found.format(**fill), kind.why, kind.fix, TABLES)


def _eased(finding: Finding) -> Finding:
    fix = "nothing: a rule replaces it or a support header defines it"
    return replace(finding, severity=Severity.NOTE, fix=fix)


def _unknown(view: View, plan: Plan, ruled: frozenset[str]) -> Iterator[Finding]:
    """Names that look like CUDA's and are in no table: hipify-perl's leftovers, and unknown library calls."""
    for word in view.words:
        if not word.startswith(("cu", "nv")) or word in plan.known or word in ruled:
            continue
        api = _LOOKS_LIKE_API.fullmatch(word)
        if not api and not _LIBRARY_CALL.fullmatch(word):
            continue
        for at in view.own(word):
            if api or view.code.startswith("(", skip_space(view.code, at + len(word))):
                yield _leftover(view, at, word)


def _leftover(view: View, at: int, word: str) -> Finding:
    return view.finding(
        at,
        "HIPIFY-UNKNOWN",
        Severity.WARNING,
        f"{word} looks like a CUDA API and is in none of HIPIFY's tables",
        "it was left as it is",
        "if it is the project's own name, nothing; if it is newer than the tables, update HIPIFY or add a rule",
        TABLES,
    )
