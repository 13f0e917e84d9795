"""Draws benchmarks, verdicts, advice, changes and history for a person."""

from __future__ import annotations

import math
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from stackbuild.bench.tables import efficiency, format_figure, speed_table
from stackbuild.core.cancel import signal_handler, unless_ignored
from stackbuild.core.errors import Interruption, safe
from stackbuild.judgement.intervals import median_interval
from stackbuild.model.results import CONTROL, Benchmarks, Case, GateOutcome, InputComparison, Series, Verdict
from stackbuild.views.console import (
    Text,
    err,
    escape,
    out,
    progress_bar,
    table,
)

if TYPE_CHECKING:
    from stackbuild.bench.advice import Advice
    from stackbuild.bench.compare import FigureChange
    from stackbuild.bench.experiment import ProgressCallback
    from stackbuild.bench.trend import Trend

STYLE = {
    GateOutcome.PASS: "green",
    GateOutcome.FAIL: "bold red",
    GateOutcome.INCONCLUSIVE: "yellow",
    GateOutcome.UNSTABLE: "yellow",
}
_BLOCKS = "▁▂▃▄▅▆▇█"


@contextmanager
def progress() -> Iterator[ProgressCallback]:
    """A bar with the time left on a terminal; nothing in a pipe. SIGTERM or SIGHUP within ends the worker and raises Stopped."""
    with progress_bar() as bar:
        task = bar.add_task("starting", total=None)

        def tick(what: str, remaining: int) -> None:
            text = what if len(what) <= 48 else what[:47] + "…"
            bar.advance(task)
            completed_count = bar.tasks[0].completed
            bar.update(
                task, description=escape(safe(text, keep="")), total=completed_count + remaining if remaining else None
            )

        with signal_handler(unless_ignored(signal.SIGTERM, signal.SIGHUP), _stop):
            yield tick


def _text(text: str, style: str = "") -> Text:
    """A line or a cell, safe for a terminal: names come from files and must not move the cursor or forge a line."""
    return Text(safe(text, keep=""), style)


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    raise Interruption(number, next="run the same command again; models that were made are kept")


_HEAD = f"  {'side':13}{'ms':>9}{'99 % interval':>20}{'per s':>11}{'first ms':>10}{'create ms':>11}{'MiB':>7}{'GPU MiB':>9}{'SNR dB':>8}"


def draw_benchmarks(benchmarks: Benchmarks) -> None:
    """Every case and side: latency with its interval, throughput, first inference, creation, memory, error."""
    out().print(_text(_HEAD, "bold"))
    providers = {side.label: side.provider for side in benchmarks.sides}
    for case in benchmarks.cases:
        out().print(_text(case.name))
        for one in (s for s in case.series if s.side != CONTROL):
            out().print(_text(_row(case, one)))
            _warn_of_share(one, providers[one.side])
            if (efficiency_value := efficiency(case, one.side)) is not None:
                out().print(_text(f"    scaling efficiency {efficiency_value:.0%}"))
    _draw_speeds(benchmarks)
    machine = ", ".join(f"{k} {v}" for k, v in benchmarks.machine.stable.items())
    err().print(_text("; ".join(part for part in (benchmarks.timer, machine) if part), "dim"))
    if any(len(s.seconds) < 8 for case in benchmarks.cases for s in case.series):
        err().print(_text("fewer than 8 samples bear no 99 % interval: theirs are ranges", "dim"))
    for note in benchmarks.notes:
        err().print(_text(note, "yellow"))


def _row(case: Case, one: Series) -> str:
    side = one.side.removesuffix("ExecutionProvider")[:12]
    if one.problem or not one.seconds:
        return f"  {side:13}did not run: {' '.join(one.problem.split()) or 'a round counts only where every side runs'}"
    estimate = median_interval(one.seconds, 0.99)
    interval = f"{milliseconds(estimate.low)} – {milliseconds(estimate.high)}"
    snr = one.accuracy.snr_db if one.accuracy else math.nan
    decibel = "" if math.isnan(snr) else "exact" if snr == math.inf else f"{snr:.0f}"
    host, device = ("" if size is None else f"{size / 2**20:.0f}" for size in (one.host_bytes, one.device_bytes))
    return (
        f"  {side:13}{milliseconds(estimate.median):>9}{interval:>20}{format_figure(case.items / estimate.median):>11}"
        f"{_middle(one.first):>10}{_middle(one.create):>11}{host:>7}{device:>9}{decibel:>8}"
    )


def _middle(seconds: Sequence[float]) -> str:
    return milliseconds(median(seconds)) if seconds else ""


def _warn_of_share(one: Series, provider: str) -> None:
    """Say so where the provider did not run everything: the silent fall-back to the CPU is the classic."""
    share = next((s for s in one.shares if s.provider == provider), None)
    if one.shares and (share is None or share.nodes < 1):
        nodes, seconds = (share.nodes, share.seconds) if share else (0.0, 0.0)
        out().print(_text(f"    {provider} ran only {nodes:.0%} of the nodes, {seconds:.0%} of the time", "yellow"))


def _draw_speeds(benchmarks: Benchmarks) -> None:
    """The table that guides print: latency by provider, and the speed-up over the first column."""
    speeds = speed_table(benchmarks)
    if speeds is None:
        return
    speedups = [
        f"{speeds.sides[n]} speed-up" if len(speeds.compared_columns) > 1 else "speed-up"
        for n in speeds.compared_columns
    ]
    drawing = table("case", *(f"{side} ms" for side in speeds.sides), *speedups)
    for row in speeds.rows:
        times = ["" if s is None else milliseconds(s) for s in row.seconds]
        ratios = [f"{s:.3g}×" if (s := row.speedups[n]) else "" for n in speeds.compared_columns]
        drawing.add_row(*map(_text, [row.case, *times, *ratios]))
    out().print(drawing)
    if speeds.note:
        out().print(_text(speeds.note, "dim"))


def milliseconds(seconds: float) -> str:
    """Four figures, in ms."""
    return format_figure(seconds * 1e3)


def draw_profile(benchmarks: Benchmarks, most: int = 12) -> None:
    """Where the time goes, by operator and provider."""
    for case in benchmarks.cases:
        for one in (s for s in case.series if s.ops):
            total = sum(op.seconds for op in one.ops) or 1.0
            drawing = table("operator", "provider", "nodes", "ms", "share", title=f"{case.name}, {one.side}")
            for op in sorted(one.ops, key=lambda o: -o.seconds)[:most]:
                row = (op.op, op.provider, str(op.nodes), milliseconds(op.seconds), f"{op.seconds / total:.1%}")
                drawing.add_row(*map(_text, row))
            out().print(drawing)


def draw_kernels(benchmarks: Benchmarks, most: int = 12) -> None:
    """GPU kernels by time, with what rocprofv3 counted."""
    for case in benchmarks.cases:
        for one in (s for s in case.series if s.kernels):
            names = sorted({name for kernel in one.kernels for name in kernel.counters})
            drawing = table("GPU kernel", "dispatches", "ms", *names, title=f"{case.name}, {one.side}")
            for kernel in one.kernels[:most]:
                figures = [f"{kernel.counters[n]:.3g}" if n in kernel.counters else "" for n in names]
                drawing.add_row(
                    *map(_text, [kernel.kernel, str(kernel.dispatches), milliseconds(kernel.seconds), *figures])
                )
            out().print(drawing)


def draw_verdict(verdict: Verdict) -> None:
    """One line a gate, the closed ones first."""
    order = [*verdict.closed_gates, *(g for g in verdict.gates if not g.closed)]
    for gate in order:
        line = Text.assemble((f"{gate.outcome.value:12}", STYLE[gate.outcome]), " ", safe(gate.says, keep=""))
        if gate.evidence.value == "stored":
            line.append("  [stored results: weaker evidence]", "dim")
        if gate.waived:
            line.append(safe(f"  waived: {gate.waived}", keep=""), "dim")
        out().print(line)
    if verdict.geomean:
        out().print(_text(f"geometric mean of the ratios: {verdict.geomean - 1:+.1%} time (shown, not judged)", "dim"))
    for note in verdict.notes:
        err().print(_text(note, "yellow"))


def draw_inputs(inputs: InputComparison | None, most: int = 40) -> None:
    """What the two builds were made of otherwise, by their locks."""
    if inputs is None or not inputs.moved:
        return
    drawing = table("input", "baseline", "candidate")
    for one in inputs.moved[:most]:
        drawing.add_row(*map(_text, (one.what, one.before or "–", one.after or "–")))
    out().print(drawing)
    if len(inputs.moved) > most:
        out().print(_text(f"and {len(inputs.moved) - most} more: see the report", "dim"))


def draw_advice(advice: Advice) -> None:
    """The latency-throughput curve, the advised batch, and the ladders."""
    drawing = table("batch", "latency ms", "per s", "of best", "")
    for point in advice.curve:
        share = point.throughput / advice.best.throughput
        mark = "← use this" if point is advice.advised else ""
        row = (str(point.batch), milliseconds(point.seconds), format_figure(point.throughput), f"{share:.1%}", mark)
        drawing.add_row(*map(_text, row))
    out().print(drawing)
    sentence = f"batch {advice.advised.batch} is the smallest within {advice.within:.0%} of the best (batch {advice.best.batch})"
    out().print(_text(sentence))
    for ladder in advice.ladders:
        sizes = ", ".join(map(str, ladder.sizes))
        sentence = f"compiled for {sizes}: {milliseconds(ladder.seconds_per_item)} ms a real item, {ladder.padding:.0%} padding"
        out().print(_text(sentence))


def draw_changes(changes: Sequence[FigureChange], before: str, after: str) -> None:
    """The release-to-release table."""
    drawing = table("case", "metric", before, after, "change")
    for change in changes:
        style = "green" if change.better > 0.02 else "red" if change.better < -0.02 else ""
        cells = [
            change.case,
            change.metric,
            *(f"{format_figure(value)} {change.unit}" for value in (change.before, change.after)),
        ]
        drawing.add_row(*map(_text, cells), _text(_change_text(change.better), style))
    out().print(drawing)


def _change_text(better: float) -> str:
    """How much better or worse, to the tenth of a per cent."""
    text = f"{abs(better):.1%}"
    return "same" if text == "0.0%" else f"{text} {'better' if better > 0 else 'worse'}"


def draw_history(trend: Trend) -> None:
    """A line of blocks with the change points under it, then the change points in words."""
    rows, values = trend.figures, [row.value for row in trend.figures]
    low, high = min(values), max(values)
    tail = values[-120:]
    blocks = "".join(_BLOCKS[round(7 * (v - low) / (high - low))] if high > low else _BLOCKS[3] for v in tail)
    marks = [" "] * len(values)
    for turn in trend.turns:
        marks[turn.at] = "▲"
    of = f"{rows[0].metric} by {rows[0].side} on {rows[0].provider}"
    out().print(_text(f"{rows[0].case}, {of}: {len(rows)} results"))
    out().print(_text(f"{blocks}  {low * trend.scale:.4g} to {high * trend.scale:.4g} {trend.unit}"))
    out().print(_text("".join(marks[-120:]).rstrip()))
    for turn in trend.turns:
        out().print(_text(f"▲ {trend.describe(turn)}"))
    if not trend.turns:
        out().print(
            _text("no change points" if len(rows) >= 10 else "no change points: at least ten results are needed")
        )


def draw_cases(cases: Sequence[tuple[str, str, int]]) -> None:
    """What the history holds."""
    drawing = table("case", "side", "results")
    for case, side, count in cases:
        drawing.add_row(_text(case), _text(side), _text(str(count)))
    out().print(drawing)
