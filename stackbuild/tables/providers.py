"""Execution providers: their registered names, and of the plugins that stackbuild packs packages and libraries."""

from __future__ import annotations

from dataclasses import dataclass

BRIDGE_NAMES = {
    "migraphx": "MIGraphXExecutionProvider",
    "rocm": "ROCMExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "tensorrt": "TensorrtExecutionProvider",
    "nv_tensorrt_rtx": "NvTensorRTRTXExecutionProvider",
    "openvino": "OpenVINOExecutionProvider",
    "dnnl": "DnnlExecutionProvider",
    "vitisai": "VitisAIExecutionProvider",
    "qnn": "QNNExecutionProvider",
    "cann": "CANNExecutionProvider",
}
"""Stem of a provider's library to the name that sessions are opened with. Source: onnxruntime,
`include/onnxruntime/core/graph/constants.h`."""


MIGRAPHX_PACKAGE = "migraphx_rocm"
"""The import package with MIGraphX's libraries that a `migraphx-package` component makes."""

MIGRAPHX_MODULE = "migraphx"
"""The import name of MIGraphX's Python API, its own (`py_add_module(… PYTHON_MODULE migraphx)` in src/py/CMakeLists.txt)."""


@dataclass(frozen=True)
class Plugin:
    """An import package: its name, the library below `/out`, the provider's name, a line of what it is, and the libraries
    that lie beside the first one, which opens them by name."""

    module: str
    library: str
    provider: str
    summary: str
    beside: tuple[str, ...] = ()


MIGRAPHX = Plugin(
    "onnxruntime_ep_migraphx",
    "bin/libmigraphx-ep.so",
    BRIDGE_NAMES["migraphx"],
    "The MIGraphX plugin execution provider for AMD GPUs.",
)


AMDGPU = Plugin(
    "onnxruntime_ep_amdgpu",
    "bin/libamdgpu-ep.so",
    "AMDGPUExecutionProvider",
    "AMD's umbrella plugin execution provider, which runs sessions by MIGraphX.",
    ("bin/libmigraphx-backend.so",),
)
"""Sources: onnxruntime-ep-amdgpu `src/amdgpu/pyproject.toml`, `src/amdgpu/CMakeLists.txt`, `src/migraphx/CMakeLists.txt`
(which names its library so where `USE_AMDGPU` is on) @ a2ea3b25."""

HIPDNN = Plugin(
    "onnxruntime_ep_hipdnn", "lib/libhipdnn_ep.so", "HipDNN", "The hipDNN plugin execution provider for AMD GPUs."
)
