"""Model files, made once and kept: an architecture at a dtype, optionally quantised or optimised."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from stackbuild.bench.environment import WorkerEnvironment
from stackbuild.bench.job import run_job
from stackbuild.bench.nets import Net
from stackbuild.core import digest
from stackbuild.core.digest import Json
from stackbuild.core.errors import UsageError


@dataclass(frozen=True)
class ModelFile:
    """A file, its bytes' sha256, its opset, and what the optimiser fused ("" where it was not run)."""

    path: Path
    sha256: str
    opset: int
    fusions: str = ""


def net_file(net: Net, dtype: str, cache: Path) -> ModelFile:
    """The architecture's float32 or float16 file."""
    from stackbuild.bench.nets.graph import OPSET, Graph

    def write(path: Path) -> str:
        graph = Graph(net.name, dtype)
        net.write(graph)
        graph.save(path)
        return ""

    return _cache_file(cache.absolute() / "models" / f"{net.name}-v{net.version}-opset{OPSET}-{dtype}.onnx", write)


def model_file(
    net: Net, dtype: str, optimised: bool, find_environment: Callable[[], WorkerEnvironment], cache: Path
) -> ModelFile:
    """The file of any dtype and form; int8 and the optimised form are made by the environment's own ONNX Runtime.

    Raises UsageError where the optimiser does not apply to the architecture or fails.
    """
    source = net_file(net, "float32" if dtype == "int8" else dtype, cache)
    if not optimised and dtype != "int8":
        return source
    environment = find_environment()
    by = _runtime(environment)
    if optimised:
        source = _transform(source, "optimise", _optimiser(net), environment, by)
    if dtype == "int8":
        source = _transform(source, "quantise", {}, environment, by)
    return source


def _optimiser(net: Net) -> dict[str, Json]:
    if net.optimiser is None:
        raise UsageError(
            f"ONNX Runtime's transformer optimiser has no pattern for {net.name}", next="leave out optimised"
        )
    kind, heads, hidden_size = net.optimiser
    return {"type": kind, "heads": heads, "hidden": hidden_size}


def _transform(
    source: ModelFile, do: str, extra: dict[str, Json], environment: WorkerEnvironment, by: str
) -> ModelFile:
    def change(path: Path) -> str:
        case: dict[str, Json] = {"name": "model", "model": str(source.path), "keep": str(path), **extra}
        answer = run_job(environment, {"do": do, "cases": [case]}, timeout=1800)
        row = answer.cases.get("model", {})
        if problem := answer.problem or row.get("problem"):
            lacks = (
                "its Python lacks a package: pip install 'stackbuild[bench]'" if "ImportError" in str(problem) else ""
            )
            raise UsageError(
                f"ONNX Runtime could not {do} {source.path.name}: {problem}", next=lacks or "leave this form out"
            )
        fusions = row.get("fused")
        return ", ".join(f"{op} {count}" for op, count in fusions.items()) if isinstance(fusions, dict) else ""

    return _cache_file(source.path.with_name(f"{source.path.stem}-{do}d-{by}.onnx"), change)


def _runtime(environment: WorkerEnvironment) -> str:
    answer = run_job(environment, {"do": "versions"})
    if answer.problem:
        raise UsageError(
            answer.problem, where=str(environment.python), next="give a --python that has onnxruntime and numpy"
        )
    return f"ort{answer.libraries['onnxruntime']}"


def _cache_file(path: Path, make: Callable[[Path], str]) -> ModelFile:
    """The file and its facts, made unless both are there and agree; renamed into place, facts last."""
    from stackbuild.bench.nets.graph import describe_inputs

    facts = path.with_suffix(".json")
    if cached_model := _cached_file(path, facts):
        return cached_model
    path.parent.mkdir(parents=True, exist_ok=True)
    staged_model, staged_facts = (path.with_name(f".{os.getpid()}-{end.name}") for end in (path, facts))
    try:
        fusions = make(staged_model)
        opset, _ = describe_inputs(staged_model)
        model_file = ModelFile(path, digest.of_file(staged_model), opset, fusions)
        staged_facts.write_text(json.dumps({"sha256": model_file.sha256, "opset": opset, "fused": fusions}))
        staged_model.rename(path)
        staged_facts.rename(facts)
    finally:
        staged_model.unlink(missing_ok=True)
        staged_facts.unlink(missing_ok=True)
    return model_file


def _cached_file(path: Path, facts: Path) -> ModelFile | None:
    """The model that is kept, if its facts can be read and its bytes are the ones they are of."""
    try:
        record = json.loads(facts.read_text("utf-8"))
        cached_model = ModelFile(path, str(record["sha256"]), int(record["opset"]), str(record["fused"]))
        return cached_model if digest.of_file(path) == cached_model.sha256 else None
    except (FileNotFoundError, ValueError, KeyError, TypeError, RecursionError):
        return None
