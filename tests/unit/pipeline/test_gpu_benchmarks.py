"""What a recipe's gates need, before anything is compiled."""

from __future__ import annotations

import pytest

from stackbuild.core.errors import UsageError
from stackbuild.pipeline.gpu_benchmarks import require_baseline
from stackbuild.recipe.load import load, parse
from support.recipes import text_of

GATES = "gates:\n"


def with_gates(*gates: str) -> str:
    return text_of("debian-13").replace(GATES, GATES + "".join(f"  - {gate}\n" for gate in gates))


@pytest.mark.parametrize(
    "gate",
    [
        "{kind: baseline, delta: 5%}",
        "{kind: memory, grows_at_most: 10%}",
        "{kind: speedup, versus: baseline, at_least: 1}",
    ],
)
def test_a_gate_without_a_baseline_is_refused_unless_a_gate_names_one(gate: str) -> None:
    with pytest.raises(UsageError, match="has no baseline to compare with") as refusal:
        require_baseline(parse(with_gates(gate), "t.yaml"))
    assert "`wheel: OLD.whl`" in refusal.value.next and "--until" in refusal.value.next
    require_baseline(parse(with_gates(gate, "{kind: baseline, wheel: old.whl}"), "t.yaml"))


def test_gates_that_compare_with_no_release_need_none() -> None:
    require_baseline(load("debian-13").recipe)
    require_baseline(parse(with_gates("{kind: memory, at_most: 1 GiB}"), "t.yaml"))
