"""Which module makes the steps of each kind of component."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stackbuild.model.plan import Step
from stackbuild.plan.steps import (
    archive,
    cmake,
    hipdnn_ep,
    kernels,
    kernels_ep,
    lc0,
    migraphx,
    migraphx_ep,
    migraphx_package,
    onnxruntime,
    onnxruntime_release,
    rocmlir,
    script,
    wheel,
)
from stackbuild.plan.steps.context import Context

Maker = Callable[[str, Any, Context], tuple[Step, ...]]

REGISTRY: dict[str, Maker] = {
    "amdgpu-ep": migraphx_ep.steps,
    "archive": archive.steps,
    "cmake": cmake.steps,
    "hipdnn-ep": hipdnn_ep.steps,
    "kernels": kernels.steps,
    "kernels-ep": kernels_ep.steps,
    "lc0": lc0.steps,
    "migraphx": migraphx.steps,
    "migraphx-ep": migraphx_ep.steps,
    "migraphx-package": migraphx_package.steps,
    "onnxruntime": onnxruntime.steps,
    "onnxruntime-release": onnxruntime_release.steps,
    "rocmlir": rocmlir.steps,
    "script": script.steps,
    "wheel": wheel.steps,
}
