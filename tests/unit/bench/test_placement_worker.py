"""The script of `model check` in this process: sessions of the CPU provider on models of one node."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from stackbuild.bench import model_check
from stackbuild.bench.onnx_file import input_parts

SCRIPTS = Path(model_check.__file__).parent
TYPES = (
    "FLOAT", "FLOAT16", "DOUBLE", "INT8", "INT64", "UINT8", "BOOL", "STRING",
    "BFLOAT16", "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ",
)  # fmt: skip


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("onnxruntime")
    monkeypatch.syspath_prepend(str(SCRIPTS))
    for name in ("placement_worker", "worker", "devices", "bound_outputs"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module("placement_worker")


def saved(path: Path, *dims: int | str, kind: int = TensorProto.FLOAT, node: str = "Identity", **more: Any) -> Path:
    """A model of one node from `x` to `y`."""
    given = helper.make_tensor_value_info("x", kind, list(dims))
    y = onnx.ValueInfoProto(name="y")
    graph = helper.make_graph([helper.make_node(node, ["x"], ["y"], **more)], "one", [given], [y])
    domains = [helper.make_opsetid("", 21), *([helper.make_opsetid(more["domain"], 1)] if "domain" in more else [])]
    onnx.save(helper.make_model(graph, opset_imports=domains, ir_version=10), path)
    return path


def answer(
    script: ModuleType, model: Path, *shapes: str, libraries: tuple[str, ...] = (), monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """What the script answers for these --shape options."""
    session = {"provider": "CPUExecutionProvider", "libraries": libraries}
    job = {
        "model": str(model), "session": session, "parts": input_parts(model, shapes), "runs": 2,
        "answer": str(model.with_suffix(".answer")),
    }  # fmt: skip
    file = model.with_suffix(".job")
    file.write_text(json.dumps(job))
    monkeypatch.setattr(sys, "argv", ["placement_worker.py", str(file)])
    script.main()
    document: dict[str, Any] = json.loads(model.with_suffix(".answer").read_text())
    return document


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("dims", [(), (3,)], ids=["scalar", "vector"])
def test_scalars_and_every_element_type_run(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dims: tuple[int, ...], kind: str
) -> None:
    model = saved(tmp_path / "m.onnx", *dims, kind=getattr(TensorProto, kind))
    said = answer(script, model, monkeypatch=monkeypatch)
    assert "problem" not in said, said["problem"]
    assert said["stage"] == "run" and [shape["sizes"] for shape in said["shapes"]] == [{"x": list(dims)}]
    assert len(said["nodes"]) == 1 and len(said["shapes"][0]["later"]) == 1


def test_every_shape_is_run_and_the_first_again(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = answer(script, saved(tmp_path / "m.onnx", "n", 3), "x=4x3", "x=2x3", "x=7x3", monkeypatch=monkeypatch)
    assert [shape["sizes"]["x"][0] for shape in said["shapes"]] == [4, 2, 7, 4]


def test_an_error_has_its_stage(script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = saved(tmp_path / "unknown.onnx", 3, node="Foo", domain="my.ops")
    said = answer(script, unknown, monkeypatch=monkeypatch)
    assert said["stage"] == "session" and "my.ops:Foo" in said["problem"]
    library = tmp_path / "no-library.so"
    library.write_text("not a library")
    said = answer(script, unknown, libraries=(str(library),), monkeypatch=monkeypatch)
    assert said["stage"] == "library" and said["library"] == str(library)
    pool = saved(tmp_path / "pool.onnx", 1, 1, "h", "w", node="MaxPool", kernel_shape=[7, 7])
    said = answer(script, pool, monkeypatch=monkeypatch)
    assert said["stage"] == "run" and said["sizes"] == {"x": [1, 1, 1, 1]} and "MaxPool" in said["problem"]
