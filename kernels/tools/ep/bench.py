"""Model times on the provider beside PyTorch on the same GPU and beside ONNX Runtime's CPU provider."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import onnxruntime as ort

from tools.ep import models
from tools.ep.session import open_session
from tools.ep.torch_nets import PICTURES, torch_call

Array = np.ndarray
ELEMENT_TYPES = {"float": np.float32, "float16": np.float16, "int8": np.int8, "uint8": np.uint8, "int32": np.int32}


@dataclass(frozen=True)
class Timing:
    """Milliseconds a run: the median of `count` after warm-up, and the 5th and 95th percentile."""

    median: float
    low: float
    high: float
    count: int


def time_call(run: Callable[[], object], seconds: float = 0.5, most: int = 200, warm: int = 5) -> Timing:
    """Wall clock around `run`, which must have finished its device work when it returns."""
    for _ in range(warm):
        run()
    samples: list[float] = []
    stop = time.perf_counter() + seconds
    while len(samples) < most and (time.perf_counter() < stop or len(samples) < 5):
        start = time.perf_counter()
        run()
        samples.append((time.perf_counter() - start) * 1e3)
    samples.sort()
    return Timing(statistics.median(samples), samples[len(samples) // 20], samples[-1 - len(samples) // 20], len(samples))


class BoundSession:
    """A session with inputs and outputs bound in device memory, as a server would hold them."""

    def __init__(self, session: ort.InferenceSession, feeds: dict[str, Array], shapes: dict[str, tuple[int, ...]], vendor: int, number: int = 0):
        place = {"device_type": "gpu", "device_id": number, "vendor_id": vendor}
        self.session, self.binding = session, session.io_binding()
        self.inputs = {k: ort.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(v), **place) for k, v in feeds.items()}
        for name, value in self.inputs.items():
            self.binding.bind_ortvalue_input(name, value)
        types = {f"tensor({onnx_name})": kind for onnx_name, kind in ELEMENT_TYPES.items()}
        self.outputs = {
            o.name: ort.OrtValue.ortvalue_from_shape_and_type(shapes[o.name], types[o.type], **place) for o in session.get_outputs()
        }
        for name, value in self.outputs.items():
            self.binding.bind_ortvalue_output(name, value)

    def run(self) -> None:
        """One inference; the device is done when it returns."""
        self.session.run_with_iobinding(self.binding)

    def results(self) -> dict[str, Array]:
        """The outputs, on the host."""
        return {name: value.numpy() for name, value in self.outputs.items()}


def bind(device: ort.OrtEpDevice, name: str, dtype: str, graph: bool, fuse: bool = True, number: int = 0, **sizes: int) -> BoundSession:
    """`name` at `dtype` on `device`, the `number`th of its kind, bound to random inputs of `sizes`; `graph` records and replays the run."""
    options = {"enable_hip_graph": "1"} if graph else {}
    if not fuse:
        options["fuse"] = "0"
    session = open_session(models.model(name, dtype), device, options=options)
    feeds = models.feeds(name, dtype, **sizes)
    return BoundSession(session, feeds, models.output_shapes(name, dtype, **sizes), device.device.vendor_id, number)


def waited_for(call: Callable[[], object]) -> Callable[[], None]:
    """The same, and the device is done when it returns."""
    import torch

    def run() -> None:
        call()
        torch.cuda.synchronize()

    return run


def torch_graph_time(call: Callable[[], object]) -> Timing:
    """The call's CUDA graph; NaN where it cannot be captured (a mask that is read on the host)."""
    import torch

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
    torch.cuda.synchronize()
    try:
        cuda_graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(cuda_graph):
            call()
    except RuntimeError:
        return Timing(float("nan"), 0, 0, 0)
    return time_call(waited_for(cuda_graph.replay))


def torch_times(name: str, dtype: str, compile_form: str, **sizes: int) -> tuple[dict[str, Timing], int]:
    """PyTorch eager, its CUDA graph (of images channels last too), and with `compile_form` torch.compile's; and the bytes of eager at most.

    TF32 is off. `compile_form`: one of torch_nets.COMPILE_FORMS, with frozen weights, images channels last (minutes a model); "": none.
    """
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    with torch.inference_mode():
        call = torch_call(name, dtype, False, "", sizes)
        times = {"torch eager": time_call(waited_for(call))}
        peak = torch.cuda.max_memory_allocated() - before
        times["torch graph"] = torch_graph_time(call)
        if name in PICTURES:
            times["torch last"] = torch_graph_time(torch_call(name, dtype, True, "", sizes))
    if compile_form:
        import torch._dynamo
        import torch._inductor.config

        torch._dynamo.reset()
        torch._inductor.config.freezing = True
        with torch.no_grad():  # inference_mode would keep it from freezing the weights
            times["torch compiled"] = time_call(waited_for(torch_call(name, dtype, True, compile_form, sizes)))
    return times, peak


def cpu_time(name: str, dtype: str, **sizes: int) -> Timing:
    """ONNX Runtime's own CPU provider, with all cores."""
    options = ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(models.model(name, dtype).SerializeToString(), options, providers=["CPUExecutionProvider"])
    feeds = models.feeds(name, dtype, **sizes)
    return time_call(lambda: session.run(None, feeds), seconds=1.0, most=20, warm=1)


def cpu_result(name: str, dtype: str, **sizes: int) -> dict[str, Array]:
    """What the float32 model gives on the CPU provider: the reference of both dtypes."""
    options = ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(models.model(name, "float32").SerializeToString(), options, providers=["CPUExecutionProvider"])
    feeds = {k: v.astype(np.float32) if v.dtype == np.float16 else v for k, v in models.feeds(name, dtype, **sizes).items()}
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds), strict=True))
