"""Register a plugin EP's library and list the devices that it offers."""

from __future__ import annotations

import importlib
from types import ModuleType

import onnxruntime as ort
from probe import Job, main, said
from sessions import ep_names, package_library


def said_by(package: ModuleType) -> str:
    """Why there is no device, where the package can say."""
    try:
        return str(package.why_no_device()) if hasattr(package, "why_no_device") else ""
    except (AttributeError, OSError) as error:
        return str(said(error))


def do(job: Job) -> Job:
    if not hasattr(ort, "register_execution_provider_library"):
        return {"error": f"onnxruntime {ort.__version__} has no plugin EPs (1.23 and later have)"}
    package = importlib.import_module(job["module"])
    found = {}
    for name in ep_names(job["module"]):
        ort.register_execution_provider_library(name, package_library(job["module"]))
        devices = [device for device in ort.get_ep_devices() if device.ep_name == name]
        found[name] = [{"vendor": d.ep_vendor, "type": str(d.device.type).rsplit(".", 1)[-1]} for d in devices]
    why = "" if any(found.values()) else said_by(package)
    operators = list(getattr(package, "OPERATORS", ()))
    return {"providers": found, "why": why, "operators": operators, "onnxruntime": ort.__version__}


main(do)
