"""A plain script that opens one model on one provider and says which node ran where: `python placement_worker.py JOB.json`.

It runs in the interpreter whose onnxruntime is asked, and needs numpy and onnxruntime there alone. The job: `model`, `session`
(provider, options, plugin), `parts` (the inputs of each shape to run, as worker.py makes them), `runs`, `answer`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from worker import library_path, load_plugin, make_feeds, plugin_device

JobDict = dict[str, Any]
RECORD = "session.record_ep_graph_assignment_info"
"""ONNX Runtime 1.24 and newer tell the placement of every node where this is set; older ones ignore it."""

CODES = {
    "bfloat16": (16, np.uint16, 0x3F00, 0x4000),
    "float8_e4m3fn": (17, np.uint8, 0x30, 0x40),
    "float8_e4m3fnuz": (18, np.uint8, 0x30, 0x40),
    "float8_e5m2": (19, np.uint8, 0x30, 0x40),
    "float8_e5m2fnuz": (20, np.uint8, 0x30, 0x40),
}
"""Element types without one of NumPy: ONNX's number, the type that holds the bits, and the bits of numbers around 1."""


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text())
    answer: JobDict = {"onnxruntime": ort.__version__, "available": ort.get_available_providers(), "stage": "session"}
    try:
        answer |= examine(job, answer)
    except Exception as error:  # every kind: the caller reports it as what the model met
        answer["problem"] = f"{type(error).__name__}: {str(error)[:2000]}"
    Path(job["answer"]).write_text(json.dumps(answer))


def examine(job: JobDict, progress: JobDict) -> JobDict:
    """The session's providers, each node's provider and kernel time, and how long creation and each shape's runs took.

    `progress` gets the stage that it is in, for the caller to know what an error is of.
    """
    began = time.perf_counter()
    session = open_session(job, progress)
    creation_seconds = time.perf_counter() - began
    quiet = ort.RunOptions()
    quiet.log_severity_level = 3
    shapes = []
    rounds = [(part, job["runs"]) for part in job["parts"]]
    if len(rounds) > 1:  # the first shape once more: is what was compiled for it still there?
        rounds.append((job["parts"][0], 1))
    for part, runs in rounds:
        sizes = {name: spec["shape"] for name, spec in part["inputs"].items()}
        progress |= {"stage": "inputs", "sizes": sizes}
        feeds = values(part)
        progress["stage"] = "run"
        shapes.append({"sizes": sizes, **time_runs(session, feeds, runs, quiet)})
    nodes = profile_rows(Path(session.end_profiling()))
    return {
        "providers": session.get_providers(), "create": creation_seconds, "shapes": shapes, "nodes": nodes, "assigned": assignments(session),
        "outputs": [o.name for o in session.get_outputs()],
    }  # fmt: skip


def values(part: JobDict) -> JobDict:
    """The inputs as `session.run` takes them: arrays, and tensors of ONNX Runtime where NumPy has no such type."""
    others = {name: spec for name, spec in part["inputs"].items() if spec["dtype"] in CODES}
    usual = {name: spec for name, spec in part["inputs"].items() if name not in others}
    feeds: JobDict = dict(make_feeds({**part, "inputs": usual}))
    rng = np.random.default_rng(1)
    for name, spec in others.items():
        number, holder, low, high = CODES[spec["dtype"]]
        codes = np.asarray(rng.integers(low, high, tuple(spec["shape"])), holder)
        feeds[name] = ort.OrtValue.ortvalue_from_numpy_with_onnx_type(codes, number)
    return feeds


def prepare_run(session: ort.InferenceSession, feeds: JobDict, quiet: ort.RunOptions) -> Callable[[], object]:
    """What makes one run. Outputs stay tensors of ONNX Runtime where NumPy may not have their type."""
    kinds = {each.type for each in (*session.get_inputs(), *session.get_outputs())}
    if not any("float8" in kind or "bfloat16" in kind for kind in kinds):
        return lambda: session.run(None, feeds, quiet)
    tensors = {
        name: ort.OrtValue.ortvalue_from_numpy(value) if isinstance(value, np.ndarray) else value
        for name, value in feeds.items()
    }
    return lambda: session.run_with_ort_values(None, tensors, quiet)


def open_session(job: JobDict, progress: JobDict) -> ort.InferenceSession:
    session = job["session"]
    options = ort.SessionOptions()
    options.log_severity_level = 1  # it says which nodes it keeps on the CPU, and what cannot be loaded
    options.add_session_config_entry(RECORD, "1")
    options.enable_profiling, options.profile_file_prefix = True, str(Path(job["answer"]).with_name("profile"))
    for library in session.get("libraries", ()):
        progress |= {"stage": "library", "library": library}
        options.register_custom_ops_library(library_path(library))
    progress["stage"] = "session"
    provider, settings = session["provider"], session.get("options", {})
    if session.get("plugin"):
        load_plugin(session)
        options.add_provider_for_devices([plugin_device(provider, 0)], settings)
        return ort.InferenceSession(job["model"], options, enable_fallback=0)
    if provider not in ort.get_available_providers():
        raise RuntimeError(f"this onnxruntime has no {provider}; it has {', '.join(ort.get_available_providers())}")
    providers = [(provider, settings), *([] if provider == "CPUExecutionProvider" else ["CPUExecutionProvider"])]
    return ort.InferenceSession(job["model"], options, providers=providers, enable_fallback=0)


def time_runs(session: ort.InferenceSession, feeds: JobDict, runs: int, quiet: ort.RunOptions) -> JobDict:
    """Seconds of the first run of these inputs, and of each later one."""
    infer = prepare_run(session, feeds, quiet)
    seconds = []
    for _ in range(runs):
        began = time.perf_counter()
        infer()
        seconds.append(time.perf_counter() - began)
    return {"first": seconds[0], "later": seconds[1:]}


def profile_rows(path: Path) -> list[JobDict]:
    """Every node that ran: its name, operator, provider, input types, and seconds of kernel time over all runs."""
    nodes: dict[tuple[str, str], JobDict] = {}
    for event in json.loads(path.read_text()):
        arguments = event.get("args", {})
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time") and arguments.get("provider"):
            name = event["name"].removesuffix("_kernel_time")
            types = [kind for each in arguments.get("input_type_shape", []) for kind in each]
            row = nodes.setdefault(
                (name, arguments["provider"]),
                {
                    "name": name,
                    "op": arguments.get("op_name", ""),
                    "provider": arguments["provider"],
                    "types": types,
                    "seconds": 0.0,
                },
            )
            row["seconds"] += event["dur"] / 1e6
    return list(nodes.values())


def assignments(session: ort.InferenceSession) -> list[JobDict]:
    """Every node and the provider that was given it, where the runtime tells (1.24 and newer); [] elsewhere."""
    if not hasattr(session, "get_provider_graph_assignment_info"):
        return []
    return [
        {"name": node.name, "op": node.op_type, "domain": node.domain, "provider": part.ep_name}
        for part in session.get_provider_graph_assignment_info()
        for node in part.get_nodes()
    ]


if __name__ == "__main__":
    main()
