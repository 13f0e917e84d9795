"""Suites of benchmarks: the bundled ones, and a file beside a recipe."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from stackbuild.core.errors import Mistake, RecipeError, UsageError, with_lines
from stackbuild.core.resources import folder
from stackbuild.core.yaml import KeyPath
from stackbuild.core.yaml_file import read_placed
from stackbuild.model.suite import Suite
from stackbuild.recipe.near_path import near_path
from stackbuild.tables.near_words import close_to, nearest
from stackbuild.tables.networks import NETWORKS, TRANSFORMERS

FOLDER = Path(__file__).with_name("suites")


def bundled_suites() -> dict[str, Path]:
    """The suites that ship, by name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.yaml"))}


def load_suite(name: str) -> Suite:
    """The suite of that name, or of that file. Raises UsageError or RecipeError with the place."""
    suites = bundled_suites()
    path = suites.get(name, Path(name))
    if not path.is_file():
        near = nearest(name, [*suites])
        every = f"there are {', '.join(suites)}, or give a .yaml file"
        raise UsageError(f"no suite {name!r}", next=f"did you mean {near}? Else give a .yaml file" if near else every)
    suite, places, text = read_placed(path, Suite, "see docs/benchmarks.md")
    if name not in suites and (wrong := [*_unknown_cases(suite, path.parent)]):
        raise RecipeError(with_lines([Mistake(places.of_value(at), what, step) for at, what, step in wrong], text))
    beside = tuple(f.model_copy(update={"file": str(path.parent / f.file)}) for f in suite.files)
    return suite.model_copy(update={"files": beside})


def _unknown_cases(suite: Suite, beside: Path) -> Iterator[tuple[KeyPath, str, str]]:
    """Each model, size, operator and file that is not there: where it stands, what is wrong, and the next step."""
    for i, cases in enumerate(suite.models):
        if cases.model not in NETWORKS:
            step = close_to(cases.model, [*NETWORKS])
            step = f"write it as `file:` below `files:`: {cases.model}" if cases.model.endswith(".onnx") else step
            yield ("models", i, "model"), f"no model {cases.model!r}", step
            continue
        sizes = NETWORKS[cases.model]
        if True in cases.optimised and cases.model not in TRANSFORMERS:
            what = f"ONNX Runtime's transformer optimiser has no pattern for {cases.model}"
            yield ("models", i, "optimised"), what, f"leave `optimised` out here; it is for {', '.join(TRANSFORMERS)}"
        for size in [size for size in cases.sizes if size not in sizes]:
            step = close_to(size, [*sizes]) if sizes else "remove it: the model has no sizes beside the batch"
            yield ("models", i, "sizes", size), f"{cases.model} has no size {size!r}", step
    operators = sorted(each.parent.name for each in folder("kernels").glob("*/cases.py"))
    for i, kernel in enumerate(suite.kernels):
        if kernel.op not in operators:
            yield ("kernels", i, "op"), f"no operator {kernel.op!r}", close_to(kernel.op, operators)
    for i, file in enumerate(suite.files):
        near = near_path(file.file, beside, same_ending=True)
        if not near and not (beside / file.file).exists() and (beside.parent / file.file).exists():
            near = f"../{file.file}"
        if near:  # a file that is made later is none of its business
            step = f"write `file: {near}`, which is there: paths start at the suite's folder"
            yield ("files", i, "file"), f"there is no file {file.file!r}", step
