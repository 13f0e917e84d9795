"""Every registered kernel in every combination of element types that it and the operator's schema allow: each combination is
answered as ONNX says, or not claimed. A kernel that leaves a type variable of the schema out would be given any type there.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper
from onnx.reference import ReferenceEvaluator

from tools.ep.examples import Example, Kinds, example
from tools.ep.registry import TYPES, KernelEntry, Schema, entries, schemas
from tools.ep.session import nodes_elsewhere, open_session, relative_error

Array = np.ndarray
MOST = 40  # combinations for which every version of a schema is looked at; of more, the first and the last
WIDE_FLOATS: dict[str, type] = {"float16": np.float32}  # a product of float16 scales would be rounded
WIDE: dict[str, type] = {**WIDE_FLOATS, "int16": np.int32, "uint16": np.int32, "int8": np.int32, "uint32": np.int64, "uint64": np.int64}
# A variable of an output that no claimed node has; older releases do not know its name.
OF_WHAT_IS_NOT_CLAIMED = {("MultiHeadAttention", "QK")}
BETWEEN = ("MemcpyFromHost", "MemcpyToHost")  # ONNX Runtime's own nodes, in no schema


@dataclass(frozen=True)
class TypeResult:
    """`state`: answered, unclaimed, or what is wrong; `judge`: who answered too."""

    name: str
    state: str
    judge: str = ""


def combinations(entry: KernelEntry, schema: Schema) -> list[Kinds]:
    """The types of each variable, all with all."""
    names = [n for n in entry.rules if n in schema.variables]
    choices = [[TYPES[t] for t in entry.rules[n] if t in TYPES and t in schema.allowed_types[n]] for n in names]
    return [dict(zip(names, choice, strict=True)) for choice in itertools.product(*choices)]


def unnamed_types(entry: KernelEntry, schema: Schema) -> list[str]:
    """Variables that the kernel says nothing of."""
    return sorted(v for v in schema.variables - set(entry.rules) if (entry.op, v) not in OF_WHAT_IS_NOT_CLAIMED)


def _model(entry: KernelEntry, schema: Schema, drawn_example: Example) -> tuple[onnx.ModelProto, dict[str, Array]]:
    feeds = {f"x{i}": v for i, v in enumerate(drawn_example.inputs) if v is not None}
    names = [f"x{i}" if v is not None else "" for i, v in enumerate(drawn_example.inputs)]
    outputs = [f"y{i}" for i in range(drawn_example.outputs)]
    node = helper.make_node(entry.op, names, outputs, domain=entry.domain, **drawn_example.attributes)
    infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in feeds.items()]
    graph = helper.make_graph([node], "types", infos, [onnx.ValueInfoProto(name=n) for n in outputs])
    sets = [helper.make_opsetid("", schema.opset)] + ([helper.make_opsetid(entry.domain, schema.version)] if entry.domain else [])
    return helper.make_model(graph, opset_imports=sets, ir_version=10), feeds


def _cpu(model: onnx.ModelProto) -> ort.InferenceSession:
    settings = ort.SessionOptions()
    settings.log_severity_level = 4
    return ort.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])


def _widen(drawn_example: Example, types: dict[str, type]) -> Example:
    """The same values in the types that `types` has for theirs."""
    wide = [None if v is None else v.astype(types.get(v.dtype.name, v.dtype)) for v in drawn_example.inputs]
    return Example(wide, drawn_example.attributes, drawn_example.outputs)


def _answers(entry: KernelEntry, schema: Schema, drawn_example: Example) -> Iterator[tuple[str, list[Array]]]:
    """ONNX's reference, it with floats widened, the CPU provider, and it in wider types: whichever of them answer."""
    model, feeds = _model(entry, schema, drawn_example)
    wide, wide_feeds = _model(entry, schema, _widen(drawn_example, WIDE))
    wide_floats, wide_float_feeds = _model(entry, schema, _widen(drawn_example, WIDE_FLOATS))
    for who, ask in (
        ("ONNX's reference", lambda: ReferenceEvaluator(model).run(None, feeds)),
        ("ONNX's reference, floats widened", lambda: ReferenceEvaluator(wide_floats).run(None, wide_float_feeds)),
        ("the CPU provider", lambda: _cpu(model).run(None, feeds)),
        ("the CPU provider, wider", lambda: _cpu(wide).run(None, wide_feeds)),
    ):
        try:
            yield who, [np.asarray(a) for a in ask()]
        except Exception:  # it does not take this combination; the next may
            continue


def _differs(actual: list[Array], reference: list[Array], tolerance: float) -> str:
    """What is wrong with an answer, "" for nothing. Whole numbers must be equal."""
    for a, b in zip(actual, reference, strict=True):
        if (a.dtype.kind == "f") != (b.dtype.kind == "f"):
            return f"an answer of {a.dtype}, not {b.dtype}"
        if a.dtype.kind != "f" and not np.array_equal(a, b):
            return "other integers"
        error = relative_error(a, b)
        if not error <= tolerance:
            return f"relative error {error:.1e}"
    return ""


def _loads(model: onnx.ModelProto) -> bool:
    try:
        _cpu(model)
    except Exception:  # ONNX Runtime has no kernel for it, or does not think it a model
        return False
    return True


def _judge(entry: KernelEntry, schema: Schema, kinds: Kinds, device: ort.OrtEpDevice, options: dict[str, str]) -> TypeResult:
    types = " ".join(f"{name} {np.dtype(kind)}" for name, kind in kinds.items())
    name = f"{entry.op} {schema.version}, {types} {options or ''}"
    drawn_example = example(entry.op, kinds, schema)
    model, feeds = _model(entry, schema, drawn_example)
    try:
        session = open_session(model, device, options=options, optimize=False, severity=4)
    except Exception as failure:  # not claimed, and then nobody's
        return TypeResult(name, f"refused: {str(failure)[:120]}" if _loads(model) else "unclaimed")
    if nodes_elsewhere(session, device.ep_name):
        return TypeResult(name, "unclaimed")
    try:
        actual = [np.asarray(a) for a in session.run(None, feeds)]
    except Exception as failure:
        return TypeResult(name, f"claimed, and refused: {str(failure)[:120]}")
    is_half = any(np.dtype(k) == np.float16 for k in kinds.values())
    tolerance = 1e-2 if is_half else 2e-5
    wrong = "claimed, and nobody else answers"
    for who, reference in _answers(entry, schema, drawn_example):
        wrong = _differs(actual, reference, tolerance)
        if not wrong:
            return TypeResult(name, "answered", who)
        wrong += f" against {who}"
    return TypeResult(name, wrong)


def _is_checked(entry: KernelEntry) -> list[Schema]:
    """Every version, or of a kernel of many combinations the first and the last."""
    versions = schemas(entry)
    many = any(len(combinations(entry, s)) > MOST for s in versions)
    return [versions[0], versions[-1]] if many and len(versions) > 1 else versions


def run(device: ort.OrtEpDevice, library: Path, mixed_only: bool = False) -> list[TypeResult]:
    """Every kernel in `library`; those of the channels-last domain are met through the layout conversion.

    `mixed_only`: only those with a few combinations of several variables, where one could be read as another.
    """
    results = []
    for entry in entries(library):
        if entry.op in BETWEEN or "nhwc" in entry.domain:
            continue
        if mixed_only and (len(entry.rules) < 2 or any(len(combinations(entry, s)) > MOST for s in schemas(entry))):
            continue
        for schema in _is_checked(entry):
            left_out = unnamed_types(entry, schema)
            if left_out:
                results.append(TypeResult(f"{entry.op} {schema.version}", f"says nothing of type variable {', '.join(left_out)}"))
            for kinds in combinations(entry, schema):
                results.append(_judge(entry, schema, kinds, device, {}))
                if entry.op in ("Conv", "BatchNormalization") or "Pool" in entry.op:
                    results.append(_judge(entry, schema, kinds, device, {"channels_last": "0"}))
    return results
