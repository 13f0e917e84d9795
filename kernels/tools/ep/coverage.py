"""Which nodes of a model the provider takes, and why not the others.

What is taken is read from ONNX Runtime's own record of a session. Why a node is not taken is worked out from the kernels that the
library registers and from ONNX Runtime's schemas, in the order in which the provider asks: operator, opset, element type, form.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import onnx
import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as state

from tools.ep.registry import KernelEntry, entries
from tools.ep.session import NoRecord

ONNX_DOMAINS = ("", "ai.onnx")


@dataclass(frozen=True)
class NodeReason:
    """A node that the provider leaves to another one, and the reason. `name` is "" for a node without one."""

    name: str
    op: str
    domain: str
    provider: str
    reason: str


@dataclass(frozen=True)
class Coverage:
    """What became of a model's nodes: `counts` those it takes, by operator, `groups` the steps that several nodes became."""

    model: str
    counts: dict[str, int]
    groups: int
    other_nodes: tuple[NodeReason, ...]

    @property
    def share(self) -> float:
        """The share of the nodes that the provider takes, of those that ONNX Runtime's optimizer has left."""
        count = sum(self.counts.values())
        return count / max(count + len(self.other_nodes), 1)

    def to_json(self) -> dict[str, object]:
        """The same as plain values."""
        other_nodes = [asdict(one) for one in self.other_nodes]
        return {"model": self.model, "taken": self.counts, "groups": self.groups, "left": other_nodes, "share": round(self.share, 4)}


def coverage(model: Path, device: ort.OrtEpDevice, library: Path) -> Coverage:
    """Open a session on the device and say where each node of the optimized model runs. Raises NoRecord without a record."""
    proto = onnx.load(str(model), load_external_data=False)
    session = _session(model, device)
    parts = session.get_provider_graph_assignment_info()
    if not any(part.get_nodes() for part in parts):
        raise NoRecord(f"onnxruntime {ort.__version__} recorded no node of {model}")
    reasons = _Reasons(proto, entries(library))
    counts: Counter[str] = Counter()
    other_nodes, groups = [], 0
    for part in parts:
        nodes = list(part.get_nodes())
        if part.ep_name == device.ep_name:
            counts.update(node.op_type for node in nodes)
            groups += len(nodes) > 1
        else:
            other_nodes += [
                NodeReason(node.name, node.op_type, _domain(node.domain), part.ep_name, reasons.of(node.name, node.op_type, _domain(node.domain)))
                for node in nodes
            ]
    return Coverage(str(model), dict(counts.most_common()), groups, tuple(other_nodes))


def _session(model: Path, device: ort.OrtEpDevice) -> ort.InferenceSession:
    """A session of the file itself, so that weights beside it are found."""
    settings = ort.SessionOptions()
    settings.log_severity_level = 3
    settings.add_provider_for_devices([device], {})
    settings.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    return ort.InferenceSession(str(model), settings, enable_fallback=0)


def _domain(name: str) -> str:
    return "" if name in ONNX_DOMAINS else name


class _Reasons:
    """Why nodes of a model are not taken, from the kernels that there are."""

    def __init__(self, model: onnx.ModelProto, kernels: Iterable[KernelEntry]) -> None:
        self.kernels: dict[tuple[str, str], list[KernelEntry]] = {}
        for entry in kernels:
            self.kernels.setdefault((entry.op, entry.domain), []).append(entry)
        self.opsets = {_domain(opset.domain): opset.version for opset in model.opset_import}
        try:
            graph = onnx.shape_inference.infer_shapes(model).graph
        except Exception as error:  # ONNX's own types; types are then known of inputs and weights alone
            print(f"coverage: ONNX's shape inference failed: {str(error).splitlines()[0]}", file=sys.stderr)
            graph = model.graph
        self.nodes = {node.name: node for node in graph.node if node.name}
        self.shapes = _on_shapes(graph)
        self.types = {tensor.name: tensor.data_type for tensor in graph.initializer}
        self.types |= {
            value.name: value.type.tensor_type.elem_type for value in (*graph.input, *graph.value_info, *graph.output) if value.type.HasField("tensor_type")
        }

    def of(self, name: str, op: str, domain: str) -> str:
        """The reason, in words."""
        full_name = f"{domain}.{op}" if domain else op
        kernels = self.kernels.get((op, domain))
        if not kernels:
            return f"there is no kernel for {full_name}"
        raw = _schema(op, domain, self.opsets.get(domain, 1))
        fitting = [entry for entry in kernels if raw is None or entry.first <= raw.since_version <= entry.last]
        if raw is not None and not fitting:
            ranges = ", ".join(f"{entry.first} to {entry.last}" for entry in kernels)
            return f"its schema is of version {raw.since_version}; kernels are for {ranges}"
        node = self.nodes.get(name)
        wrong = _types(node, raw, fitting, self.types) if node is not None and raw is not None and node.op_type == op else ""
        if wrong:
            return wrong
        if name in self.shapes:
            return "it works on shapes, which are on the host: their arithmetic stays on the CPU"
        return "its form is not taken (docs/kernels-ep.md): an attribute, a rank, a shape that is not known, or arithmetic on shapes"


def _on_shapes(graph: onnx.GraphProto) -> set[str]:
    """The names of nodes whose every input is a constant or comes from Shape or Size, by way of such nodes alone."""
    constants = {tensor.name for tensor in graph.initializer}
    shapes: set[str] = set()
    names = set()
    for node in graph.node:
        inputs = [name for name in node.input if name and name not in constants]
        if node.op_type == "Constant":
            constants.update(node.output)
        elif node.op_type in ("Shape", "Size"):
            shapes.update(node.output)
        elif inputs and shapes.issuperset(inputs):
            shapes.update(node.output)
            names.add(node.name)
    return names


def _schema(op: str, domain: str, opset: int) -> state.schemadef.OpSchema | None:
    """The schema that a model of this opset has."""
    schemas = [raw for raw in state.get_all_operator_schema() if raw.name == op and _domain(raw.domain) == domain and raw.since_version <= opset]
    return max(schemas, key=lambda raw: raw.since_version, default=None)


def _types(node: onnx.NodeProto, raw: state.schemadef.OpSchema, kernels: list[KernelEntry], types: dict[str, int]) -> str:
    """Which input has a type that no kernel takes; "" where none is known to."""
    for place, value in enumerate(node.input):
        parameter = raw.inputs[min(place, len(raw.inputs) - 1)].typeStr
        element = types.get(value, 0)
        allowed_types = {number for entry in kernels for number in entry.rules.get(parameter, [element])}
        if value and element and element not in allowed_types:
            names = ", ".join(sorted(_type_name(number) for number in allowed_types))
            return f"input {place} ({value}) is {_type_name(element)}; kernels take {names}"
    return ""


def _type_name(number: int) -> str:
    return str(onnx.TensorProto.DataType.Name(number)).lower()


def report(result: Coverage) -> str:
    """The coverage as lines of text: what is taken, then each reason with the nodes that it is of."""
    total = sum(result.counts.values())
    lines = [f"{result.model}: {total} of {total + len(result.other_nodes)} nodes taken ({result.share:.0%}), {result.groups} groups of them as one step each"]
    lines += [f"  taken  {count:5}  {op}" for op, count in result.counts.items()]
    reasons: dict[tuple[str, str], list[str]] = {}
    for node in result.other_nodes:
        reasons.setdefault((node.op, node.reason), []).append(node.name or "(no name)")
    for (op, reason), names in sorted(reasons.items(), key=lambda row: -len(row[1])):
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        lines.append(f"  left   {len(names):5}  {op}: {reason}: {', '.join(names[:3])}{more}")
    return "\n".join(lines)


def run(models: Iterable[Path], device: ort.OrtEpDevice, library: Path) -> list[Coverage]:
    """Print each model's coverage, and return them."""
    results = []
    for model in models:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results.append(coverage(model, device, library))
        print(report(results[-1]))
    return results
