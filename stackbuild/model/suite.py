"""A suite of benchmarks as written: which models, batches and element types, how long, how often."""

from __future__ import annotations

from typing import Literal

from stackbuild.core.model import Field, Model

Dtype = Literal["float32", "float16", "int8"]
SuiteValue = bool | int | float | str | tuple[int, ...]


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
    make: tuple[dict[str, SuiteValue | dict[str, SuiteValue]], ...] = ()


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
