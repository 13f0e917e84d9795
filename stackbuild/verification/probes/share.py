"""Run a model on a provider with the CPU as fallback, and say who was given how many nodes and how much time."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnxruntime as ort
from probe import JobDict, main
from sessions import RECORD, assigned_nodes, feeds, options, session


def do(job: JobDict) -> JobDict:
    settings = options(RECORD, profile=job["profile"])
    for dimension, size in job["sizes"].items():  # some providers compile fixed shapes only
        settings.add_free_dimension_override_by_name(dimension, size)
    inference = session(job["model"], job, settings)
    values = feeds(inference, job["sizes"], job["highs"])
    for _ in range(job.get("runs", 1)):
        outputs = inference.run(None, values)
    nodes, seconds = profile_totals(Path(inference.end_profiling()))
    np.savez(job["keep"], *outputs)
    return {
        "providers": inference.get_providers(), "assigned": assigned_nodes(inference), "nodes": nodes, "seconds": seconds,
        "onnxruntime": ort.__version__,
    }  # fmt: skip


def profile_totals(path: Path) -> tuple[dict[str, int], dict[str, float]]:
    """Distinct nodes and seconds of kernel time by provider."""
    names: dict[str, set[str]] = {}
    seconds: dict[str, float] = {}
    for event in json.loads(path.read_text()):
        provider = event.get("args", {}).get("provider") if event.get("cat") == "Node" else None
        if provider and event["name"].endswith("_kernel_time"):
            names.setdefault(provider, set()).add(event["name"])
            seconds[provider] = seconds.get(provider, 0.0) + event["dur"] / 1e6
    return {provider: len(nodes) for provider, nodes in names.items()}, seconds


main(do)
