"""What a benchmark measured and what a gate says of it: frozen values, one versioned JSON shape, one reader.

    Benchmarks            one file: suite, machine, sides, cases
     ├─ Fingerprint       the machine: what must be equal before two results are compared, and what only went by
     ├─ Side              who ran: artifact, provider, options, libraries
     └─ Case              one model or operator at one shape and dtype
         └─ Series        one side's samples of it: one per round, each from a fresh process

Seconds and bytes everywhere; drawing converts. Sample *i* of every series of a case was taken in round *i*, so equal
positions are pairs. The side called `control` is a second copy of the baseline: its pairs are the A/A self-check.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum

SCHEMA = "stackbuild.benchmarks/2"
VERDICT_SCHEMA = "stackbuild.verdict/2"
CONTROL = "control"


@dataclass(frozen=True)
class Fingerprint:
    """The machine. `stable` must be equal before results are compared; `passing` (clocks, load…) is only recorded."""

    stable: dict[str, str]
    passing: dict[str, str] = field(default_factory=dict)

    def differences(self, other: Fingerprint) -> tuple[str, ...]:
        """Each stable field on which the two machines differ, as `name: ours against theirs`."""
        names = sorted(self.stable.keys() | other.stable.keys())
        return tuple(
            f"{name}: {self.stable.get(name, 'unknown')} against {other.stable.get(name, 'unknown')}"
            for name in names
            if self.stable.get(name) != other.stable.get(name)
        )


@dataclass(frozen=True)
class Side:
    """One of the things compared. `artifact` is a file name, `sha256` its bytes; empty where nothing was installed.

    `threads` are those of one operator; 0 leaves the number to ONNX Runtime.
    """

    label: str
    provider: str
    artifact: str = ""
    sha256: str = ""
    options: dict[str, str] = field(default_factory=dict)
    libraries: dict[str, str] = field(default_factory=dict)
    threads: int = 0


@dataclass(frozen=True)
class Accuracy:
    """How far a side's output is from the reference, by `stackbuild.bench.error_metrics`; `reference` says what that was."""

    reference: str
    max_abs: float
    max_rel: float
    rms: float
    cosine: float
    snr_db: float


@dataclass(frozen=True)
class Share:
    """What one provider ran of a case, from ONNX Runtime's profile: nodes and seconds, as shares of 1."""

    provider: str
    nodes: float
    seconds: float


@dataclass(frozen=True)
class OpTime:
    """Seconds one kind of operator took on one provider, in one profiled run, and how many nodes it was."""

    op: str
    provider: str
    seconds: float
    nodes: int


@dataclass(frozen=True)
class KernelCounters:
    """One GPU kernel of a profiled run: dispatches, seconds on the device, and hardware counters by rocprofv3's names."""

    kernel: str
    dispatches: int
    seconds: float
    counters: dict[str, float]


@dataclass(frozen=True)
class Series:
    """One side's samples of one case. `seconds[i]` is the median of the timed runs of round i, per inference.

    `create` and `first` are session creation and first inference of the same processes; `host_bytes` and
    `device_bytes` the largest peak seen (device: None where the machine does not tell).
    """

    side: str
    seconds: tuple[float, ...]
    create: tuple[float, ...] = ()
    first: tuple[float, ...] = ()
    host_bytes: int | None = None
    device_bytes: int | None = None
    accuracy: Accuracy | None = None
    shares: tuple[Share, ...] = ()
    ops: tuple[OpTime, ...] = ()
    kernels: tuple[KernelCounters, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class Case:
    """One model or operator at one shape and dtype. One inference yields `items` of `unit` (images, tokens…)."""

    name: str
    model: str
    dtype: str
    shapes: dict[str, tuple[int, ...]]
    batch: int
    items: int
    unit: str
    opset: int
    sha256: str
    series: tuple[Series, ...]

    def of(self, side: str) -> Series | None:
        """The series of that side, or None where it did not run this case."""
        return next((s for s in self.series if s.side == side), None)


@dataclass(frozen=True)
class ChangedInput:
    """One input that two builds answered differently; empty where one had none."""

    what: str
    before: str
    after: str


@dataclass(frozen=True)
class InputComparison:
    """What the baseline and the candidate were built of: their locks' sha256, and each difference."""

    baseline: str
    candidate: str
    moved: tuple[ChangedInput, ...]

    @property
    def says(self) -> str:
        if not self.moved:
            return "both were built under equal locks: they differ by recipe and local sources alone"
        first = ", ".join(f"{m.what} {m.before or 'none'} → {m.after or 'none'}" for m in self.moved[:3])
        more = f", and {len(self.moved) - 3} more" if len(self.moved) > 3 else ""
        return f"{len(self.moved)} locked inputs differ from the baseline's: {first}{more}"


@dataclass(frozen=True)
class Benchmarks:
    """One measurement: everything the judge, the report and the history need. `taken` is UTC, ISO 8601.

    `timer` says in words which clock timed the runs, and whether copies to the device are in it. Raises ValueError where
    two cases have one name: a gate would judge either by the other's numbers.
    """

    suite: str
    kind: str
    taken: str
    machine: Fingerprint
    sides: tuple[Side, ...]
    cases: tuple[Case, ...]
    timer: str = ""
    notes: tuple[str, ...] = ()
    inputs: InputComparison | None = None

    def __post_init__(self) -> None:
        if double := first_duplicate(case.name for case in self.cases):
            raise ValueError(f"two cases are called {double}")

    def side(self, label: str) -> Side | None:
        return next((s for s in self.sides if s.label == label), None)

    @property
    def reference_sides(self) -> frozenset[str]:
        """Labels of the sides that ran the bundled kernels' CPU implementation: it checks results, it is not tuned."""
        ours = ("candidate", "baseline")
        kernels = self.kind == "kernels"
        return frozenset(s.label for s in self.sides if kernels and s.label in ours and s.provider.startswith("CPU"))

    @property
    def gpu_ran(self) -> bool:
        """Whether a side with samples ran on another provider than the CPU's."""
        ran = {one.side for case in self.cases for one in case.series if one.seconds}
        return any(side.label in ran and side.provider != "CPUExecutionProvider" for side in self.sides)


class GateOutcome(StrEnum):
    """What a gate decides. Only PASS lets a release through; a waived gate does too, and is marked."""

    PASS = "PASS"
    FAIL = "FAIL"
    INCONCLUSIVE = "INCONCLUSIVE"
    UNSTABLE = "UNSTABLE"


class Evidence(StrEnum):
    INTERLEAVED = "interleaved"
    STORED = "stored"
    MEASURED = "measured"


@dataclass(frozen=True)
class GateVerdict:
    """One gate on one case. `value`, `low` and `high` are in the gate's own unit, `limit` is what they were held to."""

    gate: str
    case: str
    outcome: GateOutcome
    says: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    limit: float | None = None
    unit: str = ""
    pairs: int = 0
    evidence: Evidence = Evidence.MEASURED
    waived: str = ""

    @property
    def closed(self) -> bool:
        return self.outcome is not GateOutcome.PASS and not self.waived


@dataclass(frozen=True)
class Verdict:
    """All the gates of one judgement. `geomean` of the ratios to the baseline is reported, never a gate.

    `of` is the identity of the measurement that was judged, once the verdict leaves the process that judged.
    """

    gates: tuple[GateVerdict, ...]
    geomean: float | None = None
    notes: tuple[str, ...] = ()
    of: str = ""

    @property
    def closed_gates(self) -> tuple[GateVerdict, ...]:
        """The verdicts that fail the release, worst kind first."""
        order = [GateOutcome.FAIL, GateOutcome.UNSTABLE, GateOutcome.INCONCLUSIVE]
        return tuple(sorted((g for g in self.gates if g.closed), key=lambda g: order.index(g.outcome)))

    @property
    def outcome(self) -> GateOutcome:
        return self.closed_gates[0].outcome if self.closed_gates else GateOutcome.PASS

    def undecided_cases(self) -> frozenset[str]:
        """The cases for which more pairs could still decide, or show the machine to be quiet enough after all."""
        open_ended = (GateOutcome.INCONCLUSIVE, GateOutcome.UNSTABLE)
        return frozenset(g.case for g in self.gates if g.outcome in open_ended and g.pairs and not g.waived)


def first_duplicate(names: Iterable[str]) -> str:
    """The first name that comes a second time, or an empty text."""
    return next((name for name, count in Counter(names).items() if count > 1), "")


def side_label(benchmarks: Benchmarks, name: str) -> str:
    """The label of the side that `name` means: a label itself, or the provider of the first side that has it."""
    labels = [s.label for s in benchmarks.sides]
    return name if name in labels else next((s.label for s in benchmarks.sides if s.provider == name), name)


def append_rounds(first: Benchmarks, more: Benchmarks) -> Benchmarks:
    """One measurement continued by another of the same sides: the samples of equal cases follow each other."""
    later = {case.name: case for case in more.cases}
    cases = tuple(_append_case(case, later[case.name]) if case.name in later else case for case in first.cases)
    timer = more.timer or first.timer
    return replace(
        first, cases=cases, timer=timer, notes=first.notes + tuple(n for n in more.notes if n not in first.notes)
    )


def _append_case(first: Case, more: Case) -> Case:
    return replace(first, series=tuple(_append_series(s, more.of(s.side)) for s in first.series))


def _append_series(first: Series, more: Series | None) -> Series:
    if more is None:
        return first
    return replace(
        first,
        seconds=first.seconds + more.seconds,
        create=first.create + more.create,
        first=first.first + more.first,
        host_bytes=_larger(first.host_bytes, more.host_bytes),
        device_bytes=_larger(first.device_bytes, more.device_bytes),
        problem=first.problem or more.problem,
    )


def _larger(a: int | None, b: int | None) -> int | None:
    return a if b is None else b if a is None else max(a, b)
