"""kernels/tools/ep/session.py: where nodes ran is proved by ONNX Runtime's record, and by nothing where it is empty."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from types import ModuleType, SimpleNamespace

import pytest

pytest.importorskip("numpy")
pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


@pytest.fixture
def session(checks: Callable[[str], ModuleType]) -> ModuleType:
    return checks("session")


def recorded(*parts: tuple[str, list[str]]) -> SimpleNamespace:
    """A session with this record: provider and operators of each step."""
    steps = [SimpleNamespace(ep_name=name, get_nodes=lambda ops=ops: [SimpleNamespace(op_type=op) for op in ops]) for name, ops in parts]
    return SimpleNamespace(get_provider_graph_assignment_info=lambda: steps)


@pytest.mark.parametrize("question", ["placement", "parts", "nodes_elsewhere", "compute_nodes_elsewhere"])
@pytest.mark.parametrize("made", [recorded(), recorded(("RocKernels", []))])
def test_an_empty_record_proves_nothing(session: ModuleType, question: str, made: SimpleNamespace) -> None:
    asked = getattr(session, question)
    with pytest.raises(session.NoRecord, match="recorded no node"):
        asked(made, "RocKernels") if "elsewhere" in question else asked(made)


def test_nodes_of_a_record(session: ModuleType) -> None:
    made = recorded(("RocKernels", ["Conv", "Relu"]), ("RocKernels", ["Conv"]), ("CPUExecutionProvider", ["Shape"]))
    assert session.placement(made) == {"RocKernels": Counter(Conv=2, Relu=1), "CPUExecutionProvider": Counter(Shape=1)}
    assert session.parts(made) == [["Conv", "Relu"], ["Conv"], ["Shape"]]
    assert session.nodes_elsewhere(made, "RocKernels") == Counter(Shape=1)
    assert not session.compute_nodes_elsewhere(made, "RocKernels")
