"""Whose an error of `model check` is, and the step that helps. The texts are those of ONNX Runtime 1.20.1 and 1.32.0."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from stackbuild.bench.model_problem import Culprit, FailedSession, explain, require_model
from stackbuild.core.errors import UsageError

CPU = "CPUExecutionProvider"
BASE = FailedSession("session", "", "1.32.0", "", {}, {}, CPU)
LOAD = "Fail: [ONNXRuntimeError] : 1 : FAIL : Load model from /m/m.onnx failed:"
INVALID = "InvalidGraph: [ONNXRuntimeError] : 10 : INVALID_GRAPH : Load model from /m/m.onnx failed:This is an invalid model. "
OPSET = (
    "/onnxruntime_src/onnxruntime/core/graph/model_load_utils.h:46 void f(bool, int) ONNX Runtime only *guarantees* support for "
    "models stamped with official released onnx opset versions. Opset 99 is under development and support for this is limited. "
    "Current official support for domain ai.onnx is till opset 28."
)
IR = "/onnxruntime_src/onnxruntime/core/graph/model.cc:256 onnxruntime::Model::Model() Unsupported model IR version: 99, max supported IR version: 14"
MODEL_CAUSES = [
    (LOAD + "Fatal error: my.ops:Foo(-1) is not a registered function/op", "no operator Foo of the domain my.ops", "--library FILE names a library of custom operators that has my.ops:Foo"),
    (LOAD + "Fatal error: com.microsoft:New(-1) is not a registered function/op", "no operator New of the domain com.microsoft", "a newer onnxruntime"),
    (LOAD + OPSET, "opset 99 of ai.onnx, and onnxruntime 1.32.0 knows opsets up to 28", "a newer onnxruntime in the environment, or export the model with opset 28"),
    (LOAD + IR, "its IR version is 99, and onnxruntime 1.32.0 reads versions up to 14", "ir_version 14"),
    (INVALID + "In Node, (\"\", Foo, \"my.ops\", -1) , Error No opset import for domain 'my.ops'", "its opset_import does not name it", "opset_import of my.ops"),
    (INVALID + 'In Node, ("", Fooo, "", -1) , Error No Op registered for Fooo with domain_version of 21', "no operator Fooo in opset 21", "correct the operator's name"),
    (INVALID + 'In Node, ("", Conv, "", -1) , Error Node () has input size 1 not in range [min=2, max=3].', "This is an invalid model. In Node", "correct the model"),
    ("NotImplemented: [ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : Could not find an implementation for Identity(21) node with name ''", "Could not find an implementation for Identity(21)", "--library"),
]  # fmt: skip


@pytest.mark.parametrize("provider", [CPU, "MIGraphXExecutionProvider"])
@pytest.mark.parametrize(("text", "cause", "next"), MODEL_CAUSES)
def test_the_models_own_cause_is_named(text: str, cause: str, next: str, provider: str) -> None:
    problem = explain(replace(BASE, text=text, provider=provider), "doctor")
    assert problem.culprit is Culprit.MODEL
    assert cause in problem.text and next in problem.next and "doctor" not in problem.next
    assert "ONNXRuntimeError" not in problem.text and "/onnxruntime_src" not in problem.text
    assert "Load model from" not in problem.text


@pytest.mark.parametrize(
    ("text", "cause", "next"),
    [
        ("Failed to load library /l/no.so with error: /l/no.so: file too short", "no.so: file too short", "--library takes"),
        ("Failed to get symbol RegisterCustomOps with error: /l/no.so: undefined symbol: RegisterCustomOps", "no.so has no RegisterCustomOps", "--library takes"),
        ("Failed to load library /l/no.so with error: libfoo.so.3: cannot open shared object file: No such file or directory", "libfoo.so.3", "install what has libfoo.so.3"),
    ],
)  # fmt: skip
def test_a_library_of_custom_operators_is_named(text: str, cause: str, next: str) -> None:
    failed = replace(BASE, stage="library", library="/l/no.so", text=f"Fail: [ONNXRuntimeError] : 1 : FAIL : {text}")
    problem = explain(failed, "doctor")
    assert problem.culprit is Culprit.LIBRARY and cause in problem.text and next in problem.next


RUN = "InvalidArgument: [ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Non-zero status code returned while running Conv node. Status Message: Invalid input shape: {1,1}"


def test_a_failed_run_with_open_dimensions_names_shape() -> None:
    failed = replace(
        BASE, stage="run", text=RUN, sizes={"x": [1, 3, 1, 1], "s": []}, inputs={"x": {"open": "N1x3xN2xN3"}, "s": {}},
    )  # fmt: skip
    problem = explain(failed, "doctor")
    assert problem.culprit is Culprit.RUN and problem.text.endswith("(at x=1x3x1x1, s=scalar)")
    assert problem.next.startswith("--shape x=N1x3xN2xN3, with a real size for each N")
    fixed = replace(failed, inputs={"x": {}, "s": {}})
    assert "N1" not in explain(fixed, "doctor").next
    assert "--provider cpu" in explain(replace(fixed, provider="MIGraphXExecutionProvider"), "doctor").next


def test_a_provider_keeps_the_step_to_its_libraries() -> None:
    failed = replace(BASE, provider="MIGraphXExecutionProvider", text="RuntimeError: broken.so: file too short")
    problem = explain(failed, "stackbuild doctor --venv v")
    assert problem.culprit is Culprit.PROVIDER and "stackbuild doctor --venv v" in problem.next
    ended = explain(replace(BASE, stage="", text="the process ended with signal 11: "), "stackbuild doctor --venv v")
    assert ended.culprit is Culprit.RUN and "stackbuild doctor --venv v" in ended.next


def test_a_folder_is_not_a_missing_model(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="it is a folder, not a model") as stop:
        require_model(tmp_path)
    assert "no .onnx file is in it" in stop.value.next
    (tmp_path / "a b.onnx").touch()
    with pytest.raises(UsageError) as stop:
        require_model(tmp_path)
    assert stop.value.next == f"name a model in it, such as '{tmp_path}/a b.onnx'"
    with pytest.raises(UsageError, match="there is no such model"):
        require_model(tmp_path / "none.onnx")
