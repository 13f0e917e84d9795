"""Environment variables that change what ONNX Runtime, ROCm or Python's start do to a session.

`ORT_MIGRAPHX_*` overrides session options (ONNX Runtime's documentation of the MIGraphX execution provider),
`NVIDIA_TF32_OVERRIDE` the precision of products (NVIDIA's documentation of cuBLAS), `LD_PRELOAD` any function (ld.so(8)).
"""

from __future__ import annotations

import os
from collections.abc import Container

PREFIXES = (
    "AMD_", "CUDA_", "GPU_", "HIP_", "HSA_", "LD_", "MIGRAPHX_", "MIOPEN_", "NVIDIA_", "OMP_", "ORT_", "PYTHONHOME", "PYTHONPATH", "ROCBLAS_", "ROCR_",
)  # fmt: skip


def scrubbed_variables(passed_names: Container[str] = ()) -> tuple[str, ...]:
    """Those of the caller that probes and workers do not see, which get `passed_names` alone."""
    return tuple(sorted(name for name in os.environ if name.startswith(PREFIXES) and name not in passed_names))
