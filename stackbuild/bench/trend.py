"""The history of a measurement's own cases: what a report draws beside today's figures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from stackbuild.bench.change_points import ChangePoint, change_points
from stackbuild.bench.history import SeriesQuery, find_series, measuring_conditions
from stackbuild.core import digest
from stackbuild.model.history import Figure
from stackbuild.model.results import CONTROL, Benchmarks

UNITS = {"s": ("ms", 1e3), "B": ("MiB", 2.0**-20)}


@dataclass(frozen=True)
class Trend:
    """One series by time, on one machine and provider, with its change points."""

    case: str
    side: str
    figures: tuple[Figure, ...]
    turns: tuple[ChangePoint, ...]

    @property
    def unit(self) -> str:
        return UNITS.get(self.figures[0].unit, (self.figures[0].unit, 1.0))[0]

    @property
    def scale(self) -> float:
        """What a value is multiplied by to be in `unit`."""
        return UNITS.get(self.figures[0].unit, ("", 1.0))[1]

    def describe(self, turn: ChangePoint) -> str:
        """One change point in words: when, from what to what, and with which artifact."""
        figure, scale = self.figures[turn.at], self.scale
        level = f"{turn.before * scale:.4g} to {turn.after * scale:.4g} {self.unit} ({turn.change:+.1%})"
        return f"{figure.taken}: {level}, {figure.artifact or figure.onnxruntime}"


def trend(figures: tuple[Figure, ...]) -> Trend:
    """A series (at least one figure) with its change points."""
    return Trend(figures[0].case, figures[0].side, figures, change_points([figure.value for figure in figures]))


WORTH_DRAWING = 5
"""The fewest results for which a series is drawn; change points need twice as many."""


def trends(file: Path, benchmarks: Benchmarks, least: int = WORTH_DRAWING, most: int = 200) -> tuple[Trend, ...]:
    """The latencies of every case and side of a measurement as the history has them: the latest `most`.

    On its machine, of the same model file, measured the same way.

    A series shorter than `least` is left out.
    """
    machine = digest.of_value(benchmarks.machine.stable)[:16]
    case_sides = [
        (case, side)
        for case in benchmarks.cases
        for one in case.series
        if one.side != CONTROL and (side := benchmarks.side(one.side))
    ]
    queries = (
        SeriesQuery(
            case.name,
            "latency",
            side.label,
            machine,
            side.provider,
            case.sha256,
            measuring_conditions(benchmarks, side),
        )
        for case, side in case_sides
    )
    series = (find_series(file, query) for query in queries)
    return tuple(trend(figures[-most:]) for figures in series if len(figures) >= least)
