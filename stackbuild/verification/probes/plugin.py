"""Register a plugin EP's library and list the devices that it offers."""

from __future__ import annotations

import importlib
from types import ModuleType

import onnxruntime as ort
from probe import JobDict, error_text, main
from sessions import ep_names, own_devices, package_library


def said_by(package: ModuleType) -> str:
    """Why there is no device, where the package can say."""
    try:
        return str(package.why_no_device()) if hasattr(package, "why_no_device") else ""
    except (AttributeError, OSError) as error:
        return str(error_text(error))


def do(job: JobDict) -> JobDict:
    if not hasattr(ort, "register_execution_provider_library"):
        return {"error": f"onnxruntime {ort.__version__} has no plugin EPs (1.23 and later have)"}
    package = importlib.import_module(job["module"])
    shares, not_its_own = {}, ""
    for name in ep_names(job["module"]):
        ort.register_execution_provider_library(name, package_library(job["module"]))
        ep_devices = [device for device in ort.get_ep_devices() if device.ep_name == name]
        devices = own_devices(package, ep_devices)
        not_its_own = not_its_own or ("it offers a CPU as its device" if ep_devices and not devices else "")
        shares[name] = [{"vendor": d.ep_vendor, "type": str(d.device.type).rsplit(".", 1)[-1]} for d in devices]
    why = "" if any(shares.values()) else not_its_own or said_by(package)
    operators = list(getattr(package, "OPERATORS", ()))
    return {"providers": shares, "why": why, "operators": operators, "onnxruntime": ort.__version__}


main(do)
