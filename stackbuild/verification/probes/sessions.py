"""What probes that open sessions share: the library registered, the session, the one-operator models."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import onnxruntime as ort

JobDict = dict[str, Any]
NO_FALLBACK = {"session.disable_cpu_ep_fallback": "1"}
RECORD = {"session.record_ep_graph_assignment_info": "1"}


def package_library(module: str) -> str:
    """The library path that a plugin or custom-op package exports."""
    return str(importlib.import_module(module).get_library_path())


def ep_names(module: str) -> list[str]:
    """The providers that a plugin package says are in its library."""
    package = importlib.import_module(module)
    return list(package.get_ep_names()) if hasattr(package, "get_ep_names") else [package.get_ep_name()]


def options(config: dict[str, str], *, profile: str = "") -> ort.SessionOptions:
    session_options = ort.SessionOptions()
    session_options.log_severity_level = 3
    session_options.intra_op_num_threads = 1
    for key, value in config.items():
        session_options.add_session_config_entry(key, value)
    if profile:
        session_options.enable_profiling, session_options.profile_file_prefix = True, profile
    return session_options


def session(model: Any, job: JobDict, session_options: ort.SessionOptions) -> ort.InferenceSession:
    """A session on the job's provider, a plugin's devices or one by name, with the Python fallback off: it runs again on the CPU what failed."""
    if job.get("plugin"):
        devices = plugin_devices(job)
        if not devices:
            raise RuntimeError(f"{job['provider']} offers no device")
        session_options.add_provider_for_devices(devices[:1], {})
        return ort.InferenceSession(model, session_options, enable_fallback=0)
    return ort.InferenceSession(model, session_options, providers=[job["provider"]], enable_fallback=0)


_registered_providers: set[str] = set()


def plugin_devices(job: JobDict) -> list[Any]:
    """Register the plugin's library once, and list the devices it offers."""
    if job["provider"] not in _registered_providers:
        ort.register_execution_provider_library(job["provider"], package_library(job["plugin"]))
        _registered_providers.add(job["provider"])
    ep_devices = [device for device in ort.get_ep_devices() if device.ep_name == job["provider"]]
    return own_devices(importlib.import_module(job["plugin"]), ep_devices)


def own_devices(package: Any, ep_devices: list[Any]) -> list[Any]:
    """Of the devices offered those of the kinds that the package says are its own: the hipDNN EP offers a CPU too."""
    kinds = getattr(package, "DEVICE_TYPES", None)
    return [d for d in ep_devices if kinds is None or str(d.device.type).rsplit(".", 1)[-1] in kinds]


def assigned_nodes(inference: ort.InferenceSession) -> dict[str, int]:
    """Nodes each provider was given, where the runtime tells (1.24 and later); {} elsewhere."""
    if not hasattr(inference, "get_provider_graph_assignment_info"):
        return {}
    counts: dict[str, int] = {}
    for part in inference.get_provider_graph_assignment_info():
        counts[part.ep_name] = counts.get(part.ep_name, 0) + len(part.get_nodes())
    return counts


def feeds(inference: ort.InferenceSession, sizes: dict[str, int], highs: dict[str, int]) -> dict[str, np.ndarray]:
    """Seeded values for every input: `sizes` of symbolic dimensions, `highs` of integers (-1: all ones)."""
    rng = np.random.default_rng(0)
    values = {}
    for each in inference.get_inputs():
        shape = tuple(d if isinstance(d, int) else sizes[d] for d in each.shape)
        kind = each.type.removeprefix("tensor(").rstrip(")")
        if kind in ("int64", "int32"):
            high = highs.get(each.name, 2)
            values[each.name] = np.ones(shape, kind) if high < 0 else rng.integers(0, high, shape).astype(kind)
        else:
            values[each.name] = rng.standard_normal(shape).astype({"float16": "float16"}.get(kind, "float32"))
    return values
