"""The edges of kernels/tools/ep: who judges them, and that a wrong answer is told."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

np = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


@pytest.fixture
def edges(checks: Callable[[str], ModuleType]) -> ModuleType:
    return checks("edges")


def test_every_edge_has_a_name_of_its_own(edges: ModuleType) -> None:
    names = [e.name for e in edges.edges()]
    assert len(names) > 190
    assert len(names) - len(set(names)) < 6, "drawn twice on purpose: the two scales of a normalization and the like"


def test_every_ruling_names_onnx_and_releases(edges: ModuleType) -> None:
    for edge in edges.edges_with_rulings():
        operator = edge.model.graph.node[0].op_type
        assert edge.ruling.sentence.startswith(operator), edge.name
        assert edge.ruling.astray, edge.name


def test_onnx_answers_pass_and_the_cpu_providers_do_not(edges: ModuleType) -> None:
    """A Gemm of K = 0 whose CPU provider leaves beta out."""
    gemm = next(e for e in edges.edges_with_rulings() if e.model.graph.node[0].op_type == "Gemm")
    assert edges.judge(gemm, gemm.ruling.answer).wrong == ""
    assert "Compute Y" in edges.judge(gemm, [2 * gemm.ruling.answer[0]]).wrong
    assert "refused" in edges.judge(gemm, None).wrong


def test_a_refusal_of_the_cpu_provider_is_one_of_ours(edges: ModuleType) -> None:
    """A mask of three keys where there are six: opset 23 does not pad it."""
    short = next(e for e in edges.edges() if e.name == "Attention mask (5, 3)")
    assert edges.judge(short, None).wrong == ""
    assert "answered what the CPU provider refuses" in edges.judge(short, [np.zeros((2, 4, 5, 8), np.float32)]).wrong


def test_a_fatal_edge_is_not_shown_to_the_cpu_provider(edges: ModuleType) -> None:
    fatal = [e for e in edges.edges_with_rulings() if e.ruling.fatal]
    assert fatal
    assert all("not asked" in edges.judge(e, e.ruling.answer).cpu for e in fatal)


def test_resizing_to_a_neighbour_of_the_nearest_is_told(edges: ModuleType) -> None:
    """An axis of seven places made eight: 4 × 7 / 8 is a tie, which float32 misses by one unit in the last place."""
    edge = next(e for e in edges.edges() if e.name == "Resize asymmetric round_prefer_ceil by sizes")
    answers = edges.open_on_cpu(edge.model).run(None, edge.feeds)
    assert answers[0].tolist() == [[0, 1, 2, 3, 4, 4, 5, 6]]
    assert edges.judge(edge, answers).wrong == ""
    answers[0][0, 4] = 3
    assert "relative error" in edges.judge(edge, answers).wrong
