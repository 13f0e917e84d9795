"""The plugin execution providers that stackbuild packs: their import packages, libraries and registered names."""

from __future__ import annotations

from dataclasses import dataclass


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
    "MIGraphXExecutionProvider",
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
