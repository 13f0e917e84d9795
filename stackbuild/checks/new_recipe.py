"""The verb `recipe new`: a recipe for a ROCm version from the compatibility table, through `templates/recipe/rocm.yaml.j2`."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable

from stackbuild.core.errors import UsageError
from stackbuild.core.templates import render
from stackbuild.core.versions import numbers, series
from stackbuild.tables.compatibility import UBUNTU_PYTHON, Table, table

UBUNTU_24_SINCE = (6, 2)
"""The first ROCm with images of Ubuntu 24.04, which is younger than ROCm 6.0 and 6.1."""
FULL_SINCE = (7, 14)
"""The first ROCm whose whole image is called `-full` and not `-complete`."""
PLUGINS_SINCE = (10,)
"""The first ROCm whose execution providers are plugins."""
NUMPY_2_SINCE = (1, 19)
"""The first ONNX Runtime that runs with NumPy 2 (onnxruntime#21063)."""
DISTRIBUTION = "onnxruntime-migraphx"
"""What ONNX Runtime's setup.py calls a wheel with the MIGraphX EP alone; `onnxruntime-rocm` has the ROCm EP."""


def new_recipe(rocm: str) -> str:
    """The text of a recipe for that ROCm version (`7.1` or `7.1.1`). Raises UsageError where the table does not know it."""
    compatibility = table()
    row = compatibility.latest_migraphx(rocm)
    line = compatibility.line(rocm)
    runtimes = [r for r in compatibility.onnxruntime if r.rocm == series(rocm) and r.distribution]
    if row is None or line is None or not runtimes:
        raise _unknown_series(rocm, compatibility)
    runtime = max(runtimes, key=lambda r: numbers(r.version))
    ubuntu = "24.04" if numbers(row.rocm) >= UBUNTU_24_SINCE else "22.04"
    python = UBUNTU_PYTHON[ubuntu]
    pythons = compatibility.pythons(runtime.version)
    if pythons is not None and python not in pythons.versions:
        raise UsageError(f"ONNX Runtime {runtime.version} is not built for Python {python}", where="--rocm")
    supported_targets = [t for t, r in compatibility.targets(row.rocm).items() if r.status == "supported"]
    targets = supported_targets or list(compatibility.targets(row.rocm))
    return render(
        "recipe/rocm.yaml.j2",
        rocm=row.rocm,
        series=series(row.rocm),
        migraphx=row,
        runtime=runtime,
        gfx=targets,
        official=bool(supported_targets),
        ubuntu=ubuntu,
        flavour="full" if numbers(row.rocm) >= FULL_SINCE else "complete",
        python=python,
        numpy2=numbers(runtime.version) >= NUMPY_2_SINCE,
        soname=line.soname,
        distribution=DISTRIBUTION,
    )


def newest_version(lines: Iterable[str]) -> str:
    """The newest of those ROCm lines that `new_recipe` writes a recipe for, "" where it writes none."""
    for line in sorted(lines, key=numbers, reverse=True):
        with contextlib.suppress(UsageError):
            new_recipe(line)
            return line
    return ""


def _unknown_series(rocm: str, compatibility: Table) -> UsageError:
    """Why there is no recipe for that ROCm, as far as the table says it."""
    fits = {r.rocm for r in compatibility.onnxruntime if r.distribution}
    rows = [r.rocm for r in compatibility.migraphx if series(r.rocm) in fits]
    offer = f"known are {', '.join(sorted({*rows, *map(series, rows)}, key=numbers))}"
    line = compatibility.line(rocm)
    if line is not None and numbers(line.version) >= PLUGINS_SINCE:
        what = f"ROCm {rocm} has no ONNX Runtime with the EP in it: execution providers are plugins there"
        return UsageError(what, where="--rocm", next="start from `stackbuild recipe show rocm-10.1`")
    if line is not None and compatibility.latest_migraphx(rocm) is None:
        what = f"ROCm {rocm}: the table has no MIGraphX of it, with the rocMLIR that it pins"
        return UsageError(what, where="--rocm", next=offer)
    same = [row for row in sorted(rows, key=numbers) if f"{row}.".startswith(f"{rocm}.")]
    if same and re.fullmatch(r"\d+", rocm):
        return UsageError(f"{rocm!r} is several releases of ROCm", where="--rocm", next=f"write one, such as `--rocm {same[-1]}`")
    return UsageError(f"nothing is known of a stack for ROCm {rocm}", where="--rocm", next=offer)
