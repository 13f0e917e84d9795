#!/usr/bin/env python3
"""Times the models of `kernels/ep/gpu-check` on ONNX Runtime's own CUDA provider, at its best, for the column beside the plugin provider's.

    python3 kernels/tools/ep/cuda_provider_times.py --json FILE [--models resnet50:float16:32,bert-base:float16:8x512]

A process of its own, since the wheel onnxruntime-gpu takes the place of onnxruntime's. Needs that wheel, CUDA's libraries and cuDNN.
Each model runs as a CUDA graph, its convolutions channels first and, with the option prefer_nhwc, channels last, and once without a graph.
TF32 is off, all extents are known to the session, and inputs and outputs lie on the device. Times are taken as bench.py takes them.
Exit status: 0 all timed and right, 1 a wrong answer or a model that failed, 2 no CUDA provider.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
import onnxruntime as ort

from tools.ep import bench, models, session
from tools.ep.gpu_check import DEFAULT_MODELS, MODEL_TOLERANCE

PROVIDER = "CUDAExecutionProvider"
FORMS = {
    "eager": {},
    "graph": {"enable_cuda_graph": "1"},
    "graph last": {"enable_cuda_graph": "1", "prefer_nhwc": "1"},
}
"""The provider's options of each column."""
TimedForms = dict[str, object]


@dataclass(frozen=True)
class TimedModel:
    """A model of tools/ep/models.py, its element type and its extents."""

    name: str
    dtype: str
    sizes: dict[str, int]


def open_session(case: TimedModel, options: dict[str, str]) -> ort.InferenceSession:
    """A session with the model's extents, so that no shape is computed at the run. Raises what ONNX Runtime does where a node keeps it from a graph."""
    settings = ort.SessionOptions()
    settings.log_severity_level = 3
    settings.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    model = models.model(case.name, case.dtype)
    symbols = {d.dim_param for value in model.graph.input for d in value.type.tensor_type.shape.dim if d.dim_param}
    for symbol in symbols & case.sizes.keys():
        settings.add_free_dimension_override_by_name(symbol, case.sizes[symbol])
    cuda_session = ort.InferenceSession(model.SerializeToString(), settings, [(PROVIDER, {"use_tf32": "0", **options})], enable_fallback=0)
    if cuda_session.get_providers()[0] != PROVIDER:
        raise RuntimeError(f"{PROVIDER} was not made: a library that it needs does not open (ONNX Runtime's log says which)")
    return cuda_session


class CudaSession:
    """A session's inputs and outputs in the memory of CUDA's first device."""

    def __init__(self, session: ort.InferenceSession, feeds: dict[str, np.ndarray], shapes: dict[str, tuple[int, ...]]) -> None:
        self.session, self.binding = session, session.io_binding()
        types = {f"tensor({onnx_name})": kind for onnx_name, kind in bench.ELEMENT_TYPES.items()}
        self.inputs = {name: ort.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(value), "cuda", 0) for name, value in feeds.items()}
        self.outputs = {o.name: ort.OrtValue.ortvalue_from_shape_and_type(shapes[o.name], types[o.type], "cuda", 0) for o in session.get_outputs()}
        for name, value in self.inputs.items():
            self.binding.bind_ortvalue_input(name, value)
        for name, value in self.outputs.items():
            self.binding.bind_ortvalue_output(name, value)

    def run(self) -> None:
        """One inference; the device is done when it returns."""
        self.session.run_with_iobinding(self.binding)


def time_form(case: TimedModel, options: dict[str, str], reference: dict[str, np.ndarray]) -> TimedForms:
    """Milliseconds, the error against `reference` and the compute nodes that are not on the provider."""
    cuda_session = open_session(case, options)
    bound = CudaSession(cuda_session, models.feeds(case.name, case.dtype, **case.sizes), models.output_shapes(case.name, case.dtype, **case.sizes))
    timing = bench.time_call(bound.run)
    error = max(session.relative_error(bound.outputs[key].numpy(), reference[key]) for key in reference)
    return {**vars(timing), "error": error, "elsewhere": dict(session.compute_nodes_elsewhere(cuda_session, PROVIDER))}


def time_model(item: str) -> TimedForms:
    """One row: each form's figures, or why it did not run."""
    name, dtype, text = item.split(":")
    case = TimedModel(name, dtype, models.sizes_of(name, text))
    reference = bench.cpu_result(name, dtype, **case.sizes)
    row: TimedForms = {"model": name, "dtype": dtype, "size": text}
    for form, options in FORMS.items():
        try:
            row[form] = time_form(case, options, reference)
        except Exception as error:  # ONNX Runtime's own types
            row[form] = {"refused": str(error).splitlines()[0][:300]}
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=DEFAULT_MODELS, help="comma-separated model:dtype:size")
    parser.add_argument("--json", type=Path, required=True, help="where the rows go, after each")
    args = parser.parse_args()
    if PROVIDER not in ort.get_available_providers():
        print(f"onnxruntime {ort.__version__} has no {PROVIDER}; next: install the wheel onnxruntime-gpu", file=sys.stderr)
        return 2
    rows, bad = [], 0
    print(f"onnxruntime {ort.__version__}\n{'model':32} " + " ".join(f"{form:>10}" for form in FORMS) + "  error")
    for item in args.models.split(","):
        row = time_model(item)
        rows.append(row)
        args.json.write_text(json.dumps({"onnxruntime": ort.__version__, "rows": rows}, indent=1))
        forms = [row[form] for form in FORMS]
        error = max((form["error"] for form in forms if "error" in form), default=float("inf"))  # type: ignore[operator, index, type-var]
        wrong = not error <= MODEL_TOLERANCE[str(row["dtype"])]  # type: ignore[operator]
        bad += wrong
        cells = [f"{form['median']:10.3f}" if "median" in form else f"{'refused':>10}" for form in forms]  # type: ignore[operator, index]
        print(f"{item:32} {' '.join(cells)}  {error:.1e}{' FAILED' if wrong else ''}", flush=True)
        for form, values in zip(FORMS, forms, strict=True):
            if text := values.get("refused") or values.get("elsewhere"):  # type: ignore[attr-defined]
                print(f"  {form}: {text}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
