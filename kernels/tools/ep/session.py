"""Sessions on the provider, with proof of where each node ran."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort

REGISTRATION = "rockernels-check"
# What BERT-base's shapes are computed with; every other node is a compute node.
SHAPE_OPERATORS = frozenset({"Shape", "Size", "Gather", "Slice", "Squeeze", "Unsqueeze", "Concat"})


class NoDevice(RuntimeError):
    """The library registered, and offered nothing."""


class NoRecord(RuntimeError):
    """ONNX Runtime did not record where a session's nodes run: nothing is proved about them."""


def register(library: Path) -> list[ort.OrtEpDevice]:
    """Register the provider's library and return the devices it offers (its provider's name is theirs)."""
    ort.register_execution_provider_library(REGISTRATION, str(library.resolve()))
    devices = [d for d in ort.get_ep_devices() if d.ep_name.startswith("RocKernels")]
    if not devices:
        raise NoDevice(f"{library} registered and offers no device; ONNX Runtime's log above says why")
    return devices


def open_session(
    model: onnx.ModelProto,
    device: ort.OrtEpDevice,
    *,
    options: dict[str, str] | None = None,
    optimize: bool = True,
    no_fallback: bool = False,
    config: dict[str, str] | None = None,
    severity: int = 3,
) -> ort.InferenceSession:
    """A session on `device`, the CPU provider behind it.

    `no_fallback` asks ONNX Runtime itself to refuse any node on the CPU provider.
    """
    settings = ort.SessionOptions()
    settings.log_severity_level = severity
    settings.add_provider_for_devices([device], options or {})
    settings.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    if no_fallback:
        settings.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    for key, value in (config or {}).items():
        settings.add_session_config_entry(key, value)
    if not optimize:
        settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    # Without it a failed run, too, would be done again on the CPU, and its answer be taken for the device's.
    return ort.InferenceSession(model.SerializeToString(), settings, enable_fallback=0)


def open_on_cpu(model: onnx.ModelProto) -> ort.InferenceSession:
    """A session on the CPU provider alone, which says nothing of what it refuses."""
    settings = ort.SessionOptions()
    settings.log_severity_level = 4
    return ort.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])


def record(session: ort.InferenceSession) -> list[tuple[str, list[str]]]:
    """Provider and operators of each step: of each fused group, and of each node that runs alone. Raises NoRecord where there is none."""
    rows = [(part.ep_name, [node.op_type for node in part.get_nodes()]) for part in session.get_provider_graph_assignment_info()]
    if not any(operators for _, operators in rows):
        raise NoRecord(f"onnxruntime {ort.__version__} recorded no node of this session: where they run is not known")
    return rows


def placement(session: ort.InferenceSession) -> dict[str, Counter[str]]:
    """Operators by the provider that runs them, fused groups counted node by node."""
    table: dict[str, Counter[str]] = {}
    for provider, operators in record(session):
        table.setdefault(provider, Counter()).update(operators)
    return table


def parts(session: ort.InferenceSession) -> list[list[str]]:
    """The operators of each step, wherever it runs."""
    return [operators for _, operators in record(session)]


def nodes_elsewhere(session: ort.InferenceSession, provider: str) -> Counter[str]:
    """Nodes that are not on `provider`."""
    remaining_counts: Counter[str] = Counter()
    for name, operators in placement(session).items():
        if name != provider:
            remaining_counts.update(operators)
    return remaining_counts


def compute_nodes_elsewhere(session: ort.InferenceSession, provider: str) -> Counter[str]:
    """Nodes that are not on `provider` and not of shapes; empty is the proof that every compute node ran there."""
    return Counter({op: n for op, n in nodes_elsewhere(session, provider).items() if op not in SHAPE_OPERATORS})


def relative_error(actual: np.ndarray, reference: np.ndarray) -> float:
    """‖found - reference‖ / ‖reference‖ in float64; infinity where shapes differ or a finite value met one that is not."""
    if actual.shape != reference.shape:
        return float("inf")
    a, b = actual.astype(np.float64).ravel(), reference.astype(np.float64).ravel()
    finite = np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True) or not np.isfinite(a[finite]).all():
        return float("inf")
    scale = float(np.linalg.norm(b[finite]))
    difference = float(np.linalg.norm(a[finite] - b[finite]))
    return difference / scale if scale > 0 else difference
