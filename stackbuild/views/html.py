"""A run as one self-contained HTML page: no script, no network, light and dark, phone and print.

What is computed here is only what a template cannot: the plots' geometry and the rows of tables. All text goes through
the template's escaping.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median

from stackbuild.bench.tables import SpeedTable, efficiency, format_figure, speed_table
from stackbuild.core.templates import render
from stackbuild.judgement.intervals import median_interval
from stackbuild.model.findings import Finding, Severity, Verification
from stackbuild.model.results import CONTROL, Benchmarks, Case, GateVerdict, InputComparison, Series
from stackbuild.pipeline.run_record import RunRecord
from stackbuild.version import __version__
from stackbuild.views.plots import PairPlot, curve_plots, pair_plot, timeline
from stackbuild.views.text import format_duration, format_size, headline, qualifications
from stackbuild.views.trend_plot import TrendPlot, trend_plot


@dataclass(frozen=True)
class PageColumn:
    """A column: its heading, and what its cells are: text "", numbers "n", or the name of a status "chip-cell"."""

    label: str
    kind: str = ""


@dataclass(frozen=True)
class PageTable:
    """A table of the page. `title` is its name for screen readers; the first cell of a row is the row's heading."""

    title: str
    columns: tuple[PageColumn, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class CaseCard:
    """One case: its verdicts, its plots of pairs, and a row for each figure with a cell for each side."""

    case: Case
    verdicts: tuple[GateVerdict, ...]
    plots: tuple[PairPlot, ...]
    trends: tuple[TrendPlot, ...]
    figures: PageTable
    problems: tuple[tuple[str, str], ...]
    ops: PageTable


def html(run: RunRecord) -> str:
    """The whole page."""
    benchmarks = run.benchmarks
    speeds = speed_table(benchmarks) if benchmarks else None
    cards = _cards(benchmarks, run) if benchmarks else ()
    facts, delivery = _facts(run), run.delivery
    return render(
        "report/page.html.j2",
        run=run,
        headline=headline(run),
        claims=qualifications(run),
        delivered=bool(delivery.wheels or delivery.install or delivery.files),
        size=format_size,
        sections=_sections(run, cards, facts),
        version=__version__,
        figure=format_figure,
        clock=format_duration,
        cards=cards,
        curves=curve_plots(benchmarks) if benchmarks else (),
        speeds=speeds,
        latency=_latency(speeds) if speeds else None,
        inputs=_inputs(benchmarks.inputs) if benchmarks and benchmarks.inputs else None,
        verifications=[(one, _rungs(one)) for one in run.verifications],
        stages=_stages(run),
        steps=timeline([*run.steps, *run.stages], run.seconds),
        counts=_counts(run),
        findings=_findings(run),
        facts=facts,
    )


def _cards(benchmarks: Benchmarks, run: RunRecord) -> tuple[CaseCard, ...]:
    gates = run.verdict.gates if run.verdict else ()
    drawings = [(series.case, trend_plot(series)) for series in run.history]
    return tuple(
        _card(
            case,
            tuple(gate for gate in gates if gate.case == case.name),
            tuple(plot for name, plot in drawings if name == case.name),
        )
        for case in benchmarks.cases
    )


def _card(case: Case, verdicts: tuple[GateVerdict, ...], trends: tuple[TrendPlot, ...]) -> CaseCard:
    sides = [s.side for s in case.series if s.side != CONTROL]
    first = "candidate" if "candidate" in sides else (sides or [""])[0]
    plots = tuple(
        plot
        for versus in sides
        if versus != first and (plot := pair_plot(case, first, versus, _gate_on(verdicts, versus)))
    )
    series = [s for s in case.series if s.side != CONTROL]
    problems = tuple((s.side, s.problem) for s in series if s.problem)
    return CaseCard(case, verdicts, plots, trends, _figures(case, series), problems, _ops(case))


def _gate_on(verdicts: tuple[GateVerdict, ...], versus: str) -> GateVerdict | None:
    """The verdict whose limit belongs on the plot against that side: it names it in what it says."""
    return next((v for v in verdicts if v.unit.startswith("×") and f"{versus} (" in v.says), None)


def _figures(case: Case, series: list[Series]) -> PageTable:
    """A row for each figure and a column for each side, without the rows that are empty for every side."""
    columns = [_column(case, one) for one in series]
    names = list(columns[0]) if columns else []
    rows = ((name, *(column[name] for column in columns)) for name in names)
    sides = (PageColumn(s.side.removesuffix("ExecutionProvider"), "n") for s in series)
    return PageTable(f"Figures of {case.name}", (PageColumn("figure"), *sides), tuple(r for r in rows if any(r[1:])))


def _column(case: Case, one: Series) -> dict[str, str]:
    """One side's figures, as text; empty where it has none."""
    interval = median_interval(one.seconds, 0.99) if one.seconds else None
    share = one.shares[0] if one.shares else None
    return {
        "latency, ms": format_figure(interval.median * 1e3) if interval else "",
        "99 % interval, ms": _interval(one.seconds),
        f"{case.unit}s per second": format_figure(case.items / interval.median) if interval else "",
        "first inference, ms": format_figure(median(one.first) * 1e3) if one.first else "",
        "scaling efficiency": f"{efficiency_value:.0%}"
        if (efficiency_value := efficiency(case, one.side)) is not None
        else "",
        "session creation, ms": format_figure(median(one.create) * 1e3) if one.create else "",
        "host memory, MiB": _mib(one.host_bytes),
        "device memory, MiB": _mib(one.device_bytes),
        "signal to noise": _snr(one),
        "largest error": f"{one.accuracy.max_abs:.1e}" if one.accuracy else "",
        "ran on": f"{share.provider.removesuffix('ExecutionProvider')} {share.nodes:.0%}" if share else "",
    }


def _interval(seconds: tuple[float, ...]) -> str:
    """The interval of the median; of fewer than eight samples no 99 % interval can be had, so their range."""
    if not seconds:
        return ""
    interval = median_interval(seconds, 0.99)
    text = f"{format_figure(interval.low * 1e3)} – {format_figure(interval.high * 1e3)}"
    return text if len(seconds) >= 8 else f"{text} (range of {len(seconds)})"


def _mib(size: int | None) -> str:
    return "" if size is None else f"{size / 2**20:.1f}"


def _snr(one: Series) -> str:
    if one.accuracy is None:
        return ""
    snr = one.accuracy.snr_db
    return "exact" if math.isinf(snr) and snr > 0 else f"{snr:.0f} dB"


def _ops(case: Case, most: int = 8) -> PageTable:
    rows = []
    for one in case.series:
        total = sum(op.seconds for op in one.ops) or 1.0
        for op in sorted(one.ops, key=lambda o: -o.seconds)[:most]:
            provider = op.provider.removesuffix("ExecutionProvider")
            rows.append((one.side, f"{op.op} ×{op.nodes}", provider, f"{op.seconds / total:.1%}"))
    columns = (PageColumn("side"), PageColumn("operator"), PageColumn("provider"), PageColumn("share", "n"))
    return PageTable(f"Time by operator of {case.name}", columns, tuple(rows))


def _latency(speeds: SpeedTable) -> PageTable:
    ratios = (PageColumn(f"{speeds.sides[n]} speed-up over {speeds.sides[0]}", "n") for n in speeds.compared_columns)
    columns = (PageColumn("case"), *(PageColumn(f"{side} ms", "n") for side in speeds.sides), *ratios)
    rows = (
        (
            row.case,
            *(format_figure(s * 1000) if s else "–" for s in row.seconds),
            *(f"{s:.3g}×" if (s := row.speedups[n]) else "–" for n in speeds.compared_columns),
        )
        for row in speeds.rows
    )
    return PageTable("Latency by side", columns, tuple(rows))


def _inputs(inputs: InputComparison) -> PageTable:
    columns = (PageColumn("input"), PageColumn("baseline"), PageColumn("candidate"))
    return PageTable("Changed inputs", columns, tuple((m.what, m.before or "–", m.after or "–") for m in inputs.moved))


def _rungs(verification: Verification) -> PageTable:
    columns = (PageColumn("check"), PageColumn("result", "chip-cell"), PageColumn("why"), PageColumn("time, s", "n"))
    rows = ((rung.name, rung.status.value, rung.reason, f"{rung.seconds:.2f}") for rung in verification.rungs)
    return PageTable(f"Checks of {verification.subject}", columns, tuple(rows))


def _stages(run: RunRecord) -> PageTable:
    columns = (PageColumn("stage"), PageColumn("result"), PageColumn("time, s", "n"))
    rows = ((s.name + " (cached)" * (s.how == "cached"), s.says, f"{s.seconds:.1f}") for s in run.stages)
    return PageTable("Stages", columns, tuple(rows))


def _sections(run: RunRecord, cards: tuple[CaseCard, ...], facts: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    """The sections that the page has, by anchor, in its order."""
    inputs = run.benchmarks.inputs if run.benchmarks else None
    return [
        (anchor, title)
        for anchor, title, there in (
            ("verdicts", "Gates", run.verdict),
            ("inputs", "Changed inputs", inputs),
            ("build", "Build", run.steps),
            *((one.step, f"CUDA as HIP: {one.step}", True) for one in run.conversions),
            ("verification", "Verification", run.verifications),
            ("benchmarks", "Benchmarks", cards),
            ("stages", "Stages", run.stages),
            ("provenance", "Provenance", facts),
        )
        if there
    ]


def _counts(run: RunRecord) -> dict[str, str]:
    """What the build did, in a line."""
    if not run.steps:
        return {}
    how = {kind: sum(s.how == kind for s in run.steps) for kind in ("run", "cached", "reused", "failed", "unfinished")}
    hits, compile_count = sum(s.hits for s in run.steps), sum(s.hits + s.misses for s in run.steps)
    counts = {kind: str(number) for kind, number in how.items() if number}
    if compile_count:
        counts["ccache hits"] = f"{math.floor(1000 * hits / compile_count) / 10:g} % of {compile_count}"
    return counts


def _findings(run: RunRecord) -> tuple[tuple[str, Finding], ...]:
    """Every finding with what it was found in, errors first."""
    order = [Severity.ERROR, Severity.WARNING, Severity.NOTE]
    rows = [(v.subject, f) for v in run.verifications for f in v.findings]
    return tuple(sorted(rows, key=lambda pair: order.index(pair[1].severity)))


def _facts(run: RunRecord) -> tuple[tuple[str, str], ...]:
    """Provenance: the run's own facts, the machine, what each side was, and the models' digests."""
    facts = list(run.facts.items())
    if run.benchmarks:
        machine = run.benchmarks.machine
        facts += [("measured", run.benchmarks.taken), ("timer", run.benchmarks.timer)]
        facts += [*machine.stable.items(), *((f"{k} (at the time)", v) for k, v in machine.passing.items())]
        for side in run.benchmarks.sides:
            if side.label != CONTROL:
                what = [side.artifact, f"sha256 {side.sha256}" if side.sha256 else "", f"on {side.provider}"]
                what += [f"{k}={v}" for k, v in side.options.items()]
                what += [f"{k} {side.libraries[k]}" for k in ("onnxruntime", "numpy", "python") if k in side.libraries]
                facts.append((f"side {side.label}", ", ".join(w for w in what if w)))
        facts += [(f"model of {c.name}", f"opset {c.opset}, sha256 {c.sha256}") for c in run.benchmarks.cases]
    return tuple(facts)
