"""A run as Markdown for a CI summary: what fits, most important first, and nothing in it can act.

GitHub drops a step summary of more than 1 MiB whole, and a comment of more than 65,536 characters. To keep the limit,
whole blocks are left out from the end, and a note says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from statistics import median

from stackbuild.bench.tables import format_figure, speed_table
from stackbuild.model.findings import Verification
from stackbuild.model.results import CONTROL, Benchmarks, GateVerdict
from stackbuild.pipeline.run_record import RunRecord
from stackbuild.views.junit import case_results
from stackbuild.views.text import format_size, headline, qualifications

_MARKS = {"good": "✅", "bad": "❌", "unsure": "⚠️"}
_ACTIVE = re.compile(r"([\\`*_\[\]<>#|~@:$&])")


def markdown(run: RunRecord, limit: int = 1_000_000) -> str:
    """The summary, at most `limit` bytes of UTF-8."""
    line, kind = headline(run)
    blocks = [f"# {escape_markdown(run.title)}", f"{_MARKS[kind]} **{escape_markdown(line)}**"]
    blocks += [escape_markdown(f"{subject}: {claim}") for subject, claim in qualifications(run)]
    blocks += _delivery(run)
    if run.verdict:
        blocks += ["## Gates", *_gates([*run.verdict.closed_gates, *(g for g in run.verdict.gates if not g.closed)])]
        blocks += map(escape_markdown, run.verdict.notes)
    if run.failures:
        blocks += ["## Failed", *(f"**{escape_markdown(s.name)}** {s.how}\n\n{_quote(s.says)}" for s in run.failures)]
    if run.verifications:
        blocks += _cases(run.verifications)
    for one in run.conversions:
        rows = [[t.first.severity.value, t.first.rule, str(t.count), t.first.found, t.first.fix] for t in one.rules]
        says = (
            f"{one.converted} of {one.files} files converted from CUDA, {sum(one.substitutions.values())} substitutions"
        )
        blocks += [
            f"## {escape_markdown(one.step)}",
            says,
            *_table(["severity", "rule", "count", "first", "fix"], rows),
        ]
    findings = [(v.subject, f) for v in run.verifications for f in v.findings]
    if findings:
        rows = [[f.severity.value, f.rule, f.subject, f.found, f.fix] for _, f in findings]
        blocks += ["## Findings", *_table(["severity", "rule", "subject", "found", "fix"], rows)]
    if run.benchmarks and run.benchmarks.inputs and run.benchmarks.inputs.moved:
        rows = [[m.what, m.before or "–", m.after or "–"] for m in run.benchmarks.inputs.moved]
        blocks += ["## What changed since the baseline", *_table(["input", "baseline", "candidate"], rows)]
    if run.benchmarks:
        blocks += _benchmarks(run.benchmarks)
    if run.history:
        rows = [
            [h.case, h.side, str(len(h.figures)), "; ".join(map(h.describe, h.turns)) or "none"] for h in run.history
        ]
        blocks += ["## History", *_table(["case", "side", "results", "change points"], rows)]
    if run.steps:
        slow = sorted(run.steps, key=lambda s: -s.seconds)[:20]
        rows = [
            [
                s.name,
                s.how,
                f"{s.seconds:.1f}",
                f"{s.hits}/{s.hits + s.misses}",
                format_size(s.peak_memory) if s.peak_memory else "–",
            ]
            for s in slow
        ]
        blocks += ["## Build", *_table(["step", "how", "s", "ccache hits", "peak memory"], rows)]
    return _fit(blocks, limit)


def markdown_of_verifications(verifications: Sequence[Verification]) -> str:
    """The cases of the JUnit document, for a summary that shows no XML: what failed first, at most a MB."""
    return _fit(_cases(verifications), 1_000_000)


def _cases(verifications: Sequence[Verification]) -> list[str]:
    rows = case_results(verifications)
    counts = ", ".join(f"{sum(row.result == one for row in rows)} {one}" for one in ("failed", "skipped", "passed"))
    blocks = ["## Verification", f"{_MARKS['bad' if any(r.result == 'failed' for r in rows) else 'good']} {counts}"]
    for result in ("failed", "skipped"):
        cases = [[row.suite, row.name, row.result, row.says] for row in rows if row.result == result]
        blocks += _table(["wheel", "case", "result", "why"], cases)
    return blocks


def _delivery(run: RunRecord) -> list[str]:
    """The install line as code, the wheels with their sizes, and how they are used."""
    command = "".join(c if c.isprintable() else " " for c in run.delivery.install)
    blocks = [f"Install:\n\n    {command}"] if command else []
    rows = [[wheel.name, format_size(wheel.size), wheel.sha256] for wheel in run.delivery.wheels]
    blocks += _table(["wheel", "size", "sha256"], rows) if rows else []
    for usage in run.delivery.usages:
        code = "\n".join("    " + "".join(c if c.isprintable() else " " for c in line) for line in usage.code)
        places = "\n".join(f"- {escape_markdown(place)}" for place in usage.places)
        blocks += [*([f"Use:\n\n{code}"] if code else []), f"What runs where:\n\n{places}"]
    return blocks


def escape_markdown(text: str) -> str:
    """Text that Markdown, HTML and mentions cannot act in: one line, every active character a character reference."""
    flat = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return _ACTIVE.sub(lambda m: f"&#{ord(m[1])};", flat)


def _gates(gates: Iterable[GateVerdict]) -> list[str]:
    rows = [
        [
            ("WAIVED" if g.waived else g.outcome.value),
            g.gate,
            g.case,
            g.says + (f" (waived: {g.waived})" if g.waived else ""),
        ]
        for g in gates
    ]
    return _table(["verdict", "gate", "case", "why"], rows)


def _benchmarks(benchmarks: Benchmarks) -> list[str]:
    blocks, speeds = ["## Benchmarks"], speed_table(benchmarks)
    if speeds:
        ratios = [f"{speeds.sides[n]} speed-up" for n in speeds.compared_columns]
        rows = [
            [
                r.case,
                *(format_figure(s * 1e3) if s else "–" for s in r.seconds),
                *(f"{s:.3g}×" if (s := r.speedups[n]) else "–" for n in speeds.compared_columns),
            ]
            for r in speeds.rows
        ]
        blocks += _table(["case", *(f"{s} ms" for s in speeds.sides), *ratios], rows)
        blocks += [escape_markdown(speeds.note)] if speeds.note else []
    rows = [
        [
            c.name,
            s.side,
            format_figure(median(s.seconds) * 1e3),
            format_figure(c.items / median(s.seconds)),
            _mib(s.host_bytes),
            s.problem,
        ]
        if s.seconds
        else [c.name, s.side, "–", "–", "–", s.problem]
        for c in benchmarks.cases
        for s in c.series
        if s.side != CONTROL
    ]
    return blocks + _table(["case", "side", "ms", "per s", "host MiB", "problem"], rows)


def _mib(size: int | None) -> str:
    return f"{size / 2**20:.0f}" if size is not None else "–"


def _table(head: list[str], rows: list[list[str]], at_once: int = 200) -> list[str]:
    """A table, as blocks of at most so many rows so that a limit can fall between them."""
    top = f"| {' | '.join(map(escape_markdown, head))} |\n|{'---|' * len(head)}"
    parts = [rows[n : n + at_once] for n in range(0, len(rows), at_once)]
    return ["\n".join([top, *(f"| {' | '.join(map(escape_markdown, row))} |" for row in part)]) for part in parts]


def _quote(text: str) -> str:
    return "\n".join(f"> {escape_markdown(line)}<br>" for line in text.splitlines()[-30:]) or "> "


def _fit(blocks: list[str], limit: int) -> str:
    note = "_The rest does not fit here: see the HTML report._"
    lines: list[str] = []
    room = limit - len(note.encode()) - 2
    for block in blocks:
        size = len(block.encode()) + 2
        if size > room:
            return "\n\n".join([*lines, note]) + "\n"
        lines.append(block)
        room -= size
    return "\n\n".join(lines) + "\n"
