"""ONNX's node tests through the plugin provider on an emulated GPU: those that the provider takes wholly are right."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("tinygrad")
pytest.importorskip("onnxruntime")

from support.emulated_nodes import run_node_tests
from support.kernels import debian_sid_stack


@pytest.mark.slow
@pytest.mark.timeout(5400)
def test_onnx_node_tests_are_right_on_an_emulated_gpu(tmp_path: Path) -> None:
    """The provider is built first, with ccache. The tests take a minute where its kernels are translated."""
    tests = run_node_tests(debian_sid_stack().built("kernels-ep") / "onnxruntime_ep_rockernels", "gfx1100", tmp_path)
    assert tests.failed == 0, tests.output
    assert tests.passed > 700
    assert tests.reports["dispatch"] > 1000
    assert not tests.reports.keys() - {"dispatch"}
