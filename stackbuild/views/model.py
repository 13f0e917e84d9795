"""Draws what `model check` and `model compile` found."""

from __future__ import annotations

from stackbuild.bench.model_check import ModelCheck
from stackbuild.bench.model_compile import CompiledModel
from stackbuild.views.console import Text, err, out, table

SHOWN = 20
"""So many nodes are drawn; all of them are in the JSON."""


def draw_check(found: ModelCheck, floors: tuple[float, float]) -> None:
    """Shares, the nodes that fell back with the reason, the times of each shape, and the verdict."""
    if found.problem:
        out().print(Text(f"{found.provider} did not take part: {found.problem}", "red"))
        err().print(Text(f"  next: {found.next}"))
    if found.shares:
        rows = table("provider", "nodes", "of all", "kernel time", "of all")
        for share in found.shares:
            cells = (
                share.provider,
                str(share.nodes),
                f"{share.node_share:.0%}",
                f"{share.seconds * 1e3:.2f} ms",
                f"{share.time_share:.0%}",
            )
            rows.add_row(*map(Text, cells))
        out().print(rows)
    for node in found.fallback[:SHOWN]:
        name = f"{node.op} {node.name!r}" if node.name else node.op
        out().print(Text(f"{name} on {node.provider}, {node.seconds * 1e3:.2f} ms: {node.why}"))
    if (more := len(found.fallback) - SHOWN) > 0:
        out().print(Text(f"and {more} nodes more: --json lists them", "dim"))
    _draw_times(found)
    _draw_verdict(found, floors)


def _draw_times(found: ModelCheck) -> None:
    if not found.shapes:
        return
    out().print(Text(f"session made in {found.create:.2f} s"))
    names = ("first shape", "second shape", "first shape again")
    for name, shape in zip(names, found.shapes, strict=False):
        sizes = ", ".join(f"{key}={'x'.join(map(str, size))}" for key, size in shape.sizes.items())
        later = f", then {shape.later * 1e3:.2f} ms" if shape.later else ""
        out().print(Text(f"{name} ({sizes}): first run {shape.first * 1e3:.2f} ms{later}"))
    if len(found.shapes) == 1:
        out().print(Text("no second shape: the inputs have fixed shapes, or --shape names one only", "dim"))


def _draw_verdict(found: ModelCheck, floors: tuple[float, float]) -> None:
    said = f"{found.provider} runs {found.node_share:.0%} of the nodes and {found.time_share:.0%} of the kernel time"
    short = found.problem or found.node_share < floors[0] or found.time_share < floors[1]
    wanted = f"asked for: {floors[0]:.0%} of the nodes, {floors[1]:.0%} of the time"
    err().print(
        Text(
            f"{'failed' if short else 'passed'}: {said} ({wanted}); onnxruntime {found.onnxruntime}",
            "red" if short else "green",
        )
    )


def draw_compiled(found: CompiledModel) -> None:
    out().print(Text(f"{found.folder}: {len(found.files)} files"))
    out().print(
        Text(f"compiled and run in {found.compiled_seconds:.1f} s, loaded and run in {found.loaded_seconds:.1f} s")
    )
    err().print(Text(f"export ORT_MIGRAPHX_MODEL_CACHE_PATH={found.folder}"))
