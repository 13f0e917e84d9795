"""Suites as data: which models, batches and dtypes, how long, how often. Ship as YAML, extend from a recipe."""

from __future__ import annotations

import difflib
from itertools import product
from pathlib import Path
from typing import Literal

from stackbuild.bench.yaml_file import read_yaml
from stackbuild.core.errors import UsageError
from stackbuild.core.model import Field, Model

FOLDER = Path(__file__).with_name("suites")
Dtype = Literal["float32", "float16", "int8"]
Plain = bool | int | float | str | tuple[int, ...]


class BudgetText(Model):
    """How long each case warms up and is timed in each process."""

    warm_seconds: float = Field(default=1.0, ge=0, le=600)
    seconds: float = Field(default=0.3, ge=0, le=600)
    least: int = Field(default=3, ge=1, le=10_000)
    most: int = Field(default=100, ge=1, le=100_000)


class ModelCases(Model):
    """Some cases of one model: every batch with every size, dtype and form."""

    model: str
    batch: tuple[int, ...] = Field(default=(1,), min_length=1)
    dtype: tuple[Dtype, ...] = Field(default=("float32",), min_length=1)
    optimised: tuple[bool, ...] = (False,)
    sizes: dict[str, tuple[int, ...]] = Field(default_factory=dict)


class KernelCases(Model):
    """Some cases of one bundled operator. `make` are the keywords of `make` in the operator's own `cases.py`.

    Without `make` they are the few shapes that the operator's folder names for benchmarks.
    """

    op: str
    dtype: tuple[Literal["float32", "float16"], ...] = Field(default=("float32",), min_length=1)
    make: tuple[dict[str, Plain | dict[str, Plain]], ...] = ()


class FileCases(Model):
    """A user's own model: a path beside the suite's file, and a shape for each input with open dimensions."""

    file: str
    shapes: tuple[dict[str, tuple[int, ...]], ...] = Field(default=({},), min_length=1)


class Suite(Model):
    """A suite as written."""

    about: str = ""
    kind: Literal["kernels", "models"]
    rounds: int = Field(default=20, ge=1, le=1000)
    budget: BudgetText = BudgetText()
    models: tuple[ModelCases, ...] = ()
    files: tuple[FileCases, ...] = ()
    kernels: tuple[KernelCases, ...] = ()


def bundled_suites() -> dict[str, Path]:
    """The suites that ship, by name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.yaml"))}


def load_suite(name: str) -> Suite:
    """The suite of that name, or of that file. Raises UsageError or RecipeError with the place."""
    known = bundled_suites()
    path = known.get(name, Path(name))
    if not path.is_file():
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise UsageError(f"no suite {name!r}", next=f"{hint}there are {', '.join(known)}, or give a .yaml file")
    found = read_yaml(path, Suite)
    beside = tuple(f.model_copy(update={"file": str(path.parent / f.file)}) for f in found.files)
    return found.model_copy(update={"files": beside})


def case_axes(cases: ModelCases) -> list[tuple[str, bool, dict[str, int]]]:
    """Each (dtype, optimised, sizes) of these cases, sizes with the batch."""
    axes = {"batch": cases.batch, **cases.sizes}
    sizes = [dict(zip(axes, row, strict=True)) for row in product(*axes.values())]
    return [(d, o, s) for s in sizes for d, o in product(cases.dtype, cases.optimised)]
