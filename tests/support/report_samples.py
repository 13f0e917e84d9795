"""A run, a measurement and a verdict with markup and control characters in every text."""

from __future__ import annotations

from stackbuild.model.findings import Finding, Rung, Severity, Status, Verification
from stackbuild.model.results import (
    Accuracy,
    Benchmarks,
    Case,
    ChangedInput,
    Evidence,
    Fingerprint,
    GateOutcome,
    GateVerdict,
    InputComparison,
    OpTime,
    Series,
    Share,
    Side,
    Verdict,
)
from stackbuild.pipeline.run_record import RunRecord, TimeSpan

EVIL = "<script>alert(1)</script> \x1b[31m ::error::x ![a](http://evil) | @all `x` ]]> [link=http://evil]y[/link]"


def results() -> Benchmarks:
    sides = (Side("candidate", "ROCMExecutionProvider", EVIL, "ab" * 32), Side("baseline", "ROCMExecutionProvider"))
    cases = tuple(_case(batch) for batch in (1, 4, 16))
    inputs = InputComparison("a" * 64, "b" * 64, (ChangedInput(EVIL, EVIL, ""),))
    machine = Fingerprint({"cpu": EVIL})
    return Benchmarks("models", "models", "2026-11-20T09:00:00Z", machine, sides, cases, EVIL, (EVIL,), inputs)


def _case(batch: int) -> Case:
    seconds = tuple(0.01 * batch**0.7 * (1 + n % 3 / 50) for n in range(20))
    accuracy = Accuracy("float32", 1e-5, 1e-4, 1e-6, 1.0, float("inf"))
    ours = Series("candidate", seconds, seconds, seconds, 1 << 20, None, accuracy, (Share("CPU", 1.0, 1.0),),
                  (OpTime(EVIL, "CPU", 0.01, 3),))  # fmt: skip
    theirs = Series("baseline", tuple(s * 1.1 for s in reversed(seconds)), seconds, seconds, problem="")
    return Case(
        f"net/b{batch}/float32",
        "net",
        "float32",
        {"x": (batch, 3)},
        batch,
        batch,
        "image",
        17,
        "0" * 64,
        (ours, theirs),
    )


def verdict(waived: str = "") -> Verdict:
    gate = GateVerdict("baseline", "net/b1/float32", GateOutcome.FAIL, f"7 % slower than baseline ({EVIL}", 1.07, 1.06, 1.08, 1.05,
                       "× time", 20, Evidence.STORED, waived)  # fmt: skip
    return Verdict((gate,), 1.01, (EVIL,))


def whole_run() -> RunRecord:
    finding = Finding("SB-X", Severity.ERROR, EVIL, EVIL, EVIL, EVIL)
    rung = Rung("static", Status.FAILED, EVIL, 1.0, (finding,))
    steps = (
        TimeSpan("base", 0, 40, "run", 9, 1),
        TimeSpan("wheel", 40, 0, "failed", says=EVIL),
        TimeSpan("old", 0, 0, "cached"),
    )
    return RunRecord(
        EVIL, "2026-11-20", 41.0, steps, (TimeSpan("verify", 40, 1, "run", says=EVIL),), (EVIL,),
        (Verification(EVIL, "0" * 64, (rung,)),), results(), verdict(), facts={"recipe": EVIL},
    )  # fmt: skip
