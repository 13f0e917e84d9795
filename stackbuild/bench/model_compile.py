"""The verb `model compile`: MIGraphX's compiled models of one ONNX file, written ahead into a folder.

AMD's builds since ROCm 6.4 read and write compiled models in the folder of ORT_MIGRAPHX_MODEL_CACHE_PATH (AMD's documentation
of the MIGraphX EP). This sets it to a new folder, opens and runs each shape once, opens a second session, and holds that the
second one wrote nothing. Nobody here could run it on a GPU.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from stackbuild.bench.model_check import ModelRequest, check_model
from stackbuild.bench.model_problem import Culprit
from stackbuild.core import digest
from stackbuild.core.errors import MachineLacks, StepFailed, UsageError

VARIABLE = "ORT_MIGRAPHX_MODEL_CACHE_PATH"
MANIFEST = "manifest.json"


@dataclass(frozen=True)
class CompiledModel:
    """What was written: the files, and seconds of the first session with compiling and of the second without."""

    folder: str
    files: tuple[str, ...]
    compiled_seconds: float
    loaded_seconds: float


def compile_model(request: ModelRequest, out: Path) -> CompiledModel:
    """Compile every shape of the request into `out`. Raises UsageError, MachineLacks, and StepFailed where nothing is written."""
    out = out.absolute()
    if out.exists() and any(out.iterdir()):
        raise UsageError(
            "it is not empty", where=str(out), next="name a new folder: compiled models of another build crash"
        )
    out.mkdir(parents=True, exist_ok=True)
    environment = replace(request.environment, env=(*request.environment.env, (VARIABLE, str(out))))
    seconds = []
    file_names: list[tuple[str, ...]] = []
    for _ in range(2):
        check = check_model(replace(request, environment=environment, runs=1))
        if check.problem:
            if not any(out.iterdir()):
                out.rmdir()
            if check.culprit is Culprit.PROVIDER:
                raise MachineLacks(check.problem, next=check.next)
            raise UsageError(check.problem, where=str(request.model), next=check.next)
        seconds.append(check.create + sum(shape.first for shape in check.shapes))
        file_names.append(tuple(sorted(p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file())))
    if not file_names[0]:
        raise StepFailed(
            f"the session wrote nothing into {VARIABLE}",
            where=str(out),
            next="AMD's builds since ROCm 6.4 read it; upstream's 1.21 does not",
        )
    if file_names[0] != file_names[1]:
        raise StepFailed(
            "the second session compiled again: what the first wrote was not used",
            where=str(out),
            next="compile with the onnxruntime that will read it",
        )
    body = {
        "model": digest.of_file(request.model), "onnxruntime": check.onnxruntime, "parts": list(request.parts),
        "files": {name: digest.of_file(out / name) for name in file_names[0]},
    }  # fmt: skip
    (out / MANIFEST).write_text(json.dumps(body, indent=1) + "\n")
    return CompiledModel(str(out), file_names[0], seconds[0], seconds[1])
