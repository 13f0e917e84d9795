"""The distributions that are an ONNX Runtime, and whose GPUs each is for. All of them install the package `onnxruntime`.

Sources: `setup.py` of ONNX Runtime and of ROCm/onnxruntime @0e0a7449 (the names), the wheels onnxruntime-migraphx 1.27.1,
onnxruntime-rocm 1.22.2.post3 and onnxruntime-gpu 1.31.1 (the providers), other_gpus.toml (the other makers).
"""

from __future__ import annotations

from typing import NamedTuple


class RuntimeBuild(NamedTuple):
    """A distribution. `maker` is that of the GPUs it is for, "" for the CPU alone; `providers` are libraries that it has."""

    distribution: str
    maker: str
    providers: tuple[str, ...]


BUILDS = (
    RuntimeBuild("onnxruntime-migraphx", "AMD", ("migraphx",)),
    RuntimeBuild("onnxruntime-rocm", "AMD", ("rocm",)),
    RuntimeBuild("onnxruntime-gpu", "NVIDIA", ("cuda", "tensorrt")),
    RuntimeBuild("onnxruntime-openvino", "Intel", ("openvino",)),
    RuntimeBuild("onnxruntime-qnn", "Qualcomm", ("qnn",)),
    RuntimeBuild("onnxruntime", "", ()),
)
"""The builds, the one to keep first: AMD goes on with MIGraphX alone, and a GPU's build was wanted by who installed it."""
EXCLUSIVE_MAKERS = ("AMD", "NVIDIA")
"""Makers whose build does nothing on a machine with the other's GPU alone."""


def build_named(distribution: str) -> RuntimeBuild | None:
    return next((build for build in BUILDS if build.distribution == distribution), None)


def build_with(provider: str) -> RuntimeBuild | None:
    """The build that has a provider's library: `rocm` of libonnxruntime_providers_rocm.so."""
    return next((build for build in BUILDS if provider in build.providers), None)


def build_for(maker: str) -> RuntimeBuild:
    """The build for the GPUs of a maker, "" for none."""
    return next(build for build in BUILDS if build.maker == maker)
