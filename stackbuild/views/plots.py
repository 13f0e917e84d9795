"""Where the marks of the report's plots lie: pure geometry, drawn by the templates as inline SVG.

Every plot is 400 wide, so that its text stays readable on a phone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from stackbuild.judgement.intervals import ratio_interval
from stackbuild.model.results import Benchmarks, Case, GateVerdict
from stackbuild.pipeline.run_record import TimeSpan
from stackbuild.views.text import SHOWN_MEMORY, format_duration, format_size

WIDTH, LEFT, RIGHT = 400.0, 10.0, 10.0
LETTER = 6.4
"""RuleDescription the width of a letter of a step's label in the larger of its two sizes, a phone's (`style.css`)."""
_STEPS = (1.0, 2.0, 5.0)


@dataclass(frozen=True)
class AxisTick:
    at: float
    label: str


@dataclass(frozen=True)
class PairPlot:
    """Ratios of one side's time to another's: a dot a pair, the interval's bar, a line at 1 and one at the limit."""

    title: str
    versus: str
    says: str
    height: float
    dots: tuple[tuple[float, float], ...]
    low: float
    median: float
    high: float
    one: float
    limit: float | None
    ticks: tuple[AxisTick, ...]


@dataclass(frozen=True)
class Curve:
    """One side's latency-throughput curve: points as (x, y, batch), and the SVG polyline of them."""

    side: str
    number: int
    points: tuple[tuple[float, float, int], ...]

    @property
    def line(self) -> str:
        return " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in self.points)


@dataclass(frozen=True)
class CurvePlot:
    title: str
    unit: str
    height: float
    curves: tuple[Curve, ...]
    across: tuple[AxisTick, ...]
    up: tuple[AxisTick, ...]


@dataclass(frozen=True)
class Bar:
    """A step on the timeline. Its label begins at `text`, or ends there where there is no room to the right."""

    span: TimeSpan
    x: float
    y: float
    width: float
    label: str
    text: float
    ends: bool


@dataclass(frozen=True)
class Timeline:
    height: float
    bars: tuple[Bar, ...]
    ticks: tuple[AxisTick, ...]
    left_out: int


def pair_plot(
    case: Case, side: str, versus: str, gate: GateVerdict | None, confidence: float = 0.99
) -> PairPlot | None:
    """The pairs of a case, or None where the two sides have none."""
    ours, theirs = case.of(side), case.of(versus)
    pairs = min(len(ours.seconds), len(theirs.seconds)) if ours and theirs else 0
    if not ours or not theirs or not pairs:
        return None
    ratios = [a / b for a, b in zip(ours.seconds[:pairs], theirs.seconds[:pairs], strict=True)]
    interval = ratio_interval(ours.seconds[:pairs], theirs.seconds[:pairs], confidence)
    limit = _limit(gate)
    values = [*ratios, 1.0, *([limit] if limit else [])]
    place = _Scale(min(values), max(values))
    row = 4.0 if pairs > 12 else 7.0
    dots = tuple((place(r), 10 + row * n) for n, r in enumerate(ratios))
    says = f"{interval.median:.3g}× its time ({interval.low:.3g} to {interval.high:.3g}, {pairs} pairs)"
    return PairPlot(
        case.name, versus, says, 10 + row * pairs + 34, dots, place(interval.low), place(interval.median), place(interval.high),
        place(1.0), place(limit) if limit else None, place.ticks(),
    )  # fmt: skip


def _limit(gate: GateVerdict | None) -> float | None:
    """A gate's limit as a ratio of times: a wanted speed-up is its inverse."""
    if gate is None or not gate.limit:
        return None
    return 1 / gate.limit if gate.unit == "×" else gate.limit


def curve_plots(benchmarks: Benchmarks) -> tuple[CurvePlot, ...]:
    """A plot for each model, dtype and form that was measured at two batches or more."""
    from statistics import median

    groups: dict[str, list[Case]] = {}
    for case in benchmarks.cases:
        name = "/".join(part for part in case.name.split("/") if part != f"b{case.batch}")
        groups.setdefault(name, []).append(case)
    plots = []
    for name, cases in groups.items():
        points_by_side = {
            side.label: [(median(s.seconds), c.items / median(s.seconds), c.batch)
                         for c in cases if (s := c.of(side.label)) and s.seconds]
            for side in benchmarks.sides if side.label != "control"
        }  # fmt: skip
        if len({c.batch for c in cases}) > 1 and any(len(points) > 1 for points in points_by_side.values()):
            plots.append(_curve_plot(name, cases[0].unit, points_by_side))
    return tuple(plots)


def _curve_plot(name: str, unit: str, points_by_side: dict[str, list[tuple[float, float, int]]]) -> CurvePlot:
    height = 220.0
    seconds = [p[0] * 1e3 for points in points_by_side.values() for p in points]
    rates = [p[1] for points in points_by_side.values() for p in points]
    across, up = _Scale(min(seconds), max(seconds), 44), _Scale(min(rates), max(rates), 20, height - 34)
    curves = tuple(
        Curve(side, number, tuple((across(s * 1e3), height - 24 - (up(rate) - 20), batch) for s, rate, batch in points))
        for number, (side, points) in enumerate(points_by_side.items())
        if points
    )
    upward = tuple(AxisTick(height - 24 - (t.at - 20), t.label) for t in up.ticks(plain=True))
    return CurvePlot(name, unit, height, curves, across.ticks(plain=True), upward)


def timeline(spans: Sequence[TimeSpan], seconds: float, most: int = 60) -> Timeline | None:
    """The steps that took time, longest kept, by their start; None where nothing did."""
    drawn_spans = [s for s in spans if s.seconds >= 0.05 or s.how == "failed"]
    lasting = sorted(drawn_spans, key=lambda s: (s.how != "failed", -s.seconds))[:most]
    if not lasting:
        return None
    end = max(seconds, *(s.start + s.seconds for s in lasting))
    scale = (WIDTH - LEFT - RIGHT) / end
    bars = tuple(_bar(n, s, scale) for n, s in enumerate(sorted(lasting, key=lambda s: (s.start, s.name))))
    step = _nice(end / 4) if end < 120 else 60 * _nice(end / 240)
    ticks = tuple(AxisTick(LEFT + n * step * scale, _clock(n * step)) for n in range(int(end / step) + 1))
    return Timeline(24.0 * len(bars) + 26, bars, ticks, len(drawn_spans) - len(lasting))


def _bar(number: int, span: TimeSpan, scale: float) -> Bar:
    x, width = LEFT + span.start * scale, max(1.5, span.seconds * scale)
    how = "" if span.how in ("run", "cached") else span.how
    label = " · ".join(filter(None, (span.name, format_duration(span.seconds), _hit_rate(span), _memory(span), how)))
    room = LETTER * len(label)
    ends = x + room > WIDTH
    return Bar(span, x, 4 + 24.0 * number, width, label, max(x + width, min(room, WIDTH)) if ends else x, ends)


def _hit_rate(span: TimeSpan) -> str:
    total = span.hits + span.misses
    return f"ccache {math.floor(1000 * span.hits / total) / 10:g} % of {total}" if total else ""


def _memory(span: TimeSpan) -> str:
    return f"{format_size(span.peak_memory)} of memory" if span.peak_memory >= SHOWN_MEMORY else ""


def _clock(seconds: float) -> str:
    return f"{seconds:g} s" if seconds < 120 else f"{seconds / 60:g} min"


class _Scale:
    """A logarithmic axis over the values, with a margin; calling it gives the place of a value."""

    def __init__(self, low: float, high: float, start: float = LEFT + 6, end: float = WIDTH - RIGHT - 6) -> None:
        room = max(math.log(high / low) * 0.06, 0.004)
        self.low, self.high = math.log(low) - room, math.log(high) + room
        self.start, self.end = start, end

    def __call__(self, value: float) -> float:
        return self.start + (math.log(value) - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, plain: bool = False) -> tuple[AxisTick, ...]:
        """RuleDescription four round values; near 1 they read as per cent more or less."""
        low, high = math.exp(self.low), math.exp(self.high)
        if high / low < 3:
            step = _nice((high - low) / 3.5)
            values = [n * step for n in range(math.ceil(low / step), math.floor(high / step) + 1)]
        else:
            decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
            values = [s * 10.0**d for d in decades for s in _STEPS if low <= s * 10.0**d <= high]
            values = values[:: max(1, round(len(values) / 5))]
        near = not plain and low > 0.4 and high < 2.5
        return tuple(AxisTick(self(v), _near_one(v) if near else _short(v) + ("" if plain else "×")) for v in values)


def _short(value: float) -> str:
    """A value for an axis, which has room for five signs: 20k for 20,000."""
    for least, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= least:
            return f"{value / (1e3 if unit == 'k' else least):.4g}{unit}"
    return f"{value:.4g}"


def _near_one(ratio: float) -> str:
    """A ratio as per cent more or less than 1."""
    percent = round((ratio - 1) * 100, 1)
    return f"{percent:+g} %" if percent else "equal"


def _nice(step: float) -> float:
    """The next 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(s * power for s in (*_STEPS, 10.0) if s * power >= step * 0.999)
