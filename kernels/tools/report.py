"""Draws the timing table."""

from __future__ import annotations

import statistics
from dataclasses import asdict, is_dataclass
from typing import Any


def plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    raise TypeError(type(value))


def spread(samples: list[float]) -> str:
    """Median and the middle half of the samples, in milliseconds."""
    low, middle, high = statistics.quantiles(samples, n=4)
    return f"{middle:.4f} [{low:.4f}, {high:.4f}]"


SPLIT_PRODUCTS = 3
"""A float32 product on NVIDIA's matrix units is so many of TF32: a third of TF32's rate binds it, not the rate of float32."""


def rate(row: Any, limits: dict[str, float]) -> str:
    """Share of the limits that matter: a convolution with little arithmetic moves more bytes than it multiplies.

    Of a float32 product by matrix units also the share of a third of TF32's rate. Winograd's is of the products that it saves too.
    """
    seconds = row.median("ours") * 1e-3
    of_copy = row.bytes / seconds / limits["copy"]
    if not row.flops:
        return f"{of_copy:.0%} of copy"
    flops = row.flops / seconds
    of_gemm = flops / limits[row.dtype]
    of_split = f", {flops * SPLIT_PRODUCTS / limits['tf32']:.0%} of TF32 / 3" if row.matrix_units and row.dtype == "float32" and "tf32" in limits else ""
    return f"{flops / 1e12:.1f} TF/s, {of_gemm:.0%} of GEMM{of_split}" + (f"; by bytes {of_copy:.0%} of copy" if of_copy > of_gemm else "")


def table(timing: dict[str, Any]) -> str:
    limits = timing["limits"]
    tf32 = f"TF32 {limits['tf32'] / 1e12:.0f}, " if "tf32" in limits else ""
    lines = [f"limits: copy {limits['copy'] / 1e12:.2f} TB/s, GEMM float32 {limits['float32'] / 1e12:.0f}, {tf32}"
             f"float16 {limits['float16'] / 1e12:.0f} TFLOP/s; torch {timing['torch']}, cuDNN {timing['cudnn']}",
             "| operator | shape | type | ours, ms | rate | PyTorch, ms | times PyTorch | times naive | error (PyTorch's) |",
             "|---|---|---|---|---|---|---|---|---|"]
    for row in timing["rows"]:
        ours = row.median("ours")
        naive = f"{row.median('naive') / ours:.1f}" if "naive" in row.samples else ""
        more = "".join(f" {n} {row.median(n):.4f}" for n in row.samples if n not in ("ours", "torch", "naive"))
        lines.append(f"| {row.op} | {row.shape} | {row.dtype} | {spread(row.samples['ours'])}{more} | {rate(row, limits)} | "
                     f"{row.median('torch'):.4f} | {row.median('torch') / ours:.2f} | {naive} | "
                     f"{row.error['ours'].relative:.1e} ({row.error['torch'].relative:.1e}) |")
    return "\n".join(lines)
