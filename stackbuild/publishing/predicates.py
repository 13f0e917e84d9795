"""What statements of verifications and benchmarks say: checked field by field, and the claim computed from the rungs.

A statement may come from anybody. What it says of itself in a sentence counts only where its rungs come to that sentence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from stackbuild.core.model import Field, Model, ValidationError
from stackbuild.core.model_mistakes import first_mistake
from stackbuild.model.findings import EMULATED_RUNG, STATIC_RUNG, Rung, Status, Verification
from stackbuild.model.results import VERDICT_SCHEMA, Evidence, GateOutcome
from stackbuild.publishing.catalog import SHA256

CLAIM_SHOWN = 500
"""Characters of a claim that an error shows: a statement may have a hundred thousand rungs."""
CheckMode = Literal["ran", "emulated", "inspected", "not run here"]
MachineName = Annotated[str, Field(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]
RungName = Annotated[str, Field(max_length=200, pattern=r"^[^\x00-\x1f\x7f+;]+$")]
"""Without the signs that part the rungs of a claim."""
FigureText = float | str | None
"""A figure of a verdict; one that is not finite is a word there."""


def how_checked(rung: str, status: Status) -> CheckMode:
    """How a rung of that name was checked: on the machine itself, on an emulated GPU, by reading files, or not at all."""
    if status is Status.SKIPPED:
        return "not run here"
    if rung == STATIC_RUNG:
        return "inspected"
    return "emulated" if rung.startswith(EMULATED_RUNG) else "ran"


class RungRow(Model):
    """One rung of a verification statement; `machine` is "" where the whole statement is about one machine."""

    name: RungName
    how: CheckMode
    result: Status
    reason: str
    machine: MachineName = ""


class VerificationPredicate(Model):
    """The predicate of a verification: of one machine, or joined, where each rung names its machine."""

    claim: str
    rungs: tuple[RungRow, ...] = Field(min_length=1)
    machine: MachineName = ""

    @property
    def rows(self) -> tuple[RungRow, ...]:
        """The rungs, each with its machine."""
        return tuple(row.model_copy(update={"machine": row.machine or self.machine}) for row in self.rungs)


class GateRow(Model):
    """One gate's verdict on one case, as `model.results.GateVerdict` has it."""

    gate: str
    case: str
    outcome: GateOutcome
    says: str
    value: FigureText = None
    low: FigureText = None
    high: FigureText = None
    limit: FigureText = None
    unit: str = ""
    pairs: int = 0
    evidence: Evidence = Evidence.MEASURED
    waived: str = ""


class VerdictBody(Model):
    """The verdict of the gates, as `gate --verdict` writes it."""

    schema_name: str = Field(alias="schema", pattern=f"^{VERDICT_SCHEMA}$")
    digest: str = Field(pattern=SHA256)
    gates: tuple[GateRow, ...]
    geomean: FigureText = None
    notes: tuple[str, ...] = ()
    of: str = ""


class ResultsDigest(Model):
    """The digest of the measurements that were judged."""

    sha256: str = Field(pattern=SHA256)


class BenchmarkPredicate(Model):
    """The predicate of benchmarks: what one machine measured."""

    verdict: VerdictBody
    results: ResultsDigest
    machine: MachineName = ""


class JoinedBenchmarks(Model):
    """The predicate of benchmarks of several machines."""

    measurements: tuple[BenchmarkPredicate, ...] = Field(min_length=1)


def predicate_claim(kind: str, predicate: Mapping[str, object]) -> str:
    """What the predicate of a statement of that kind claims of its wheel: computed from its rungs, "" for other kinds.

    Raises ValueError where a field is missing, unknown or of another type; where a rung or a gate failed; where two rows
    contradict each other; and where the claim that stands there is not the one that the rungs come to.
    """
    if kind == "benchmarks":
        read_measurements(predicate)
        return ""
    if kind != "verification":
        return ""
    value = read_verification(predicate)
    claim = claim_of(value.rungs)  # of one machine alone the claim does not name it
    if value.claim != claim:
        raise ValueError(f"it claims {value.claim[:CLAIM_SHOWN]!r}, and its rungs come to {claim[:CLAIM_SHOWN]!r}")
    return claim


def read_verification(predicate: Mapping[str, object]) -> VerificationPredicate:
    """A verification's predicate. Raises ValueError as `predicate_claim` does, but for the claim."""
    try:
        value = VerificationPredicate.model_validate(predicate)
    except ValidationError as error:
        raise ValueError(first_mistake(error, "predicate")) from None
    for row in value.rungs:
        if row.result is Status.FAILED:
            raise ValueError(f"its rung {row.name!r} failed{_on(row.machine or value.machine)}: {row.reason}")
        if row.how != (how := how_checked(row.name, row.result)):
            raise ValueError(
                f"its rung {row.name!r} has the result {row.result} and says {row.how!r}, which is {how!r}"
            )
        if value.machine and row.machine:
            raise ValueError(f"it is about {value.machine}, and its rung {row.name!r} names {row.machine}")
    refuse_contradictions(value.rows)
    return value


def refuse_contradictions(rows: Sequence[RungRow]) -> None:
    """Each rung of a machine stands there once. Raises ValueError."""
    known_rows: set[tuple[str, str]] = set()
    for row in rows:
        if (row.machine, row.name) in known_rows:
            raise ValueError(
                f"the rung {row.name!r} stands there twice{_on(row.machine)}; statements of different machines differ in"
                " `--machine`"
            )
        known_rows.add((row.machine, row.name))


def claim_of(rows: Sequence[RungRow]) -> str:
    """What the rungs come to, machine by machine; the machine where the wheel was built has no name."""
    rungs: dict[str, list[Rung]] = {}
    for row in rows:
        rungs.setdefault(row.machine, []).append(Rung(row.name, row.result, row.reason, 0.0))
    claims = []
    for machine in sorted(rungs):
        claim = Verification("", "", tuple(rungs[machine])).claim
        claims.append(f"on {machine}: {claim}" if machine else claim)
    return "; ".join(claims)


def read_measurements(predicate: Mapping[str, object]) -> tuple[BenchmarkPredicate, ...]:
    """The measurements of a predicate of benchmarks: one, or one for each machine. Raises ValueError."""
    try:
        if "measurements" in predicate:
            rows = JoinedBenchmarks.model_validate(predicate).measurements
        else:
            rows = (BenchmarkPredicate.model_validate(predicate),)
    except ValidationError as error:
        raise ValueError(first_mistake(error, "predicate")) from None
    for row in rows:
        for gate in row.verdict.gates:
            if gate.outcome is not GateOutcome.PASS and not gate.waived:
                raise ValueError(f"its gate {gate.gate!r} did not pass{_on(row.machine)}: {gate.outcome} {gate.says}")
    counts = Counter(row.machine for row in rows)
    double = next((machine for machine, count in counts.items() if count > 1), None)
    if double is not None:
        raise ValueError(f"it has two measurements{_on(double)}")
    return rows


def _on(machine: str) -> str:
    return f" on {machine}" if machine else ""
