"""Why a session of `model check` failed: the model's own cause with the step that helps, or the provider's.

ONNX Runtime's texts are those of its releases 1.20 and 1.32. A text that is not known here stands as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from stackbuild.core.digest import Json
from stackbuild.core.errors import UsageError
from stackbuild.core.shell_words import shell_word


def require_model(path: Path) -> None:
    """Raises UsageError where a path is not that of a file."""
    if path.is_dir():
        files = sorted(path.glob("*.onnx"))
        raise UsageError(
            "it is a folder, not a model", where=str(path),
            next=f"name a model in it, such as {shell_word(files[0])}" if files else "no .onnx file is in it: give the path of one",
        )  # fmt: skip
    if not path.is_file():
        what = "it is not a regular file" if path.exists() else "there is no such model"
        raise UsageError(what, where=str(path), next="give the path of an .onnx file")


CPU = "CPUExecutionProvider"


class Culprit(StrEnum):
    """What a problem is of."""

    PROVIDER = "provider"
    LIBRARY = "library"
    MODEL = "model"
    RUN = "run"


@dataclass(frozen=True)
class ModelProblem:
    """What went wrong, of what, and the next step."""

    culprit: Culprit
    text: str
    next: str


@dataclass(frozen=True)
class FailedSession:
    """A worker's error: the stage that it was in, ONNX Runtime's text, its version, and what was asked."""

    stage: str
    text: str
    onnxruntime: str
    library: str
    sizes: Mapping[str, Sequence[int]]
    inputs: Mapping[str, Mapping[str, Json]]
    provider: str


_PREFIX = re.compile(
    r"^\w+: (?:\[ONNXRuntimeError\] : \d+ : \w+ : )?(?:Load model from .*? failed:)?(?:\S+/onnxruntime/\S+:\d+ )?"
)
_STANDARD = re.compile(r"(?:com\.microsoft|ai\.onnx)(?:\.[\w.]+)?|")
_NEWER = "install a newer onnxruntime in the environment"

_CAUSES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], FailedSession], tuple[str, str]]], ...] = (
    (
        re.compile(r"([\w.\-]*):(\w+)\(-?\d+\) is not a registered function/op"),
        lambda match, failure: (
            f"onnxruntime {failure.onnxruntime} has no operator {match[2]} of the domain {match[1] or 'ai.onnx'}",
            f"{_NEWER}: the domain is ONNX Runtime's or ONNX's own"
            if _STANDARD.fullmatch(match[1])
            else f"--library FILE names a library of custom operators that has {match[1]}:{match[2]}",
        ),
    ),
    (
        re.compile(r"No opset import for domain '([^']*)'"),
        lambda match, _: (
            f"it uses the domain {match[1]}, and its opset_import does not name it",
            f"export it again with an opset_import of {match[1]}",
        ),
    ),
    (
        re.compile(r"No Op registered for (\w+) with domain_version of (\d+)"),
        lambda match, failure: (
            f"onnxruntime {failure.onnxruntime} has no operator {match[1]} in opset {match[2]}",
            f"{_NEWER}, or correct the operator's name or the model's opset",
        ),
    ),
    (
        re.compile(r"Opset (\d+) is under development.*?support for domain (\S+) is till opset (\d+)", re.DOTALL),
        lambda match, failure: (
            f"it asks for opset {match[1]} of {match[2]}, and onnxruntime {failure.onnxruntime} knows opsets up to {match[3]}",
            f"{_NEWER}, or export the model with opset {match[3]}",
        ),
    ),
    (
        re.compile(r"Unsupported model IR version: (\d+), max supported IR version: (\d+)"),
        lambda match, failure: (
            f"its IR version is {match[1]}, and onnxruntime {failure.onnxruntime} reads versions up to {match[2]}",
            f"{_NEWER}, or save the model with ir_version {match[2]}",
        ),
    ),
    (
        re.compile(r"NOT_IMPLEMENTED : (.*)|(Could not find an implementation for .*)"),
        lambda match, _: (
            match[1] or match[2],
            "no provider of this build has such an operator: a newer onnxruntime, or --library for custom operators",
        ),
    ),
)
"""A text of ONNX Runtime, the cause in the model's own terms, and what helps."""


def explain(failure: FailedSession, doctor: str) -> ModelProblem:
    """The problem behind a worker's error. `doctor` is the command that looks at the environment."""
    text = _PREFIX.sub("", failure.text, count=1).strip()
    if failure.stage == "library":
        return _library_problem(failure, text)
    if "this onnxruntime has no" in text:
        step = f"install a build that has it: `stackbuild start`; `{doctor}` says what is there"
        return ModelProblem(Culprit.PROVIDER, text, step)
    if not failure.stage and failure.provider == CPU:
        return ModelProblem(Culprit.RUN, text, f"`{doctor}` says what is wrong with the environment, if it is that")
    if failure.stage in ("inputs", "run"):
        return _run_problem(failure, text)
    for pattern, cause in _CAUSES:
        if match := pattern.search(failure.text):
            return ModelProblem(Culprit.MODEL, *cause(match, failure))
    if "Load model from" in failure.text or "INVALID_GRAPH" in failure.text or failure.provider == CPU:
        return ModelProblem(Culprit.MODEL, text, "correct the model, or export it again; onnx.checker may say more")
    return ModelProblem(Culprit.PROVIDER, failure.text, f"`{doctor}` says which libraries cannot be loaded")


def _library_problem(failure: FailedSession, text: str) -> ModelProblem:
    name = Path(failure.library).name
    loader = re.search(r"with error: (.*)", text, re.DOTALL)
    if "symbol RegisterCustomOps" in text:
        text = f"{name} has no RegisterCustomOps: it is not a library of custom operators"
    elif loader:
        text = f"{name}: {loader[1].removeprefix(f'{failure.library}: ')}"
    step = "--library takes a shared library of custom operators that loads here"
    if missing := re.search(r"(\S+): cannot open shared object file", text):
        step = f"install what has {missing[1]}, or add its folder to LD_LIBRARY_PATH"
    return ModelProblem(Culprit.LIBRARY, text, step)


def _run_problem(failure: FailedSession, text: str) -> ModelProblem:
    """An error at a shape: an open dimension had a size that nobody gave, or the model cannot run these values."""
    shapes = ", ".join(f"{name}={'x'.join(map(str, size)) or 'scalar'}" for name, size in failure.sizes.items())
    place = f"{text} (at {shapes})"
    open_inputs = {name: spec["open"] for name, spec in failure.inputs.items() if "open" in spec}
    if open_inputs:
        options = " ".join(f"--shape {shell_word(f'{name}={shape}')}" for name, shape in open_inputs.items())
        return ModelProblem(
            Culprit.RUN, place, f"{options}, with a real size for each N: without it they are 1, then 2"
        )
    if failure.provider == CPU:
        return ModelProblem(Culprit.RUN, place, "--shape gives other sizes; inputs have random values here")
    return ModelProblem(Culprit.RUN, place, "--provider cpu shows whether the model runs without this provider")
