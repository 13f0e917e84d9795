"""Draws what `model check` and `model compile` found."""

from __future__ import annotations

from stackbuild.bench.model_check import ModelCheck
from stackbuild.bench.model_compile import CompiledModel
from stackbuild.bench.model_problem import Culprit
from stackbuild.core.errors import bar_lines, safe
from stackbuild.views.console import Text, err, out, table

MAX_ROWS = 20
"""So many nodes are drawn; all of them are in the JSON."""

CULPRITS: dict[Culprit | None, str] = {
    Culprit.LIBRARY: "the library of custom operators was not loaded",
    Culprit.MODEL: "the model was not loaded",
    Culprit.RUN: "the model did not run",
}
"""How a problem begins that is not the provider's."""


def draw_check(result: ModelCheck, floors: tuple[float, float]) -> None:
    """Shares, the nodes that fell back with the reason, the times of each shape, and the verdict."""
    if result.problem:
        sentence = CULPRITS.get(result.culprit, f"{result.provider} did not take part")
        out().print(Text(f"{sentence}: {bar_lines(result.problem)}", "red"))
        err().print(Text(f"  next: {safe(result.next, keep='')}"))
    if result.shares:
        rows = table("provider", "nodes", "of all", "kernel time, all runs", "of all")
        for share in result.shares:
            cells = (
                share.provider,
                str(share.nodes),
                f"{share.node_share:.0%}",
                f"{share.seconds * 1e3:.2f} ms",
                f"{share.time_share:.0%}",
            )
            rows.add_row(*map(Text, cells))
        out().print(rows)
    for node in result.fallback[:MAX_ROWS]:
        name = f"{node.op} {node.name!r}" if node.name else node.op
        row = f"{name} on {node.provider}, {node.seconds * 1e3:.2f} ms: {node.why}"
        out().print(Text(safe(row, keep="")))
    if (more := len(result.fallback) - MAX_ROWS) > 0:
        out().print(Text(f"and {more} nodes more: --json lists them", "dim"))
    _draw_times(result)
    _draw_verdict(result, floors)


def _draw_times(result: ModelCheck) -> None:
    if not result.shapes:
        return
    out().print(Text(f"session made in {result.create:.2f} s"))
    names = ["first shape", "second shape", *(f"shape {n}" for n in range(3, len(result.shapes)))]
    names = [*names[: max(1, len(result.shapes) - 1)], "first shape again"]
    for name, shape in zip(names, result.shapes, strict=False):
        sizes = ", ".join(f"{key}={'x'.join(map(str, size)) or 'scalar'}" for key, size in shape.sizes.items())
        later = f", then {shape.later * 1e3:.2f} ms" if shape.later else ""
        out().print(Text(f"{name} ({safe(sizes, keep='')}): first run {shape.first * 1e3:.2f} ms{later}"))
    if len(result.shapes) == 1:
        out().print(Text("no second shape: the inputs have fixed shapes, or --shape names one only", "dim"))


def _draw_verdict(result: ModelCheck, floors: tuple[float, float]) -> None:
    sentence = (
        f"{result.provider} runs {result.node_share:.0%} of the nodes and {result.time_share:.0%} of the kernel time"
    )
    short = result.problem or result.node_share < floors[0] or result.time_share < floors[1]
    floor_text = f"asked for: {floors[0]:.0%} of the nodes, {floors[1]:.0%} of the time"
    err().print(
        Text(
            f"{'failed' if short else 'passed'}: {sentence} ({floor_text}); onnxruntime {result.onnxruntime}",
            "red" if short else "green",
        )
    )


def draw_compiled(model: CompiledModel) -> None:
    out().print(Text(f"{model.folder}: {len(model.files)} files"))
    out().print(
        Text(f"compiled and run in {model.compiled_seconds:.1f} s, loaded and run in {model.loaded_seconds:.1f} s")
    )
    err().print(Text(f"export ORT_MIGRAPHX_MODEL_CACHE_PATH={model.folder}"))
