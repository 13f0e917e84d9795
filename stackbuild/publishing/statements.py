"""What is stated of a wheel: in-toto statements, one JSON file each, beside the wheel.

`NAME.whl.provenance.json` has SLSA provenance (https://slsa.dev/spec/v1.2/provenance): from which sources, by which steps.
`NAME.whl.verification.json` says per rung what ran and what did not. `NAME.whl.benchmarks.json` has the verdict of the
gates. The first two have the same bytes whenever the same wheel is built from the same lock in the same way. The last
names measurements, which never repeat exactly.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stackbuild.core import digest
from stackbuild.core.digest import Json
from stackbuild.model.findings import Verification
from stackbuild.model.materials import Material
from stackbuild.publishing.predicates import how_checked, predicate_claim

STATEMENT = "https://in-toto.io/Statement/v1"
PROVENANCE = "https://slsa.dev/provenance/v1"
VERIFICATION = "https://stackbuild.dev/verification/v1"
BENCHMARKS = "https://stackbuild.dev/benchmarks/v1"
BUILD_TYPE = "https://stackbuild.dev/build/v1"
STATEMENT_LIMIT = 16 << 20
"""Bytes of a statement that is published: signed, in an envelope, it is still read by who verifies it."""
SBOM_VERSION = "1.6"
"""Of CycloneDX, as `actions.sbom` writes it."""
STATEMENT_TYPE = "application/vnd.in-toto+json"
SUBJECTS_SHOWN = 3
"""So many subjects of a statement are printed."""
NAMES = {"provenance": PROVENANCE, "verification": VERIFICATION, "benchmarks": BENCHMARKS}
"""The part of a statement's file name to the type of its predicate."""


@dataclass(frozen=True)
class ResourceDescriptor:
    """A file that a statement is about: its name, and the digest of its bytes. The name is in-toto's."""

    name: str
    sha256: str


@dataclass(frozen=True)
class StepOrigin:
    """A step that a wheel needed. `origin` is `ran`, `reused`, or `reused, signed by KEY`; `output` the digest of its tree."""

    name: str
    key: str
    output: str
    origin: str


def statement_name(wheel: str, kind: str) -> str:
    """The file name of a wheel's statement of that kind, one of `NAMES`."""
    return f"{wheel}.{kind}.json"


def envelope_name(statement: str) -> str:
    """The file name of a statement's signed envelope."""
    return f"{statement.removesuffix('.json')}.dsse.json"


def lock_name(wheel: str) -> str:
    """The name of the file beside a wheel with the lock that it was built under."""
    return f"{wheel}.lock.yaml"


def locked_by(statement: Mapping[str, Any]) -> str:
    """The sha256 of the lock that a statement names: provenance does; "" where it names none."""
    match statement:
        case {"predicate": {"buildDefinition": {"externalParameters": {"lockDigest": str(sha256)}}}}:
            return sha256
    return ""


def format_problem(sbom: bytes) -> str:
    """Why bytes are not a CycloneDX document of the version that stackbuild writes, in JSON; "" where they are."""
    try:
        value = digest.unique_json_of(sbom.decode("utf-8"))
    except ValueError as error:
        return f"it is not a CycloneDX document: {error}"
    if not isinstance(value, dict) or value.get("bomFormat") != "CycloneDX":
        return "it is not a CycloneDX document"
    version = value.get("specVersion")
    return "" if version == SBOM_VERSION else f"it is CycloneDX {version!r}, not {SBOM_VERSION}"


def is_statement(name: str) -> bool:
    """Whether a file beside a wheel is one of its statements."""
    return any(name.endswith(f".whl.{kind}.json") for kind in NAMES)


def provenance(
    wheel: ResourceDescriptor,
    recipe: Mapping[str, Json],
    materials: Sequence[Material],
    steps: Sequence[StepOrigin],
    version: str,
) -> bytes:
    """SLSA provenance of a wheel. `recipe` are the parameters that a person chose: its name, targets, digest and lock."""
    dependencies = [
        {"name": m.name, "uri": m.uri, "digest": dict(m.digests), "annotations": {"role": m.role, "version": m.version}}
        for m in sorted(materials)
    ]
    predicate = {
        "buildDefinition": {
            "buildType": BUILD_TYPE,
            "externalParameters": dict(recipe),
            "internalParameters": {"steps": [digest.plain(step) for step in steps]},
            "resolvedDependencies": dependencies,
        },
        "runDetails": {"builder": {"id": "https://stackbuild.dev/builder/local", "version": {"stackbuild": version}}},
    }
    return statement([wheel], PROVENANCE, predicate)


def verification(wheel: ResourceDescriptor, result: Verification, machine: str = "") -> bytes:
    """Per rung of a wheel's verification: `ran`, `emulated`, `inspected` or `not run here`, and why. `machine` says where, "" for where it was built."""
    rungs = [
        {
            "name": rung.name,
            "how": how_checked(rung.name, rung.status),
            "result": str(rung.status),
            "reason": rung.reason,
        }
        for rung in result.rungs
    ]
    return statement([wheel], VERIFICATION, {"claim": result.claim, "rungs": rungs, **_on(machine)})


def benchmarks(wheel: ResourceDescriptor, results: Json, verdict: Json, machine: str = "") -> bytes:
    """The gates' verdict on a wheel, and the digest of the measurements that it was judged by. `machine` as above."""
    predicate = {"verdict": verdict, "results": {"sha256": digest.of_value(results)}, **_on(machine)}
    return statement([wheel], BENCHMARKS, predicate)


def _on(machine: str) -> dict[str, str]:
    return {"machine": machine} if machine else {}


def statement(subjects: Sequence[ResourceDescriptor], predicate_type: str, predicate: object) -> bytes:
    """An in-toto statement about those files, as canonical JSON."""
    body = {
        "_type": STATEMENT,
        "subject": [{"name": one.name, "digest": {"sha256": one.sha256}} for one in subjects],
        "predicateType": predicate_type,
        "predicate": predicate,
    }
    return json.dumps(body, indent=1, sort_keys=True, ensure_ascii=True).encode() + b"\n"


def claim_about(wheel: ResourceDescriptor, name: str, data: bytes) -> str:
    """What a statement file of that name claims of the wheel with those bytes; "" where it is a statement of another kind.

    Raises ValueError where it is about another wheel or other bytes, of another kind than its name says, or says what
    nobody may publish: see `predicate_claim`.
    """
    if len(data) > STATEMENT_LIMIT:
        raise ValueError(f"it has more than {STATEMENT_LIMIT >> 20} MiB")
    statement = read_statement(data)
    kind = next(kind for kind in NAMES if name.endswith(f".whl.{kind}.json"))
    if statement.get("predicateType") != NAMES[kind]:
        raise ValueError(f"it states {statement.get('predicateType')!r}, not {NAMES[kind]}")
    refuse_subjects(wheel, statement)
    return predicate_claim(kind, statement["predicate"])


def refuse_subjects(wheel: ResourceDescriptor, statement: Mapping[str, Any]) -> None:
    """Raises ValueError where a statement has another subject than the wheel, more than one, or the wheel twice."""
    subjects = [(one["name"], one["digest"]["sha256"]) for one in statement["subject"]]
    if subjects != [(wheel.name, wheel.sha256)]:
        subject_texts = [f"{subject} with sha256 {of}" for subject, of in sorted(subjects)[:SUBJECTS_SHOWN]]
        more = f" and {len(subjects) - SUBJECTS_SHOWN} more" if len(subjects) > SUBJECTS_SHOWN else ""
        about = ", ".join(subject_texts) + more or "nothing"
        raise ValueError(f"it is about {about}, and not about {wheel.name} with sha256 {wheel.sha256} alone")


def read_statement(data: bytes) -> dict[str, Any]:
    """The statement in those bytes. Raises ValueError where they are not a statement."""
    value = digest.unique_json_of(data.decode("utf-8"))
    if not isinstance(value, dict) or value.get("_type") != STATEMENT:
        raise ValueError("it is not an in-toto statement")
    subjects = value.get("subject")
    if not isinstance(subjects, list) or not all(_is_subject(subject) for subject in subjects):
        raise ValueError("its subjects are not names with digests")
    if any(subject.keys() != {"name", "digest"} or subject["digest"].keys() != {"sha256"} for subject in subjects):
        raise ValueError("a subject has more than a name and a sha256, and nobody here checks what else it says")
    if not isinstance(value.get("predicateType"), str) or not isinstance(value.get("predicate"), dict):
        raise ValueError("it has no predicate with a type")
    return value


def _is_subject(value: object) -> bool:
    match value:
        case {"name": str(), "digest": {"sha256": str()}}:
            return True
    return False
