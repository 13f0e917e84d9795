"""The command line's request as a suite: one model in some forms and sizes, a user's file, or a curve over batches."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from stackbuild.bench.advice import Advice, advise, parse_mix
from stackbuild.bench.experiment import ProgressCallback
from stackbuild.bench.models import ModelBench, measure_models
from stackbuild.bench.onnx_file import UserModel, parse_shape
from stackbuild.bench.providers import provider_name
from stackbuild.core.errors import UsageError
from stackbuild.core.model import ValidationError
from stackbuild.core.model_mistakes import cause_of
from stackbuild.model.results import Benchmarks
from stackbuild.model.suite import ModelCases, Suite
from stackbuild.recipe.suites import load_suite
from stackbuild.tables.near_words import one_of


def _shapes(texts: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """One shape for each input. Raises UsageError for a second one: a measurement has one."""
    shapes: dict[str, tuple[int, ...]] = {}
    for name, shape in map(parse_shape, texts):
        if name in shapes:
            raise UsageError(
                f"--shape names {name!r} twice", next="measure one shape at a time: give --shape once for each input"
            )
        shapes[name] = shape
    return shapes


def select_suite(
    suite: str, models: Sequence[str], batch: Sequence[int], dtype: Sequence[str], size: Sequence[str],
    optimised: bool, shape: Sequence[str],
) -> tuple[Suite, str, tuple[UserModel, ...]]:  # fmt: skip
    """The suite as named, or one made of --model and what goes with it; its name; and the user's own files."""
    if not models:
        if batch or dtype or size or shape or optimised:
            raise UsageError(
                "--batch, --dtype, --size, --shape and --optimised go with --model", next="add --model NAME"
            )
        return load_suite(suite), suite, ()
    frame = load_suite(suite)
    shapes = _shapes(shape)
    users = tuple(UserModel(Path(m), shapes) for m in models if m.endswith(".onnx"))
    if shapes and not users:
        raise UsageError("--shape goes with an .onnx file", next="the tool's own models take --batch and --size")
    model_cases = tuple(
        _cases(m, tuple(batch) or (1,), tuple(dtype) or ("float32",), _sizes(size), optimised)
        for m in models
        if not m.endswith(".onnx")
    )
    return frame.model_copy(update={"models": model_cases, "files": ()}), "+".join(models), users


def parse_devices(text: str) -> tuple[str, ...]:
    """`0,1` as device numbers; none for an empty text."""
    devices = tuple(part.strip() for part in text.split(",")) if text else ()
    if not all(part.isascii() and part.isdigit() for part in devices) or len(set(devices)) < len(devices):
        raise UsageError(f"--devices {text!r} is not a list of devices", next="write for example --devices 0,1")
    return devices


def parse_providers(texts: Sequence[str]) -> tuple[str, ...]:
    """The other providers' full names, each once."""
    return tuple(dict.fromkeys(map(provider_name, texts)))


def batch_curve(
    request: ModelBench, model: str, dtype: str, sizes: str, within: float, mix: str, tick: ProgressCallback
) -> tuple[Benchmarks, Advice]:
    """Measure a model at every batch and advise."""
    try:
        batches = tuple(dict.fromkeys(int(text) for text in sizes.split(",")))
    except ValueError:
        raise UsageError(
            f"--sizes {sizes!r} is not a list of batches", next="write for example --sizes 1,2,4,8"
        ) from None
    if min(batches) < 1:
        raise UsageError("a batch is at least 1", next="write for example --sizes 1,2,4,8")
    weights = parse_mix(mix) if mix else None
    frame = load_suite("models-quick").model_copy(update={"models": (_cases(model, batches, (dtype,), {}, False),)})
    benchmarks = measure_models(replace(request), frame, f"batches of {model}", (), tick).benchmarks
    problems = [s.problem for case in benchmarks.cases for s in case.series if s.problem]
    if problems:
        raise UsageError(f"a batch did not run: {problems[0]}", next="leave that batch out of --sizes")
    seconds = {case.batch: median(case.series[0].seconds) for case in benchmarks.cases}
    return benchmarks, advise(seconds, within, weights)


def _cases(
    model: str, batch: tuple[int, ...], dtype: tuple[str, ...], sizes: dict[str, tuple[int, ...]], optimised: bool
) -> ModelCases:
    forms = (False, True) if optimised else (False,)
    fields = {"model": model, "batch": batch, "dtype": dtype, "sizes": sizes, "optimised": forms}
    try:
        return ModelCases.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        option, value, words = f"--{first['loc'][0]}", first["input"], re.findall(r"'([^']*)'", first["msg"])
        if first["type"] == "literal_error":
            raise UsageError(f"it cannot be {value!r}", where=option, next=one_of(str(value), words)) from None
        raise UsageError(
            f"{option} {cause_of(first)}", next="`stackbuild bench models --help` has what it takes"
        ) from None


def _sizes(texts: Sequence[str]) -> dict[str, tuple[int, ...]]:
    sizes: dict[str, tuple[int, ...]] = {}
    for text in texts:
        name, _, value = text.partition("=")
        if not (value.isascii() and value.isdigit() and len(value) <= 9):
            raise UsageError(f"--size {text!r} is not NAME=N", next="write for example --size sequence=384")
        sizes[name] = (*sizes.get(name, ()), int(value))
    return sizes
