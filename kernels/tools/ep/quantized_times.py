#!/usr/bin/env python3
"""Times the quantized operators on the provider beside PyTorch on the same GPU.

    python3 kernels/tools/ep/quantized_times.py --library build/libonnxruntime_ep_rockernels.so --json times.json

A row is a model of 16 equal nodes, replayed as a graph, and the same 16 calls in a CUDA graph of PyTorch; given is a sixteenth of the
median. Peers: `torch._int_mm` (int8 to int32, the faster of both orders of its second operand) for MatMulInteger and QLinearMatMul,
whose scaling it leaves out, and for all a float16 product or convolution (channels last) of weights that were dequantized before.
Exit status: 2 without a GPU, PyTorch or the provider; no answer is checked here (kernels/ep/gpu-check does).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tools.ep import bench, session

Array = np.ndarray
REPEATS = 16
MATRICES = [(1, 4096, 4096), (32, 4096, 4096), (512, 4096, 4096), (4096, 4096, 4096), (128, 768, 3072), (1, 4096, 11008)]
CONVOLUTIONS = [(32, 64, 56, 64, 3, 1, 1), (32, 256, 14, 256, 3, 1, 1), (32, 64, 56, 256, 1, 1, 1), (32, 3, 224, 64, 7, 2, 1), (32, 144, 56, 144, 3, 1, 144)]
"""Images, channels, height and width, filters, taps, stride, groups."""
_rng = np.random.default_rng(5)


@dataclass(frozen=True)
class QuantizedRow:
    """Milliseconds of one node; peers by name."""

    op: str
    shape: str
    ours: float
    peers: dict[str, float]


@dataclass(frozen=True)
class QuantizedNode:
    """One node: its inputs in order (constants but the first), attributes and the output."""

    op: str
    inputs: dict[str, Array]
    attributes: dict[str, object]
    output_shape: tuple[int, ...]
    output_kind: type
    domain: str = ""


def _bytes(*shape: int) -> Array:
    return _rng.integers(-127, 128, shape).astype(np.int8)


def _scale(value: float) -> Array:
    return np.array(value, np.float32)


def model(node: QuantizedNode) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """REPEATS nodes that read the same inputs, and what the first of them is fed."""
    first = next(iter(node.inputs))
    nodes = [helper.make_node(node.op, list(node.inputs), [f"y{i}"], domain=node.domain, **node.attributes) for i in range(REPEATS)]
    fed_name = node.inputs[first]
    info = helper.make_tensor_value_info(first, helper.np_dtype_to_tensor_dtype(fed_name.dtype), fed_name.shape)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(node.output_kind))
    outputs = [helper.make_tensor_value_info(f"y{i}", kind, node.output_shape) for i in range(REPEATS)]
    weights = [numpy_helper.from_array(v, n) for n, v in node.inputs.items() if n != first]
    graph = helper.make_graph(nodes, "times", [info], outputs, weights)
    opsets = [helper.make_opsetid("", 21)] + [helper.make_opsetid(node.domain, 1)] * bool(node.domain)
    return helper.make_model(graph, opset_imports=opsets, ir_version=10), {first: fed_name}


def ours(node: QuantizedNode, device: Any) -> float:
    """Milliseconds of one node on the provider."""
    proto, feeds = model(node)
    timed_session = session.open_session(proto, device, optimize=False, options={"enable_hip_graph": "1"})
    elsewhere = session.nodes_elsewhere(timed_session, device.ep_name)
    if elsewhere:
        raise RuntimeError(f"{node.op} is not on the provider: {dict(elsewhere)}")
    shapes = {f"y{i}": node.output_shape for i in range(REPEATS)}
    bound = bench.BoundSession(timed_session, feeds, shapes, device.device.vendor_id)
    return bench.time_call(bound.run).median / REPEATS


def theirs(call: Callable[[], object]) -> float:
    """Milliseconds of one call of PyTorch's, REPEATS of them in a graph."""

    def many() -> None:
        for _ in range(REPEATS):
            call()

    return bench.torch_graph_time(many).median / REPEATS


def _products(torch: Any, m: int, k: int, n: int) -> tuple[dict[str, Callable[[], object]], Callable[[], object]]:
    """PyTorch's products of int8 (none where it takes no such shape) and its product of float16."""
    a, b = (torch.randint(-127, 128, s, device="cuda", dtype=torch.int8) for s in ((m, k), (k, n)))
    by_column = b.t().contiguous().t()
    integers = {"int8": lambda: torch._int_mm(a, b), "int8 by column": lambda: torch._int_mm(a, by_column)} if m > 16 else {}
    half_a, half_b = a.half() / 64, b.half() / 64
    return integers, lambda: torch.matmul(half_a, half_b)


def matrix_rows(torch: Any, device: Any, m: int, k: int, n: int) -> list[QuantizedRow]:
    """MatMulInteger, QLinearMatMul and MatMulNBits (4 bits, blocks of 32, float16) of one shape."""
    a, b, zero = _bytes(m, k), _bytes(k, n), np.array(3, np.int8)
    scaled_inputs = {"a": a, "a_scale": _scale(0.02), "a_zero": zero, "b": b, "b_scale": _scale(0.01), "b_zero": zero, "y_scale": _scale(2), "y_zero": zero}
    codes = _rng.integers(0, 256, (n, k // 32, 16)).astype(np.uint8)
    scales = _rng.uniform(0.001, 0.01, (n, k // 32)).astype(np.float16)
    nodes = [
        QuantizedNode("MatMulInteger", {"a": a, "b": b, "a_zero": zero, "b_zero": zero}, {}, (m, n), np.int32),
        QuantizedNode("QLinearMatMul", scaled_inputs, {}, (m, n), np.int8),
        QuantizedNode("MatMulNBits", {"a": (a / 64).astype(np.float16), "b": codes, "scales": scales}, {"K": k, "N": n, "bits": 4, "block_size": 32},
                      (m, n), np.float16, "com.microsoft"),
    ]  # fmt: skip
    integers, half = _products(torch, m, k, n)
    half_time, integer_times = theirs(half), [theirs(call) for call in integers.values()]
    peers = {"float16": half_time} | ({"int8": min(integer_times)} if integer_times else {})
    return [QuantizedRow(node.op, f"{m}×{k}×{n}", ours(node, device), {"float16": half_time} if node.op == "MatMulNBits" else peers) for node in nodes]


def conv_row(torch: Any, device: Any, n: int, c: int, hw: int, k: int, taps: int, stride: int, groups: int) -> QuantizedRow:
    """QLinearConv of one shape."""
    pad = taps // 2
    out = (hw + 2 * pad - taps) // stride + 1
    x, w, zero = _bytes(n, c, hw, hw), _bytes(k, c // groups, taps, taps), np.array(3, np.int8)
    inputs = {"x": x, "x_scale": _scale(0.02), "x_zero": zero, "w": w, "w_scale": _scale(0.01), "w_zero": np.array(0, np.int8), "y_scale": _scale(1), "y_zero": zero}
    attributes: dict[str, object] = {"pads": [pad] * 4, "strides": [stride] * 2, "group": groups}
    node = QuantizedNode("QLinearConv", inputs, attributes, (n, k, out, out), np.int8)
    half_x, half_w = (torch.from_numpy(v).cuda().half().to(memory_format=torch.channels_last) / 64 for v in (x, w))
    time = theirs(lambda: torch.nn.functional.conv2d(half_x, half_w, None, stride, pad, 1, groups))
    text = f"N{n} C{c} {hw}² K{k} {taps}×{taps}/{stride}" + (f" {groups} groups" if groups > 1 else "")
    return QuantizedRow("QLinearConv", text, ours(node, device), {"float16": time})


def table(rows: list[QuantizedRow]) -> str:
    """The rows in Markdown; the ratios are the peers' times over ours."""
    lines = ["| operator | shape | ours, ms | float16 by PyTorch, ms | ratio | int8 by PyTorch, ms | ratio |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        cells = [f"{row.peers[p]:.4f} | {row.peers[p] / row.ours:.2f}" if p in row.peers else " | " for p in ("float16", "int8")]
        lines.append(f"| {row.op} | {row.shape} | {row.ours:.4f} | {cells[0]} | {cells[1]} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path, required=True, help="libonnxruntime_ep_rockernels.so with its device library beside it")
    parser.add_argument("--json", type=Path, help="write the times there too")
    args = parser.parse_args()
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed: there is nothing to compare with", file=sys.stderr)
        return 2
    try:
        device = session.register(args.library.resolve())[0]
    except session.NoDevice as error:
        print(error, file=sys.stderr)
        return 2
    torch.backends.cudnn.benchmark = True
    with torch.inference_mode():
        rows = [row for shape in MATRICES for row in matrix_rows(torch, device, *shape)]
        rows += [conv_row(torch, device, *shape) for shape in CONVOLUTIONS]
    print(table(rows))
    if args.json is not None:
        args.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
