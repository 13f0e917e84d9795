"""The plugin execution providers that stackbuild packs: their import packages, libraries and registered names."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Plugin:
    """An import package: its name, the library below `/out`, the provider's name and a line of what it is."""

    module: str
    library: str
    provider: str
    summary: str


MIGRAPHX = Plugin(
    "onnxruntime_ep_migraphx",
    "bin/libmigraphx-ep.so",
    "MIGraphXExecutionProvider",
    "The MIGraphX plugin execution provider for AMD GPUs.",
)


HIPDNN = Plugin(
    "onnxruntime_ep_hipdnn", "lib/libhipdnn_ep.so", "HipDNN", "The hipDNN plugin execution provider for AMD GPUs."
)
