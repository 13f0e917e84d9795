"""The RocKernels plugin execution provider for ONNX Runtime.

Holds no ONNX Runtime and depends on none: install whichever distribution you use, 1.24 or newer.

    import onnxruntime as ort
    import onnxruntime_ep_rockernels as rockernels

    ort.register_execution_provider_library(rockernels.get_ep_name(), rockernels.get_library_path())
    devices = [d for d in ort.get_ep_devices() if d.ep_name == rockernels.get_ep_name()]
    options = ort.SessionOptions()
    options.add_provider_for_devices(devices[:1], {})
    session = ort.InferenceSession("model.onnx", options)
"""

import ctypes
from importlib import metadata
from pathlib import Path

__all__ = ["get_ep_name", "get_ep_names", "get_library_path", "why_no_device"]

_EP_NAME = "RocKernelsExecutionProvider"
_LIBRARY = "libonnxruntime_ep_rockernels.so"


def get_library_path() -> str:
    """The shared library to hand to onnxruntime.register_execution_provider_library.

    Raises FileNotFoundError when the package was installed without it (a source checkout, another platform), or is imported from an archive.
    """
    path = Path(__file__).resolve().parent / _LIBRARY
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path} is inside an archive, from where no library can be opened: install the wheel with pip")
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing: this copy of onnxruntime-ep-rockernels was not built; see docs/kernels-ep.md")
    return str(path)


def get_ep_name() -> str:
    """The execution provider's name, as onnxruntime.get_ep_devices() reports it."""
    return _EP_NAME


def get_ep_names() -> list[str]:
    """Every execution provider in the library: one."""
    return [_EP_NAME]


def why_no_device() -> str:
    """Why the library offers no device: no GPU runtime opened, or ONNX Runtime is too old for it; "" when neither is so.

    Looks for the runtime itself when nothing has been registered yet. Where one opened but no device was fit, the reason is in
    ONNX Runtime's log (severity warning).
    """
    library = ctypes.CDLL(get_library_path())
    library.RocKernelsReason.restype = ctypes.c_char_p
    reason = library.RocKernelsReason()
    return reason.decode() if reason else ""


def __getattr__(name: str) -> str:
    if name == "__version__":
        return metadata.version("onnxruntime-ep-rockernels")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
