"""The verb `recipe new`: a recipe for a ROCm version from the compatibility table, through `templates/recipe/rocm.yaml.j2`."""

from __future__ import annotations

from stackbuild.compatibility import numbers, series, table
from stackbuild.errors import UsageError
from stackbuild.render import render

IMAGE_PYTHON = "3.12"
"""The Python of Ubuntu 24.04, which the images stand on."""


def new_recipe(rocm: str) -> str:
    """The text of a recipe for that ROCm version (`7.1` or `7.1.1`). Raises UsageError where the table does not know it."""
    known = table()
    row = known.latest_migraphx(rocm)
    line = known.line(rocm)
    runtimes = [r for r in known.onnxruntime if r.rocm == series(rocm) and r.distribution]
    if row is not None and line is not None and not runtimes:
        raise UsageError(
            f"ROCm {rocm} has no ONNX Runtime with the EP in it: execution providers are plugins there",
            where="--rocm",
            next="start from `stackbuild recipe show rocm-10.1`",
        )
    if row is None or line is None:
        fits = {r.rocm for r in known.onnxruntime if r.distribution}
        rows = [r.rocm for r in known.migraphx if series(r.rocm) in fits]
        offered = sorted({*rows, *map(series, rows)}, key=numbers)
        raise UsageError(
            f"nothing is known of a stack for ROCm {rocm}", where="--rocm", next=f"known are {', '.join(offered)}"
        )
    runtime = max(runtimes, key=lambda r: numbers(r.version))
    pythons = known.pythons(runtime.version)
    if pythons is not None and IMAGE_PYTHON not in pythons.versions:
        raise UsageError(f"ONNX Runtime {runtime.version} is not built for Python {IMAGE_PYTHON}", where="--rocm")
    supported = [t for t, r in known.targets(row.rocm).items() if r.status == "supported"]
    targets = supported or list(known.targets(row.rocm))
    return render(
        "recipe/rocm.yaml.j2",
        rocm=row.rocm,
        series=series(row.rocm),
        migraphx=row,
        runtime=runtime,
        gfx=targets,
        official=bool(supported),
        python=IMAGE_PYTHON,
        soname=line.soname,
        distribution=runtime.distribution.replace("_", "-"),
    )
