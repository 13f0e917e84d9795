"""A series of the history as a picture: pure geometry, drawn by the report's template as inline SVG."""

from __future__ import annotations

import math
from dataclasses import dataclass

from stackbuild.bench.trend import Trend

LEFT, RIGHT, TOP, FOOT, HEIGHT = 44.0, 390.0, 10.0, 116.0, 140.0


@dataclass(frozen=True)
class TrendPlot:
    """A dot a result, the level between change points, a mark at each of them; `says` are the change points in words."""

    title: str
    points: tuple[tuple[float, float], ...]
    levels: tuple[tuple[float, float, float], ...]
    marks: tuple[float, ...]
    up: tuple[tuple[float, str], ...]
    first: str
    last: str
    says: tuple[str, ...]
    height: float = HEIGHT


def trend_plot(trend: Trend) -> TrendPlot:
    """The picture of a series."""
    values = [figure.value * trend.scale for figure in trend.figures]
    low, high = min(values), max(values)
    room = (high - low) * 0.12 or high * 0.02
    low, high = low - room, high + room

    def across(index: float) -> float:
        return LEFT + 8 + index / max(1, len(values) - 1) * (RIGHT - LEFT - 16)

    def up(value: float) -> float:
        return FOOT - (value - low) / (high - low) * (FOOT - TOP)

    edges = [0, *(turn.at for turn in trend.turns), len(values)]
    medians = [*(t.before for t in trend.turns[:1]), *(t.after for t in trend.turns)]
    levels = tuple((across(edges[n]), across(edges[n + 1] - 1), up(m * trend.scale)) for n, m in enumerate(medians))
    return TrendPlot(
        f"{trend.side} over {len(values)} results, {trend.unit}",
        tuple((across(n), up(v)) for n, v in enumerate(values)), levels,
        tuple((across(t.at - 1) + across(t.at)) / 2 for t in trend.turns),
        tuple((up(v), f"{v:.4g}") for v in _round(low, high)),
        trend.figures[0].taken[:10], trend.figures[-1].taken[:10], tuple(map(trend.describe, trend.turns)),
    )  # fmt: skip


def _round(low: float, high: float) -> list[float]:
    """Two to five round values between."""
    power = 10.0 ** math.floor(math.log10((high - low) / 2))
    step = next(s * power for s in (5.0, 2.0, 1.0) if s * power <= (high - low) / 2)
    return [n * step for n in range(math.ceil(low / step), math.floor(high / step) + 1)]
