"""ONNX's own backend node tests (onnx.backend.test), through the provider."""

from __future__ import annotations

import traceback
from dataclasses import dataclass

import numpy as np
import onnx
import onnxruntime as ort
from onnx.backend.test.case.test_case import TestCase
from onnx.backend.test.loader import load_model_tests

from tools.ep.session import NoRecord, open_session, placement


@dataclass(frozen=True)
class NodeTestOutcome:
    """What came of one test. It passes only where every node of it ran on the provider."""

    name: str
    state: str  # passed, failed, elsewhere (some node is not ours, or none is left to run), skipped (ONNX Runtime itself cannot load it)
    detail: str = ""


def _close(answers: np.ndarray, reference: np.ndarray, rtol: float, atol: float) -> str:
    if answers.shape != reference.shape:
        return f"shape {answers.shape}, not {reference.shape}"
    if answers.dtype != reference.dtype:
        return f"type {answers.dtype}, not {reference.dtype}"
    if reference.dtype == np.float16:
        atol = max(atol, 2e-3)
    try:
        np.testing.assert_allclose(answers, reference, rtol=rtol, atol=atol)
    except AssertionError as error:
        return " ".join(str(error).split())[:160]
    return ""


def _array(value: object) -> np.ndarray | None:
    """A tensor of a data set; None for sequences and optionals, which no kernel here takes."""
    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    return np.asarray(value) if isinstance(value, (np.ndarray, np.generic, int, float)) else None


def _run_one(test: TestCase, device: ort.OrtEpDevice) -> NodeTestOutcome:
    try:
        session = open_session(test.model, device, optimize=False)
    except Exception as error:
        return NodeTestOutcome(test.name, "skipped", str(error).splitlines()[0][:120])
    try:
        if any(provider != device.ep_name for provider in placement(session)):
            return NodeTestOutcome(test.name, "elsewhere")
    except NoRecord:
        if any(node.op_type != "Constant" for node in test.model.graph.node):
            raise
        return NodeTestOutcome(test.name, "elsewhere")
    for inputs, references in test.data_sets:
        feeds = {info.name: _array(value) for info, value in zip(test.model.graph.input, inputs, strict=False)}
        answers = session.run(None, feeds)
        for i, (actual, want) in enumerate(zip(answers, references, strict=True)):
            trouble = _close(np.asarray(actual), _array(want), test.rtol, max(test.atol, 1e-6))
            if trouble:
                return NodeTestOutcome(test.name, "failed", f"output {i}: {trouble}")
    return NodeTestOutcome(test.name, "passed")


def run(device: ort.OrtEpDevice, only: str = "", trace: bool = False) -> list[NodeTestOutcome]:
    """Every node test whose name contains `only`; `trace` prints each name first, to find one that ends the process."""
    outcomes = []
    for test in load_model_tests(kind="node"):
        if only not in test.name:
            continue
        if trace:
            print(test.name, flush=True)
        try:
            outcomes.append(_run_one(test, device))
        except Exception as error:
            outcomes.append(NodeTestOutcome(test.name, "failed", f"{error}" or traceback.format_exc(limit=1)))
    return outcomes
