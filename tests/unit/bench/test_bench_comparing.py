"""Comparing, tables, advice, change points and history: values in, values out."""

from __future__ import annotations

import csv
import math
import random
from dataclasses import replace
from datetime import date
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from bench_values import CPU, measured
from hypothesis import given, settings
from hypothesis import strategies as st

from stackbuild.bench import history
from stackbuild.bench.advice import advise, ladder_cost, parse_mix
from stackbuild.bench.change_points import change_points, rank_test
from stackbuild.bench.compare import changes, require_comparable, stored_pair
from stackbuild.bench.tables import speed_table
from stackbuild.core.errors import MachineLacks, UsageError
from stackbuild.judgement import judge
from stackbuild.model.gates import Gates
from stackbuild.model.results import Evidence


def test_release_to_release() -> None:
    found = {(c.case, c.metric): c for c in changes(measured(), measured(scale=0.8))}
    latency = found["resnet50/b1/float32", "latency"]
    assert latency.better == pytest.approx(0.2) and latency.unit == "ms"
    assert found["resnet50/b8/float32", "throughput"].better == pytest.approx(0.25)
    assert found["resnet50/b1/float32", "device memory"].better == 0


def test_stored_results_of_another_machine_or_provider_are_never_compared() -> None:
    with pytest.raises(UsageError, match="cpu: EPYC against Xeon"):
        stored_pair(measured(cpu="Xeon"), measured())
    other = replace(measured(), sides=measured().sides[::-1])
    with pytest.raises(UsageError, match="provider: CPUExecutionProvider"):
        stored_pair(measured(), other)
    pair = stored_pair(measured(), measured(scale=2))
    assert [s.label for s in pair.sides] == ["candidate", "baseline"] and "weaker evidence" in pair.notes[-1]


def test_an_empty_baseline_and_no_common_case() -> None:
    with pytest.raises(UsageError, match="the baseline is empty"):
        require_comparable(replace(measured(), cases=()), measured())
    with pytest.raises(UsageError, match="no case in common") as stop:
        stored_pair(measured(batches=(1,)), measured(batches=(8,)))
    assert "resnet50/b1/float32" in stop.value.next


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"sha256": "ef" * 32}, "model efefefefefef against cdcdcdcdcdcd"),
        ({"opset": 18}, "opset 18 against 17"),
        ({"shapes": {"input": (1, 3, 64, 64)}}, "shapes"),
        ({"items": 2}, "items 2 against 1"),
    ],
)
def test_cases_of_one_name_that_are_other_work_are_never_compared(changed: dict[str, Any], says: str) -> None:
    other = replace(measured(), cases=(replace(measured().cases[0], **changed), measured().cases[1]))
    with pytest.raises(UsageError, match=says):
        require_comparable(measured(), other)
    sides = tuple(replace(side, threads=2) for side in measured().sides)
    with pytest.raises(UsageError, match="threads: 2 against all"):
        require_comparable(measured(), replace(measured(), sides=sides))


def test_a_case_that_one_of_them_lacks_does_not_pass() -> None:
    """Lost from the candidate it fails; new in it, nothing is known of its baseline."""
    gates = Gates.model_validate({"gates": [{"kind": "baseline"}]}).gates
    today = date(2026, 11, 20)
    lost = judge(stored_pair(measured(), measured(batches=(1,))), gates, today, Evidence.STORED)
    assert {v.case: v.outcome for v in lost.gates} == {"resnet50/b8/float32": "FAIL", "resnet50/b1/float32": "PASS"}
    assert "the candidate's results have no such case" in lost.closed[0].says
    new = judge(stored_pair(measured(batches=(1,)), measured()), gates, today, Evidence.STORED)
    assert new.outcome == "INCONCLUSIVE" and "the baseline's results have no such case" in new.closed[0].says
    with pytest.raises(UsageError, match="no case in common"):
        require_comparable(measured(batches=(1,)), measured(batches=(8,)))


def test_the_speed_up_table_starts_with_the_cpu() -> None:
    found = speed_table(measured())
    assert found is not None and found.sides == ("CPU", "ROCm")
    assert found.rows[0].speedups == (1.0, pytest.approx(2.0))
    assert speed_table(replace(measured(), sides=measured().sides[:1])) is None


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


def test_turns_are_found_where_the_level_changes() -> None:
    rng = random.Random(4)
    levels = [1.0] * 20 + [1.2] * 20 + [0.9] * 20
    found = change_points([level * (1 + rng.gauss(0, 0.01)) for level in levels])
    assert [turn.at for turn in found] == [20, 40]
    assert found[0].change == pytest.approx(0.2, abs=0.02)


@pytest.mark.parametrize(("before", "after"), [(5, 5), (5, 7), (9, 5), (12, 5), (5, 60)])
def test_five_nights_on_each_side_are_enough(before: int, after: int) -> None:
    """Wholly apart, 5 against 5 has a chance of 2 in 252 (the normal approximation says 1 in 82 and found nothing)."""
    values = [level + n % 2 / 1000 for level, nights in ((1.0, before), (1.1, after)) for n in range(nights)]
    assert [turn.at for turn in change_points(values)] == [before]


def test_the_rank_test_is_exact() -> None:
    """Against all choices counted one by one, with and without ties."""
    for few, many in (
        ([1, 2, 3], [4, 5, 6, 7]),
        ([1, 4, 4], [4, 5, 1, 9]),
        ([3, 3], [3, 3, 3]),
        ([9, 8, 2], [1, 7, 7]),
    ):
        ranks = [sum(y < x for y in few + many) + sum(y <= x for y in few + many) + 1 for x in few + many]
        sums = [sum(chosen) for chosen in combinations(ranks, len(few))]
        mean = len(few) * (len(ranks) + 1)
        off = abs(sum(ranks[: len(few)]) - mean)
        assert rank_test(few, many) == sum(abs(s - mean) >= off for s in sums) / len(sums)
        assert rank_test(many, few) == rank_test(few, many)
    assert rank_test(range(5), range(5, 10)) == 2 / 252
    level = [0.1 * n for n in range(11)]  # the exact chance is 0.0083; longer parts are approximated
    assert rank_test(level, [x + 0.43 for x in level]) == pytest.approx(0.0104, abs=0.0001)


def test_a_level_of_nothing_is_one_too() -> None:
    """Peaks of 0 bytes are in real histories."""
    (turn,) = change_points([0.0] * 10 + [5.0] * 10)
    assert (turn.at, turn.before, turn.change) == (10, 0.0, math.inf)
    assert [t.change for t in change_points([5.0] * 10 + [0.0] * 10)] == [-1.0] and change_points([0.0] * 20) == ()


def test_noise_has_no_turns() -> None:
    assert change_points([1.0] * 30) == ()
    rng = random.Random(9)
    noisy = [bool(change_points([1 + rng.gauss(0, 0.05) for _ in range(40)])) for _ in range(60)]
    assert sum(noisy) <= 2


def test_history_keeps_machines_apart_and_exports(tmp_path: Path) -> None:
    file = tmp_path / "h.sqlite"
    for day, cpu in enumerate(["EPYC", "Xeon", "EPYC"]):
        history.append(file, measured(1 + day / 100, f"2026-11-{20 + day}T00:00:00Z", cpu))
    rows = history.load_series(file, history.SeriesQuery("resnet50/b1/float32", "latency"))
    assert [row.taken[:10] for row in rows] == ["2026-11-20", "2026-11-22"] and rows[0].unit == "s"
    assert ("resnet50/b1/float32", CPU, 3) in history.cases(file)
    table = list(csv.DictReader(history.to_csv(file).splitlines()))
    assert len(table) == 3 * 2 * (6 + 5) and table[0]["case"] == "resnet50/b1/float32"


def test_history_that_is_not_there_or_is_not_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no history yet"):
        history.load_series(tmp_path / "none.sqlite", history.SeriesQuery("x", "latency"))
    history.append(tmp_path / "h.sqlite", measured())
    with pytest.raises(UsageError, match="no latency of 'x'") as stop:
        history.load_series(tmp_path / "h.sqlite", history.SeriesQuery("x", "latency"))
    assert "resnet50/b1/float32" in stop.value.next
    (tmp_path / "broken").write_bytes(b"this is no database at all, it is a text of some length" * 30)
    with pytest.raises(MachineLacks, match="cannot be used"):
        history.append(tmp_path / "broken", measured())
