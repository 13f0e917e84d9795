"""What this machine's processor does to a comparison."""

from __future__ import annotations

import platform
from pathlib import Path


def saturates() -> bool:
    """Whether this CPU adds pairs of uint8 × int8 products in 16 bits, which saturate: AVX2 and AVX-512 without VNNI.

    Source: ONNX Runtime's documentation, "Quantize ONNX models", when to use reduce-range.
    """
    return platform.machine() == "x86_64" and "vnni" not in Path("/proc/cpuinfo").read_text()
