"""Results files: there and back, and every way of not being one."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from bench_values import measured

from stackbuild.bench.files import document, read_benchmarks, read_verdict, write
from stackbuild.errors import UsageError
from stackbuild.results import Evidence, GateVerdict, Outcome, Verdict, joined


def test_results_come_back_equal(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "results.json"
    write(measured(), file)
    assert read_benchmarks(file) == measured()
    assert [p.name for p in file.parent.iterdir()] == ["results.json"]


def test_infinity_is_strict_json(tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    write(measured(), file)
    found = json.loads(file.read_text(), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert found["schema"] == "stackbuild.benchmarks/1"
    accuracy = read_benchmarks(file).cases[0].series[0].accuracy
    assert accuracy is not None and accuracy.snr_db == math.inf


def test_a_verdict_comes_back_equal(tmp_path: Path) -> None:
    verdict = Verdict(
        (GateVerdict("g", "c", Outcome.FAIL, "slow", 1.1, 1.05, math.inf, 1.03, "× time", 20, Evidence.INTERLEAVED),),
        1.1,
        ("n",),
    )
    write(verdict, tmp_path / "v.json")
    assert read_verdict(tmp_path / "v.json") == verdict


@pytest.mark.parametrize(
    ("text", "what", "next"),
    [
        ("", "not JSON", "bench wrote"),
        ("[1]", "names no schema", "bench wrote"),
        ("[" * 100_000, "not JSON", "bench wrote"),
        (
            '{"schema": "stackbuild.benchmarks/2"}',
            "its schema is stackbuild.benchmarks/2",
            "measure again with this version",
        ),
        ('{"schema": "stackbuild.plan/1"}', "its schema is stackbuild.plan/1", "bench wrote"),
        ('{"schema": "stackbuild.benchmarks/1", "suite": "x"}', "`kind`", "cut short"),
    ],
)
def test_what_is_no_results_file_is_told(tmp_path: Path, text: str, what: str, next: str) -> None:
    file = tmp_path / "x.json"
    file.write_text(text)
    with pytest.raises(UsageError) as stop:
        read_benchmarks(file)
    assert what in stop.value.what and next in stop.value.next and stop.value.where == str(file)


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such file"):
        read_benchmarks(tmp_path / "none.json")
    with pytest.raises(UsageError, match="it is a folder"):
        read_benchmarks(tmp_path)


def test_more_rounds_follow_the_first(tmp_path: Path) -> None:
    both = joined(measured(), measured(batches=(8,)))
    assert [len(c.series[0].seconds) for c in both.cases] == [12, 24]
    assert both.cases[1].series[0].accuracy == measured().cases[1].series[0].accuracy
    assert "schema" in document(both)
