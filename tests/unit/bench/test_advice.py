"""Advice on batch sizes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackbuild.bench.advice import advise, ladder_cost, parse_mix
from stackbuild.core.errors import UsageError


def test_the_smallest_batch_within_reach_of_the_best() -> None:
    seconds = {1: 1.0, 2: 1.2, 4: 2.0, 8: 3.9, 16: 9.0}
    advice = advise(seconds, within=0.05)
    assert (advice.advised.batch, advice.best.batch) == (4, 8)
    assert advise(seconds, within=0.0).advised.batch == 8


def test_padding_is_paid_for() -> None:
    """A mix that is half batch 4: one compiled size of 8 wastes half the work on those."""
    seconds = {4: 4.0, 8: 8.0}
    alone = ladder_cost(seconds, {4: 1, 8: 1}, (8,))
    assert alone.seconds_per_item == pytest.approx(16 / 12) and alone.padding == pytest.approx(0.25)
    assert ladder_cost(seconds, {4: 1, 8: 1}, (4, 8)).padding == 0
    assert ladder_cost(seconds, {20: 1}, (8,)).padding == pytest.approx(1 - 20 / 24)
    found = advise({4: 4.4, 8: 8.0}, 0.05, {4: 1, 8: 1})
    assert [rung.sizes for rung in found.ladders] == [(4,), (4, 8)]


@settings(max_examples=30)
@given(st.dictionaries(st.integers(1, 64), st.floats(1e-6, 10), min_size=1, max_size=6),
       st.dictionaries(st.integers(1, 200), st.floats(0.01, 10), min_size=1, max_size=4))  # fmt: skip
def test_more_compiled_sizes_are_never_worse(seconds: dict[int, float], mix: dict[int, float]) -> None:
    ladders = advise(seconds, 0.1, mix).ladders
    assert all(0 <= rung.padding < 1 and len(rung.sizes) <= n for n, rung in enumerate(ladders, 1))
    costs = [rung.seconds_per_item for rung in ladders]
    assert costs == sorted(costs, reverse=True)


def test_a_mix_from_a_log_of_real_batches(tmp_path: Path) -> None:
    """A batch a line, as a server logs them, counted; weights may be written too."""
    log = tmp_path / "batches.txt"
    log.write_text("8\n8\n1\n8\n16:2.5\n")
    assert parse_mix(str(log)) == {8: 3.0, 1: 1.0, 16: 2.5}
    log.write_text("8\neight\n")
    with pytest.raises(UsageError, match="BATCH:WEIGHT"):
        parse_mix(str(log))


def test_a_huge_batch_costs_no_memory() -> None:
    found = ladder_cost({8: 8.0}, {10**9 - 1: 1}, (8,))
    assert found.seconds_per_item == pytest.approx(1) and found.padding == pytest.approx(1e-9, abs=1e-12)


def test_a_mix_longer_than_a_file_name() -> None:
    assert len(parse_mix(",".join(f"{n}:1" for n in range(1, 900)))) == 899


@pytest.mark.parametrize("text", ["", "8", "a:1", "0:1", "8:-1", "8:0", "8:1,", "1000000001:1", "\0"])
def test_a_mix_that_is_none(text: str) -> None:
    with pytest.raises(UsageError, match="BATCH:WEIGHT"):
        parse_mix(text)
