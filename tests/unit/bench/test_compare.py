"""Comparing two measurements, and the tables of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from stackbuild.bench.compare import changes, require_comparable, stored_pair
from stackbuild.bench.tables import speed_table
from stackbuild.core.errors import UsageError
from stackbuild.judgement import judge
from stackbuild.model.gates import Gates
from stackbuild.model.results import Evidence
from support.benchmark_results import measured


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
    lost = judge(stored_pair(measured(), measured(1.001, batches=(1,))), gates, today, Evidence.STORED)
    assert {v.case: v.outcome for v in lost.gates if v.gate == "baseline"} == {"resnet50/b8/float32": "FAIL", "resnet50/b1/float32": "PASS"}
    assert "the candidate's results have no such case" in lost.closed_gates[0].says
    new = judge(stored_pair(measured(batches=(1,)), measured(1.001)), gates, today, Evidence.STORED)
    assert new.outcome == "INCONCLUSIVE" and "the baseline's results have no such case" in new.closed_gates[0].says
    with pytest.raises(UsageError, match="no case in common"):
        require_comparable(measured(batches=(1,)), measured(batches=(8,)))


def test_the_speed_up_table_starts_with_the_cpu() -> None:
    found = speed_table(measured())
    assert found is not None and found.sides == ("CPU", "ROCm")
    assert found.rows[0].speedups == (1.0, pytest.approx(2.0))
    assert speed_table(replace(measured(), sides=measured().sides[:1])) is None
