"""A plain script: one fresh process that does one job with ONNX Runtime and writes the answer to a file.

It runs in the side's own environment, where stackbuild is not installed, so it imports numpy and onnxruntime alone.
`python worker.py JOB.json`, where JOB names what to `do` and the file to `answer` in. ONNX Runtime prints to stdout
when it falls back to another provider, so nothing is ever read from there.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import inspect
import json
import os
import sys
import tempfile
import threading
from pathlib import Path
from statistics import median
from time import perf_counter  # before onnxruntime is imported: a wheel may put another clock in its place
from typing import Any

import bound_outputs
import devices
import numpy as np
import onnxruntime as ort

JobDict = dict[str, Any]
Feeds = dict[str, "np.ndarray[Any, Any]"]
CPU = "CPUExecutionProvider"
HIGH = {"ids": 1000, "flags": 2}


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text())
    if "session" in job:
        load_plugin(job["session"])
    cases = {}
    for case in job.get("cases", ()):
        try:
            cases[case["name"]] = DO[job["do"]](job, case)
        except Exception as error:  # every kind: the caller reports it as this case's result
            cases[case["name"]] = {"problem": f"{type(error).__name__}: {str(error)[:2000]}"}
        gc.collect()
    answer = {"libraries": versions(job), "cases": cases}
    Path(job["answer"]).write_text(json.dumps(answer))


def versions(job: JobDict) -> dict[str, str]:
    numbers = {"python": sys.version.split()[0], "onnxruntime": ort.__version__, "numpy": np.__version__}
    numbers["onnxruntime_path"] = os.path.dirname(ort.__file__)  # noqa: PTH120
    numbers["providers"] = " ".join(ort.get_available_providers())
    return numbers | {"build": getattr(ort, "get_build_info", str)()}


def load_plugin(session: JobDict) -> None:
    """Register a plugin EP's library; its name then stands for a provider."""
    if session.get("plugin"):
        ort.register_execution_provider_library(session["provider"], library_path(session["plugin"]))


def make_session(session: JobDict, case: JobDict, device: dict[str, str], profile: str = "") -> ort.InferenceSession:
    """A session that really runs on the job's provider, or an error with the one it fell back to."""
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = session.get("threads", 0)
    for key, value in session.get("config", {}).items():
        options.add_session_config_entry(key, value)
    for dimension, size in case.get("dims", {}).items():
        options.add_free_dimension_override_by_name(dimension, size)
    for library in session.get("libraries", ()):
        options.register_custom_ops_library(library_path(library))
    if case.get("optimise") == "none":
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    if profile:
        options.enable_profiling, options.profile_file_prefix = True, profile
    provider, settings = session["provider"], {**session.get("options", {}), **device}
    if session.get("plugin"):
        number = int(settings.pop("device_id", 0))
        options.add_provider_for_devices([plugin_device(provider, number)], settings)
        return ort.InferenceSession(case["model"], options, enable_fallback=0)
    if provider not in ort.get_available_providers():
        raise RuntimeError(f"this onnxruntime has no {provider}; it has {', '.join(ort.get_available_providers())}")
    inference = ort.InferenceSession(case["model"], options, providers=[(provider, settings)], enable_fallback=0)
    if inference.get_providers()[0] != provider:
        raise RuntimeError(f"asked for {provider}, the session runs on {inference.get_providers()[0]}")
    return inference


def library_path(library: str) -> str:
    """A file, or `package:function` that names one."""
    module, colon, function = library.partition(":")
    return str(getattr(importlib.import_module(module), function)()) if colon else library


def make_feeds(part: JobDict) -> Feeds:
    """A part's inputs: read from its file, or seeded: `normal` by default, token `ids`, 0/1 `flags`, `ones`, `zeros`."""
    if "feeds" in part:
        with np.load(part["feeds"]) as arrays:
            return dict(arrays)
    feeds = random_feeds(part)
    if "rows" not in part:
        return feeds
    begin, end = part["rows"]
    return {name: value[begin:end] if value.ndim else value for name, value in feeds.items()}


def random_feeds(part: JobDict) -> Feeds:
    """The whole batch, of which a device may take only some rows."""
    inputs, rng = part["inputs"], np.random.default_rng(1)
    feeds: Feeds = {}
    for name, spec in inputs.items():
        shape, dtype, fill = tuple(spec["shape"]), np.dtype(spec["dtype"]), spec.get("fill", "normal")
        if fill in ("ones", "zeros"):
            feeds[name] = np.full(shape, int(fill == "ones"), dtype)
        elif fill in HIGH or dtype.kind in "iu":
            feeds[name] = np.asarray(rng.integers(0, spec.get("high", HIGH.get(fill, 1000)), shape), dtype)
        elif dtype.kind == "b":
            feeds[name] = np.asarray(rng.integers(0, 2, shape), dtype)
        elif dtype.kind == "O":  # a tensor of strings
            feeds[name] = np.asarray(np.asarray(rng.integers(0, 10, shape)).astype(str), dtype)
        else:
            random_inputs = (
                rng.random(shape, np.float32) + 0.5 if fill == "positive" else rng.standard_normal(shape, np.float32)
            )
            feeds[name] = np.asarray(random_inputs, dtype)
    return feeds


def plugin_device(provider: str, number: int) -> Any:
    """The plugin EP's n-th device. Raises RuntimeError where it offers none so far."""
    ep_devices = [d for d in ort.get_ep_devices() if d.ep_name == provider]
    if number >= len(ep_devices):
        names = sorted({d.ep_name for d in ort.get_ep_devices()})
        raise RuntimeError(f"{provider} offers {len(ep_devices)} devices; ONNX Runtime knows {', '.join(names)}")
    return ep_devices[number]


def vendor_of(session: JobDict) -> int:
    """The PCI vendor of the session's device; 0 for the host."""
    if not session.get("plugin"):
        return int(devices.VENDORS.get(session["provider"], 0))
    device = plugin_device(session["provider"], number_of(session)).device
    return int(device.vendor_id) if device.type == ort.OrtHardwareDeviceType.GPU else 0


def number_of(session: JobDict) -> int:
    return int(session.get("options", {}).get("device_id", 0))


def device_of(session: JobDict) -> tuple[Any, ...]:
    """Where inputs and outputs lie, as ONNX Runtime's Python names it: (type, id) or (type, id, PCI vendor).

    "cuda" stood for AMD's GPUs too until devices got vendors (in onnxruntime 1.31 it means NVIDIA's alone). A plugin
    EP's memory has a name since then; before, its inputs lie on the host, and the results say so.
    """
    vendor, number = vendor_of(session), number_of(session)
    named = "vendor_id" in inspect.signature(ort.OrtValue.ortvalue_from_numpy).parameters
    if not vendor or (session.get("plugin") and not named):
        return "cpu", 0
    if session.get("plugin"):
        info = plugin_device(session["provider"], number).memory_info(ort.OrtDeviceMemoryType.DEFAULT)
        return "gpu", info.device_id, vendor
    return ("gpu", number, vendor) if vendor == devices.AMD and named else ("cuda", number)


def on_device(job: JobDict, part: JobDict) -> JobDict:
    """The job with the provider options that name this part's device."""
    session = job["session"]
    return {**job, "session": {**session, "options": {**session.get("options", {}), **part.get("device", {})}}}


def timing(job: JobDict) -> str:
    """How a run is timed, for the results: the clock, and whether copies between host and device are in it."""
    session = job["session"]
    is_copy = job.get("copies") or (vendor_of(session) and device_of(session)[0] == "cpu")
    inside = "copies between host and device included" if is_copy else "inputs and outputs bound"
    if job.get("clock") == "device":
        return f"device events on the session's stream around a run, {inside}"
    return f"wall clock around a run and its synchronisation, {inside}"


class Run:
    """One session with its bound inputs; calling it is one inference (or one decoding of `loop.steps` tokens)."""

    def __init__(self, session: ort.InferenceSession, feeds: Feeds, job: JobDict, loop: JobDict | None) -> None:
        self.session, self.feeds, self.loop, self.copies = session, feeds, loop, job.get("copies", False)
        self.synchronous = True
        self.last: list[Any] = []
        self.device = device_of(job["session"])
        self.start = {k: ort.OrtValue.ortvalue_from_numpy(v, *self.device) for k, v in feeds.items()}
        self.binding = self.bind(self.start)

    def bind(self, inputs: dict[str, Any]) -> Any:
        binding = self.session.io_binding()
        for name, value in inputs.items():
            binding.bind_ortvalue_input(name, value)
        for output in self.session.get_outputs():
            if len(self.device) == 3:  # bind_output takes no vendor: what it would make of one is handed in
                device = ort.OrtDevice.make(*self.device)._get_c_device()
                binding._iobinding.bind_output(output.name, device)
            else:
                binding.bind_output(output.name, *self.device)
        return binding

    def __call__(self) -> None:
        if self.loop:
            self.decode(self.loop)
        elif self.copies:
            self.last = self.session.run(None, self.feeds)
        else:
            self.infer(self.binding)

    def infer(self, binding: Any) -> None:
        """One inference, waited for unless the caller's clock does so itself."""
        if self.synchronous:
            self.session.run_with_iobinding(binding)
            binding.synchronize_outputs()
        else:
            options = ort.RunOptions()
            options.add_run_config_entry("disable_synchronize_execution_providers", "1")
            self.session.run_with_iobinding(binding, options)

    def decode(self, loop: JobDict) -> None:
        """Feed outputs back as inputs, so that a key-value cache grows by a token each step."""
        inputs, names = dict(self.start), [o.name for o in self.session.get_outputs()]
        for _ in range(loop["steps"]):
            binding = self.bind(inputs)
            self.infer(binding)
            outputs = dict(zip(names, binding.get_outputs(), strict=True))
            inputs |= {into: outputs[out] for out, into in loop["feed"].items()}


class ParallelRuns:
    """One session per device, each with its part of the batch, run side by side."""

    def __init__(self, parts: list[Run]) -> None:
        self.parts = parts

    def __call__(self) -> None:
        threads = [threading.Thread(target=part) for part in self.parts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def time_case(job: JobDict, case: JobDict) -> JobDict:
    """Create, first inference, plain runs for comparison, warm-up until stable, then timed runs; seconds per inference."""
    loop, steps = case.get("loop"), (case.get("loop") or {"steps": 1})["steps"]
    with Memory(job["session"], case["parts"]) as memory:
        events = events_of(job, case)
        profile_options = events.options if events else {}
        began = perf_counter()
        sessions = [
            make_session(job["session"], case, part.get("device", {}) | profile_options) for part in case["parts"]
        ]
        create = perf_counter() - began
        runs = [Run(s, make_feeds(p), on_device(job, p), loop) for s, p in zip(sessions, case["parts"], strict=True)]
        run = runs[0] if len(runs) == 1 else ParallelRuns(runs)
        first = wall_seconds(run)
        plain = [bound_outputs.plain_outputs(part) for part in runs]
        if events:
            events.check_stream(run)
            runs[0].synchronous = False
        clock = events or wall_seconds
        warm = warm_up(run, job["budget"], clock)
        samples = timed_samples(run, job["budget"], clock)
        unchecked_outputs = [bound_outputs.overwrite(*pair) for pair in zip(runs, plain, strict=True)]
        samples.append(clock(run))
    for part, plain_outputs in zip(runs, plain, strict=True):
        bound_outputs.check(part, plain_outputs)
    unchecked_outputs += [each.reason for each in plain]
    return {
        "seconds": median(samples) / steps, "create": create, "first": first / steps, "clock": timing(job),
        "runs": len(samples), "warm": warm, "unchecked": next(filter(None, unchecked_outputs), ""),
        "host_bytes": memory.host, "device_bytes": memory.device,
    }  # fmt: skip


def events_of(job: JobDict, case: JobDict) -> devices.DeviceEvents | None:
    """The device's own clock where the job asks for it. Raises ClockUnavailable where there is none."""
    if job.get("clock") != "device":
        return None
    vendor = vendor_of(job["session"])
    if not vendor or len(case["parts"]) > 1 or job.get("copies"):
        raise devices.ClockUnavailable("the device's clock is for one GPU and bound inputs")
    return devices.DeviceEvents(devices.RuntimeGpu(vendor, number_of(job["session"])))


def wall_seconds(run: Any) -> float:
    began = perf_counter()
    run()
    return perf_counter() - began


def warm_up(run: Any, budget: JobDict, clock: Any) -> int:
    """Run until the medians of the last two windows of five agree to 2 %, or the warm-up's time is spent."""
    durations: list[float] = []
    end = perf_counter() + budget["warm_seconds"]
    while perf_counter() < end:
        durations.append(clock(run))
        if len(durations) >= 10 and abs(median(durations[-5:]) / median(durations[-10:-5]) - 1) < 0.02:
            break
    return len(durations)


def timed_samples(run: Any, budget: JobDict, clock: Any) -> list[float]:
    samples = [clock(run) for _ in range(budget["least"])]
    end = perf_counter() + budget["seconds"]
    while perf_counter() < end and len(samples) < budget["most"]:
        samples.append(clock(run))
    return samples


class Memory:
    """Peak memory over a `with`: of this process above where it began, and of its devices where they tell.

    A device is read every 5 ms and once more at the end, before the session goes: its memory pools do not shrink.
    """

    def __init__(self, session: JobDict, parts: list[JobDict]) -> None:
        vendor = vendor_of(session)
        numbers = sorted({int(part.get("device", {}).get("device_id", number_of(session))) for part in parts})
        self.read_device = devices.memory_reader(vendor, numbers) if vendor else None
        self.host: int | None = None
        self.device: int | None = None

    def __enter__(self) -> Memory:
        self.resident = proc_status("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # resets VmHWM: proc_pid_clear_refs(5)
        if self.read_device:
            self.idle, self.peak, self.stop = self.read_device(), 0, threading.Event()
            self.watcher = threading.Thread(target=self.watch, daemon=True)
            self.watcher.start()
        return self

    def watch(self) -> None:
        while self.read_device and not self.stop.wait(0.005):
            self.peak = max(self.peak, self.read_device())

    def __exit__(self, *error: object) -> None:
        self.host = max(0, proc_status("VmHWM") - self.resident)
        if self.read_device:
            self.stop.set()
            self.watcher.join()
            self.device = max(0, max(self.peak, self.read_device()) - self.idle)


def proc_status(field: str) -> int:
    """A field of /proc/self/status in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":"))


def outputs(job: JobDict, case: JobDict) -> JobDict:
    """Run three times and keep every output of the last in `case["keep"]`, an .npz file, by name.

    A kernel that computes at its first call alone is not called right.
    """
    arrays = []
    for part in case["parts"]:
        session = make_session(job["session"], case, part.get("device", {}))
        names = [o.name for o in session.get_outputs()]
        feeds = make_feeds(part)
        arrays.append([session.run(None, feeds) for _ in range(3)][-1])
    whole = arrays[0] if len(arrays) == 1 else [np.concatenate(pieces) for pieces in zip(*arrays, strict=True)]
    np.savez(case["keep"], **dict(zip(names, whole, strict=True)))
    return {"outputs": names}


def compare(job: JobDict, case: JobDict) -> JobDict:
    """The worst of each measure over the outputs, by stackbuild's own `error_metrics.py` at `job["error_metrics"]`."""
    spec = importlib.util.spec_from_file_location("error_metrics", job["error_metrics"])
    assert spec and spec.loader
    error_metrics = importlib.util.module_from_spec(spec)
    sys.modules["error_metrics"] = error_metrics
    spec.loader.exec_module(error_metrics)
    ours, theirs = np.load(case["ours"]), np.load(case["theirs"])
    if set(ours.files) != set(theirs.files):
        raise ValueError(f"outputs differ: {sorted(ours.files)} against {sorted(theirs.files)}")
    by_name = {name: error_metrics.errors(ours[name], theirs[name]) for name in ours.files}
    blind = [name for name, e in by_name.items() if e.count and not e.is_conclusive]
    if blind or not any(e.is_conclusive for e in by_name.values()):
        raise ValueError(f"no element of {', '.join(blind) or 'any output'} is finite, here or in the reference")
    rows = list(by_name.values())
    worst: JobDict = {m: max(getattr(e, m) for e in rows) for m in ("max_abs", "max_rel", "rms")}
    return worst | {m: min(getattr(e, m) for e in rows) for m in ("cosine", "snr_db")}


def profile(job: JobDict, case: JobDict) -> JobDict:
    """Seconds and nodes by operator and provider over three runs, from ONNX Runtime's own profile."""
    with tempfile.TemporaryDirectory() as folder:
        session = make_session(job["session"], case, {}, profile=str(Path(folder) / "profile"))
        run = Run(session, make_feeds(case["parts"][0]), job, case.get("loop"))
        for _ in range(4):
            run()
        events = json.loads(Path(session.end_profiling()).read_text())
    nodes: dict[tuple[str, str], dict[str, list[float]]] = {}
    for event in events:
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            who = (event["args"]["op_name"], event["args"]["provider"])
            nodes.setdefault(who, {}).setdefault(event["name"], []).append(event["dur"] * 1e-6)
    steps = (case.get("loop") or {"steps": 1})["steps"]
    return {
        "ops": [
            {"op": op, "provider": provider, "nodes": len(by), "seconds": sum(median(t) for t in by.values()) * steps}
            for (op, provider), by in nodes.items()
        ]
    }


def quantise(job: JobDict, case: JobDict) -> JobDict:
    """Dynamic int8 quantisation of the weights: case["model"] to case["keep"].

    Shape inference knows nothing of the optimiser's own operators, so weights behind them are said to be float32.
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic

    extra_options = {"DefaultTensorType": 1}  # onnx.TensorProto.FLOAT
    quantize_dynamic(case["model"], case["keep"], weight_type=QuantType.QInt8, extra_options=extra_options)
    return {"kept": case["keep"]}


def optimise(job: JobDict, case: JobDict) -> JobDict:
    """ONNX Runtime's transformer optimiser: case["model"] to case["keep"]; says which fusions it found."""
    from onnxruntime.transformers import optimizer

    optimised_model = optimizer.optimize_model(
        case["model"],
        case["type"],
        num_heads=case["heads"],
        hidden_size=case["hidden"],
        opt_level=0,
        only_onnxruntime=False,
    )
    optimised_model.save_model_to_file(case["keep"], use_external_data_format=False)
    return {
        "kept": case["keep"],
        "fused": {k: int(v) for k, v in optimised_model.get_fused_operator_statistics().items() if v},
    }


DO = {
    "time": time_case, "outputs": outputs, "compare": compare, "profile": profile,
    "quantise": quantise, "optimise": optimise,
}  # fmt: skip

if __name__ == "__main__":
    main()
