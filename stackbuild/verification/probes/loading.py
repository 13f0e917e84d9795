"""dlopen one library as ONNX Runtime would, and name every library that it needs and this machine has not.

A provider's library finds ONNX Runtime through libonnxruntime_providers_shared.so, into which `import onnxruntime` puts its
own functions. One that calls them while it is loaded crashes without that (MIGraphX's of 1.22 does).
"""

from __future__ import annotations

import contextlib
import ctypes
import os

from probe import JobDict, main


def do(job: JobDict) -> JobDict:
    if job["host"]:
        with contextlib.suppress(Exception):  # the rung before this one reports it
            import onnxruntime  # noqa: F401 - for what it does when it is imported
    for path in job["before"]:
        ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    try:
        ctypes.CDLL(job["path"], mode=os.RTLD_NOW)
        return {"loaded": True, "why": "", "missing": []}
    except OSError as error:
        return {
            "loaded": False,
            "why": str(error)[:1500],
            "missing": [name for name in job["needed"] if not there(name, job["beside"])],
        }


def there(soname: str, beside: list[str]) -> bool:
    """Whether a needed library can be opened by itself, or lies in a folder of the needing library's search path."""
    if any(os.path.exists(os.path.join(folder, soname)) for folder in beside):  # noqa: PTH110, PTH118 - as the loader does
        return True
    try:
        ctypes.CDLL(soname)
    except OSError as error:
        return "cannot open shared object file" not in str(error)
    return True


main(do)
