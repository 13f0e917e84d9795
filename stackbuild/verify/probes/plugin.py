"""Register a plugin EP's library and list the devices that it offers."""

from __future__ import annotations

import importlib

import onnxruntime as ort
from probe import Job, main
from sessions import ep_names, package_library


def do(job: Job) -> Job:
    if not hasattr(ort, "register_execution_provider_library"):
        return {"error": f"onnxruntime {ort.__version__} has no plugin EPs (1.23 and later have)"}
    package = importlib.import_module(job["module"])
    found = {}
    for name in ep_names(job["module"]):
        ort.register_execution_provider_library(name, package_library(job["module"]))
        devices = [device for device in ort.get_ep_devices() if device.ep_name == name]
        found[name] = [{"vendor": d.ep_vendor, "type": str(d.device.type).rsplit(".", 1)[-1]} for d in devices]
    why = package.why_no_device() if hasattr(package, "why_no_device") and not any(found.values()) else ""
    operators = list(getattr(package, "OPERATORS", ()))
    return {"providers": found, "why": why, "operators": operators, "onnxruntime": ort.__version__}


main(do)
