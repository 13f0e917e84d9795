"""Draws what was counted on an emulated GPU: a row a kernel, the limits it was checked against, budgets that were exceeded."""

from __future__ import annotations

from collections.abc import Sequence

from stackbuild.core.errors import safe
from stackbuild.emulator.counter_model import EmulatedCounters, model
from stackbuild.tables.gpu_limits import GpuLimits
from stackbuild.views.console import Text, out, table

_CLASSES = ("valu", "matrix", "salu", "smem", "vmem_load", "vmem_store", "flat", "lds", "scratch", "barrier")


def draw_counters(rows: Sequence[EmulatedCounters], limits: GpuLimits) -> None:
    """The counters of each kernel, and which limit of the GPU binds it."""
    console = out()
    console.print(Text(f"emulated {limits.target} on a CPU: counts, not times", style="bold"))
    counts = table("kernel", "dispatches", "blocks run", "instructions", *_CLASSES, "bytes/segment", "LDS conflicts")
    bounds = table("kernel", "registers", "LDS", "waves/SIMD", "binds", "clocks of a compute unit by limit")
    for row in rows:
        name, kernel_model = Text(safe(row.short, keep="")), model(row, limits)
        c = row.counters
        segments = f"{c['global_bytes'] / c['global_segments']:.1f}" if c["global_segments"] else ""
        conflicts = f"{c['lds_conflicts'] / c['lds_cycles']:.0%}" if c["lds_cycles"] else ""
        numbers = (f"{c[each]:,}" if c[each] else "" for each in _CLASSES)
        blocks = f"{sum(row.blocks)} of {len(row.blocks)}" if row.blocks else ""
        counts.add_row(name, str(row.dispatches), blocks, f"{c['instructions']:,}", *numbers, segments, conflicts)
        clocks = ", ".join(
            f"{key} {value:,.0f}" for key, value in sorted(kernel_model.clocks.items(), key=lambda kv: -kv[1]) if value
        )
        bounds.add_row(
            name, str(row.vgprs), str(row.lds or ""), f"{kernel_model.waves:g}", kernel_model.binding, clocks
        )
    console.print(counts)
    console.print()
    console.print(bounds)
    console.print()
    console.print(
        f"limits of the {limits.product}: {limits.units} compute units, {limits.clock_ghz} GHz, {limits.memory_gbps:,.0f} GB/s,"
        f" {limits.valu_flops} float32 and {limits.matrix_flops} float16 matrix operations a clock and unit"
        f" (stackbuild/tables/gpu_limits.toml, sources: {', '.join(limits.sources)})"
    )


def draw_over_budget(sentences: Sequence[str], file: str) -> None:
    """What exceeds the budgets of a file, or that nothing does."""
    for sentence in sentences:
        out().print(Text(safe(f"over budget: {sentence}", keep=""), style="bold red"))
    if not sentences:
        out().print(f"within the budgets of {file}")
