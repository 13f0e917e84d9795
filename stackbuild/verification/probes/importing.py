"""Import every top-level package of a wheel, and say where each came from."""

from __future__ import annotations

import importlib
import sys

from probe import JobDict, error_text, main


def do(job: JobDict) -> JobDict:
    modules = {}
    for name in job["modules"]:
        try:
            module = importlib.import_module(name)
            modules[name] = {
                "file": str(getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), "")),
                "version": str(getattr(module, "__version__", "")),
            }
        except BaseException as error:  # SystemExit at import is a failed import as well
            modules[name] = {"error": error_text(error)}
    ort = sys.modules.get("onnxruntime")
    return {
        "python": sys.version.split()[0],
        "modules": modules,
        "build": str(getattr(ort, "get_build_info", str)()) if ort else "",
        "listed": list(ort.get_available_providers()) if ort and hasattr(ort, "get_available_providers") else [],
    }


main(do)
