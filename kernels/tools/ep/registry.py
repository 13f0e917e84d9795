"""Which kernels a library has registered, and the operators' schemas as the running ONNX Runtime has them."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from onnxruntime.capi import onnxruntime_pybind11_state as state

LEAST_OPSET = 7
# ONNX's numbers of the element types that NumPy has.
TYPES = {
    1: np.float32, 10: np.float16, 11: np.float64, 6: np.int32, 7: np.int64, 9: np.bool_, 3: np.int8, 2: np.uint8, 5: np.int16,
    4: np.uint16, 12: np.uint32, 13: np.uint64,
}  # fmt: skip
_NAMES = {"float": 1, "float16": 10, "double": 11, "int32": 6, "int64": 7, "bool": 9, "int8": 3, "uint8": 2, "int16": 5, "uint16": 4, "uint32": 12, "uint64": 13}


@dataclass(frozen=True)
class KernelEntry:
    """One kernel: the since-versions that it is for, inclusive, and the element types of each type variable."""

    op: str
    domain: str
    first: int
    last: int
    rules: dict[str, list[int]]


@dataclass(frozen=True)
class Schema:
    """What is asked of a schema: the type variable of each input, and which types each variable may be."""

    version: int
    opset: int  # of a model that has it
    inputs: list[tuple[str, bool]]  # (type, whether it must be there)
    variables: frozenset[str]  # the variables of inputs and outputs
    allowed_types: dict[str, list[int]]
    attributes: frozenset[str]


def _with_kernels(library: Path) -> Path:
    """The library that has the kernels: the device library beside the loader, or the CPU test platform's own."""
    if library.name.startswith("librockernels_ep_"):
        return library
    return next(p for p in sorted(library.parent.glob("librockernels_ep_*.so")) if "cpu_test" not in p.name)


def entries(library: Path) -> list[KernelEntry]:
    """Every kernel of a library that ONNX Runtime registers."""
    listing = ctypes.CDLL(str(_with_kernels(library.resolve()))).RocKernelsKernels
    listing.restype = ctypes.c_char_p
    rows = []
    for line in listing().decode().splitlines():
        op, domain, first, last, *rules = line.split()
        types = {name: [int(t) for t in numbers.split(",")] for name, numbers in (r.split("=") for r in rules)}
        rows.append(KernelEntry(op, "" if domain == "-" else domain, int(first), int(last), types))
    return rows


@cache
def _every_schema() -> dict[tuple[str, str], list[state.schemadef.OpSchema]]:
    by_operator: dict[tuple[str, str], list[state.schemadef.OpSchema]] = {}
    for raw in state.get_all_operator_schema():
        by_operator.setdefault((raw.name, raw.domain), []).append(raw)
    return {key: sorted(versions, key=lambda s: s.since_version) for key, versions in by_operator.items()}


def _opset(versions: list[int], version: int) -> int | None:
    """An opset whose models have this schema; None where only those older than 7 do, for which ONNX Runtime has no kernels."""
    newer = [v for v in versions if v > version]
    opset = max(version, LEAST_OPSET)
    if newer and opset >= newer[0]:
        return None
    return newer[0] - 1 if version < LEAST_OPSET and newer else opset


def schemas(entry: KernelEntry) -> list[Schema]:
    """The schemas that the kernel is for and that a model may have, oldest first."""
    rows = []
    versions = _every_schema().get((entry.op, entry.domain), [])
    for raw in versions:
        opset = _opset([s.since_version for s in versions], raw.since_version)
        if not entry.first <= raw.since_version <= entry.last or opset is None:
            continue
        allowed_types = {t.type_param_str: [_NAMES[s[7:-1]] for s in t.allowed_type_strs if s[7:-1] in _NAMES] for t in raw.type_constraints}
        variables = {p.typeStr for p in [*raw.inputs, *raw.outputs]} & set(allowed_types)
        inputs = [(p.typeStr, "Optional" not in str(p.option)) for p in raw.inputs]
        rows.append(Schema(raw.since_version, opset, inputs, frozenset(variables), allowed_types, frozenset(raw.attributes)))
    return rows
