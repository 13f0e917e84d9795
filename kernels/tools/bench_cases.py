"""A script: writes the cases of a benchmark suite as files, for `stackbuild bench kernels`.

`python bench_cases.py WANTED.json OUT` writes for each case OUT/N.custom.onnx, OUT/N.standard.onnx where ONNX has the
operator, OUT/N.npz with the inputs and OUT/N.truth.npz with the float64 answer. OUT/index.json lists them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools import cases as builder


def main() -> None:
    selection, out = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    cases = [case for want in selection for case in entry_cases(builder.OPERATORS, want)]
    index = [write_case(case, number, out) for number, case in enumerate(cases)]
    (out / "index.json").write_text(json.dumps(index))


def entry_cases(operators: dict[str, ModuleType], want: dict[str, Any]) -> list[Any]:
    """The cases that one entry of a suite asks for: its own shapes, or the few that the kernel's folder names."""
    if want["op"] not in operators:
        raise SystemExit(f"there is no operator {want['op']!r}; there are {', '.join(operators)}")
    module, cases = operators[want["op"]], []
    for name in want["dtype"]:
        dtype = np.dtype(name).type
        cases += [make_case(module, shape, dtype) for shape in want["make"]]
        if not want["make"]:
            cases += module.bench(np.random.default_rng(0), dtype)
    return cases


def make_case(module: ModuleType, shape: dict[str, Any], dtype: type) -> Any:
    """One case by the kernel's own `make`, given keywords as the suite writes them."""
    arguments = {k: tuple(v) if isinstance(v, list) else v for k, v in shape.items()}
    if sizes := get_type_hints(module.make).get("s"):  # Attention takes its sizes as one value
        arguments = {"s": sizes(**arguments)}
    return module.make(rng=np.random.default_rng(0), dtype=dtype, **arguments)


def write_case(case: Any, number: int, out: Path) -> dict[str, Any]:
    feeds = builder.feeds(case)
    np.savez(out / f"{number}.npz", **feeds)
    np.savez(out / f"{number}.truth.npz", **{case.output: case.expected_values})
    (out / f"{number}.custom.onnx").write_bytes(builder.model(case).SerializeToString(deterministic=True))
    standard = builder.standard_model(case)
    if standard is not None:
        (out / f"{number}.standard.onnx").write_bytes(standard.SerializeToString(deterministic=True))
    return {
        "number": number, "op": case.op, "name": case.name, "dtype": str(case.dtype), "opset": case.opset,
        "standard": standard is not None, "shapes": {k: list(v.shape) for k, v in feeds.items()},
    }  # fmt: skip


if __name__ == "__main__":
    main()
