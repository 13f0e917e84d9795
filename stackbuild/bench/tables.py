"""The tables that the field prints, as values: drawn on a terminal, in HTML and in Markdown alike."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from stackbuild.model.results import CONTROL, Benchmarks, Case, Side

REFERENCE_NOTE = (
    "No speed-up is given: the kernels ran on the CPU. Their CPU implementation checks results and is not tuned; "
    "its times say nothing about a GPU."
)
"""What stands beside the times of sides that ran a reference implementation."""


@dataclass(frozen=True)
class SpeedRow:
    """One case over the sides: seconds by side (None where it did not run), and each side's speed-up over the first.

    The first side is the slowest kind there is to compare with: the CPU provider if it was measured. A side that ran a
    reference implementation has no speed-up.
    """

    model: str
    case: str
    batch: int
    seconds: tuple[float | None, ...]
    speedups: tuple[float | None, ...]


@dataclass(frozen=True)
class SpeedTable:
    """Sides in the order of the columns, and a row per case. `note` says why a side has no speed-up, "" if each has."""

    sides: tuple[str, ...]
    rows: tuple[SpeedRow, ...]
    note: str = ""

    @property
    def compared_columns(self) -> tuple[int, ...]:
        """The columns after the first that have a speed-up."""
        return tuple(n for n in range(1, len(self.sides)) if any(row.speedups[n] for row in self.rows))


def column_name(side: Side, alone: bool = False) -> str:
    """What a column is called: the provider for a provider's side and a candidate without a baseline, else the label."""
    name = {"ROCMExecutionProvider": "ROCm"}.get(side.provider, side.provider.removesuffix("ExecutionProvider"))
    return name if side.label == side.provider or alone else side.label


def format_figure(value: float) -> str:
    """A value for people: four figures, and a whole number from a thousand on instead of a power of ten."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def speed_table(benchmarks: Benchmarks) -> SpeedTable | None:
    """Latency by side with speed-ups; None where there is only one side."""
    sides = sorted((s for s in benchmarks.sides if s.label != CONTROL), key=_slowest_first)
    if len(sides) < 2:
        return None
    rows = tuple(_row(case, sides, benchmarks.reference_sides) for case in benchmarks.cases)
    others = {s.provider for s in sides if s.label != "candidate"}
    alone = not any(s.label == "baseline" for s in sides)
    names = (column_name(s, alone and s.label == "candidate" and s.provider not in others) for s in sides)
    return SpeedTable(tuple(names), rows, REFERENCE_NOTE if benchmarks.reference_sides else "")


def _slowest_first(side: Side) -> tuple[bool, bool]:
    return (side.label in ("candidate", "baseline") and not side.provider.startswith("CPU"), side.label == "candidate")


def _row(case: Case, sides: list[Side], reference: frozenset[str]) -> SpeedRow:
    series = [case.of(side.label) for side in sides]
    seconds = tuple(median(s.seconds) if s and s.seconds and not s.problem else None for s in series)
    base = seconds[0]
    speedups = tuple(
        base / s if base and s and side.label not in reference else None for side, s in zip(sides, seconds, strict=True)
    )
    return SpeedRow(case.model, case.name, case.batch, seconds, speedups)


def efficiency(case: Case, side: str) -> float | None:
    """Scaling efficiency of a side called `N devices`: time on one device over N times its own. None for others."""
    one, several = case.of("candidate"), case.of(side)
    count = side.removesuffix(" devices")
    if not (count.isdigit() and one and several and one.seconds and several.seconds):
        return None
    return median(one.seconds) / (int(count) * median(several.seconds))
