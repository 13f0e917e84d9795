"""Gates on one side alone: absolute limits, memory, accuracy, and the share that the provider really ran."""

from __future__ import annotations

import math

from stackbuild.judgement.intervals import Interval, median_interval
from stackbuild.model.gates import AccuracyGate, LimitGate, MemoryGate, ShareGate, least_samples
from stackbuild.model.results import Benchmarks, Case, GateOutcome, GateVerdict, Series, side_label

_UNITS = {"latency": (1e3, "ms"), "create": (1e3, "ms"), "first": (1e3, "ms"), "throughput": (1.0, "/s")}
_MIB = 2.0**20

#: The SNR in dB that an accuracy gate without bounds asks for, by kind of suite and element type. Right ones have on the
#: CPU 114 and more (kernels in float32), 116 and more (models in float32), 49 to 73 (float16), 23 and more (int8):
#: docs/benchmarks.md; float16 kernels 71 to 74 on a GPU: docs/kernels.md. A kernel that is off by 1 % has 40.
SNR_FLOORS = {
    "kernels": {"float32": 100.0, "float16": 60.0},
    "models": {"float32": 60.0, "float16": 40.0, "int8": 20.0},
}
OTHER_FLOOR = 20.0


def limit_verdict(gate: LimitGate, benchmarks: Benchmarks, case: Case) -> GateVerdict:
    """An absolute floor or ceiling: the whole interval must keep it; a memory peak has no interval."""
    series = case.of(side_label(benchmarks, gate.side))
    figure = _figure(gate, case, series) if series else None
    name = gate.name or gate.kind
    if series is None or figure is None:
        return _inconclusive(name, case, f"there is no {gate.metric} of the side {gate.side!r}")
    least = least_samples(gate.confidence)
    if not gate.metric.endswith("memory") and len(series.seconds) < least:
        return _inconclusive(
            name,
            case,
            f"{len(series.seconds)} samples are too few for a {gate.confidence:.0%} interval: it takes {least}",
        )
    if gate.at_most is not None:
        limit, is_within, broken = gate.at_most, figure.high <= gate.at_most, figure.low > gate.at_most
    else:
        limit = gate.at_least or 0.0
        is_within, broken = figure.low >= limit, figure.high < limit
    outcome = GateOutcome.PASS if is_within else GateOutcome.FAIL if broken else GateOutcome.INCONCLUSIVE
    scale, unit = _UNITS.get(gate.metric, (1 / _MIB, "MiB"))
    middle, low, high, bound = (v * scale for v in (figure.median, figure.low, figure.high, limit))
    limit_text = f"{'at most' if gate.at_most is not None else 'at least'} {bound:.4g}"
    says = (
        f"{name}: {gate.metric} of {case.name} is {middle:.4g} {unit} (interval {low:.4g} to {high:.4g}, {limit_text})"
    )
    return GateVerdict(name, case.name, outcome, says, middle, low, high, bound, unit, len(series.seconds))


def memory_verdict(gate: MemoryGate, benchmarks: Benchmarks, case: Case) -> GateVerdict:
    """Peak memory against a ceiling and against another side's peak."""
    name = gate.name or gate.kind
    ours = _peak(case.of(side_label(benchmarks, gate.side)), gate.where)
    if ours is None:
        return _inconclusive(name, case, f"this machine did not tell {gate.where} memory")
    says = f"{name}: {case.name} takes {ours / _MIB:.1f} MiB of {gate.where} memory"
    if gate.at_most is not None and ours > gate.at_most:
        says += f", {(ours - gate.at_most) / _MIB:.1f} MiB over the {gate.at_most / _MIB:.1f} allowed"
        return _memory(name, case, GateOutcome.FAIL, says, ours, gate.at_most)
    if gate.grows_at_most is None:
        return _memory(name, case, GateOutcome.PASS, says, ours, gate.at_most)
    against = side_label(benchmarks, gate.versus)
    if against == side_label(benchmarks, gate.side):
        return _inconclusive(name, case, f"{gate.versus!r} is the side {against!r} itself: nothing is compared")
    theirs = _peak(case.of(against), gate.where)
    if not theirs:
        return _inconclusive(name, case, f"there is no {gate.where} memory of the side {gate.versus!r}")
    growth = ours / theirs - 1
    outcome = GateOutcome.FAIL if growth > gate.grows_at_most else GateOutcome.PASS
    says += f", {growth:+.1%} against {gate.versus} (allowed {gate.grows_at_most:+.1%})"
    return _memory(name, case, outcome, says, ours, theirs * (1 + gate.grows_at_most))


def accuracy_verdict(gate: AccuracyGate, benchmarks: Benchmarks, case: Case) -> GateVerdict:
    """Every bound that the gate names must be kept; a NaN keeps none. The worst bound is the one it says."""
    name = gate.name or gate.kind
    series = case.of(side_label(benchmarks, gate.side))
    accuracy = series.accuracy if series else None
    if accuracy is None:
        return _inconclusive(name, case, f"the output of the side {gate.side!r} was not compared with a reference")
    usual = SNR_FLOORS.get(benchmarks.kind, {}).get(case.dtype, OTHER_FLOOR)
    least = gate.snr_db if gate.has_bound else usual
    floors = {"snr_db": (accuracy.snr_db, least), "cosine": (accuracy.cosine, gate.cosine)}
    ceilings = {m: (getattr(accuracy, m), getattr(gate, m)) for m in ("max_abs", "max_rel", "rms")}
    breaches = [f"{m} {v:.4g} (at least {b:g})" for m, (v, b) in floors.items() if b is not None and not v >= b]
    breaches += [f"{m} {v:.4g} (at most {b:g})" for m, (v, b) in ceilings.items() if b is not None and not v <= b]
    outcome = GateOutcome.FAIL if breaches else GateOutcome.PASS
    worst = "; ".join(breaches) or f"SNR {_decibel(accuracy.snr_db)}, max error {accuracy.max_abs:.3g}"
    loose = (
        ""
        if breaches or accuracy.snr_db >= usual
        else f", below the {usual:g} dB that {case.dtype} allows: the gate's own bounds"
    )
    says = f"{name}: {case.name} against {accuracy.reference}: {worst}{loose}"
    return GateVerdict(name, case.name, outcome, says, accuracy.snr_db, limit=least, unit="dB")


def share_verdict(gate: ShareGate, benchmarks: Benchmarks, case: Case) -> GateVerdict:
    """Whether the provider ran as much of the case as is needed to call it a result of that provider."""
    name = gate.name or gate.kind
    series = case.of(side_label(benchmarks, gate.side))
    if series is None or not series.shares:
        return _inconclusive(name, case, "the run was not profiled")
    share = next((s for s in series.shares if s.provider == gate.provider), None)
    nodes, seconds = (share.nodes, share.seconds) if share else (0.0, 0.0)
    outcome = GateOutcome.PASS if nodes >= gate.nodes and seconds >= gate.seconds else GateOutcome.FAIL
    says = (
        f"{name}: {gate.provider} ran {nodes:.0%} of the nodes and {seconds:.0%} of the time of {case.name} "
        f"(at least {gate.nodes:.0%} and {gate.seconds:.0%})"
    )
    return GateVerdict(name, case.name, outcome, says, nodes, limit=gate.nodes, unit="of nodes")


def _figure(gate: LimitGate, case: Case, series: Series) -> Interval | None:
    if gate.metric in ("host_memory", "device_memory"):
        peak = _peak(series, "host" if gate.metric == "host_memory" else "device")
        return None if peak is None else Interval(peak, peak, peak)
    samples = {"create": series.create, "first": series.first}.get(gate.metric, series.seconds)
    if not samples:
        return None
    interval = median_interval(samples, gate.confidence)
    if gate.metric == "throughput":
        return Interval(case.items / interval.median, case.items / interval.high, case.items / interval.low)
    return interval


def _peak(series: Series | None, where: str) -> int | None:
    if series is None:
        return None
    return series.host_bytes if where == "host" else series.device_bytes


def _memory(name: str, case: Case, outcome: GateOutcome, says: str, ours: int, limit: float | None) -> GateVerdict:
    return GateVerdict(name, case.name, outcome, says, ours / _MIB, limit=limit / _MIB if limit else None, unit="MiB")


def _inconclusive(name: str, case: Case, why: str) -> GateVerdict:
    return GateVerdict(name, case.name, GateOutcome.INCONCLUSIVE, f"{name}: {case.name} cannot be judged: {why}")


def _decibel(value: float) -> str:
    return "exact" if math.isinf(value) and value > 0 else f"{value:.1f} dB"
