"""The history in the report: series with their change points, drawn and told."""

from __future__ import annotations

import random
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackbuild.bench.history import SeriesQuery, append, load_series
from stackbuild.bench.trend import trend, trends
from stackbuild.core.errors import UsageError
from stackbuild.model.history import Figure
from stackbuild.model.results import Benchmarks, Case, Fingerprint, Series, Side
from stackbuild.pipeline.run_record import of_results
from stackbuild.views.formats import render_run
from stackbuild.views.trend_plot import FOOT, HEIGHT, LEFT, RIGHT, trend_plot

EVIL = "<script>alert(1)</script>.whl"


def measured(seconds: float, day: int, provider: str = "ROCMExecutionProvider", artifact: str = EVIL) -> Benchmarks:
    case = Case("net/b1", "net", "float32", {}, 1, 1, "image", 17, "0" * 64, (Series("candidate", (seconds,) * 8),))
    taken = f"2026-{day // 28 + 1:02d}-{day % 28 + 1:02d}T09:00:00Z"
    return Benchmarks(
        "s", "models", taken, Fingerprint({"cpu": "x"}), (Side("candidate", provider, artifact),), (case,)
    )


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Thirty nights: a slow-down of 10 % from the sixteenth on, and each night the CPU too, fifty times slower."""
    rng = random.Random(1)
    for day in range(30):
        level = 0.010 * (1.1 if day >= 15 else 1.0) * rng.gauss(1, 0.004)
        append(tmp_path / "h.sqlite", measured(level * 50, day, "CPUExecutionProvider"))
        append(tmp_path / "h.sqlite", measured(level, day))
    return tmp_path / "h.sqlite"


def test_providers_are_not_mixed(kept: Path) -> None:
    latest, cpu = (load_series(kept, SeriesQuery("net/b1", "latency", provider=p)) for p in ("", "CPUExecutionProvider"))
    assert {row.provider for row in latest} == {"ROCMExecutionProvider"} and len(latest) == len(cpu) == 30
    assert min(row.value for row in cpu) > 0.4 > max(row.value for row in latest)
    with pytest.raises(UsageError, match="on CUDAExecutionProvider"):
        load_series(kept, SeriesQuery("net/b1", "latency", provider="CUDAExecutionProvider"))


def test_a_change_is_drawn_and_told_in_every_form(kept: Path) -> None:
    today = measured(0.011, 29)
    (found,) = trends(kept, today)
    assert [turn.at for turn in found.turns] == [15] and found.unit == "ms"
    run = replace(of_results(today, None), history=(found,))
    page = render_run(run, "html", 0)
    assert 'aria-label="History of candidate over 30 results, ms, 1 change points"' in page
    assert "Changed 2026-01-16T09:00:00Z: 10" in page and page.count('class="latest"') == 1
    assert "<script" not in page and "&lt;script&gt;" in page
    summary = render_run(run, "markdown", 1_000_000)
    assert "## History" in summary and "2026-01-16T09&#58;00&#58;00Z" in summary and "<script" not in summary
    assert '"turns": [' in render_run(run, "json", 0)
    svg = page[page.index('<svg viewBox="0 0 400 140') :]
    assert ElementTree.fromstring(svg[: svg.index("</svg>") + 6]).tag == "svg"


def test_another_machine_or_too_short_a_series_is_left_out(kept: Path) -> None:
    assert trends(kept, replace(measured(0.01, 29), machine=Fingerprint({"cpu": "y"}))) == ()
    assert trends(kept, measured(0.01, 29), least=31) == ()
    for night in range(4):
        append(kept.with_name("young.sqlite"), measured(0.01, night))
    assert trends(kept.with_name("young.sqlite"), measured(0.01, 4)) == ()
    assert len(trends(kept, measured(0.01, 29), most=12)[0].figures) == 12


@given(st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=40))
def test_every_mark_lies_on_the_paper(values: list[float]) -> None:
    figures = tuple(
        Figure("2026-11-20", "s", "c", "", "", "p", "1", "m", "{}", "k", "latency", "s", value, 1) for value in values
    )
    plot = trend_plot(trend(figures))
    assert plot.height == HEIGHT and len(plot.points) == len(values) and len(plot.levels) in (0, len(plot.marks) + 1)
    assert all(LEFT <= x <= RIGHT and 0 <= y <= FOOT + 0.01 for x, y in plot.points)
    assert all(LEFT <= x <= RIGHT for x in plot.marks) and all(0 <= y <= FOOT + 0.01 for y, _ in plot.up)
