"""`model compile`: what is held of the folder. MIGraphX itself could not be run: the session is a stand-in that writes files."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.bench import model_compile
from stackbuild.bench.environment import plain_environment
from stackbuild.bench.model_check import ModelCheck, ModelRequest, ShapeTiming
from stackbuild.bench.model_compile import VARIABLE, compile_model
from stackbuild.bench.model_problem import Culprit
from stackbuild.core.errors import MachineLacks, StepFailed, UsageError


@pytest.fixture
def request_(tmp_path: Path) -> ModelRequest:
    (tmp_path / "m.onnx").write_bytes(b"a model")
    return ModelRequest(
        tmp_path / "m.onnx", ({"inputs": {}},), "MIGraphXExecutionProvider", {}, "", plain_environment()
    )


def sessions(
    monkeypatch: pytest.MonkeyPatch, *writes: str, problem: str = "", culprit: Culprit = Culprit.PROVIDER
) -> None:
    """Each session writes the next file into the folder that the variable names."""
    left = list(writes)

    def check(request: ModelRequest) -> ModelCheck:
        if left and (name := left.pop(0)):
            (Path(dict(request.environment.env)[VARIABLE]) / name).write_bytes(b"compiled")
        shapes = (ShapeTiming({}, 30.0 if left else 0.5, 0.0),)
        return ModelCheck(
            "m", request.provider, "1.23.2", (), (), (), shapes, 1.0, problem, "next", culprit if problem else None
        )

    monkeypatch.setattr(model_compile, "check_model", check)


def test_what_the_second_session_reads_is_kept(
    request_: ModelRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions(monkeypatch, "a.mxr", "")
    found = compile_model(request_, tmp_path / "out")
    assert found.files == ("a.mxr",) and (found.compiled_seconds, found.loaded_seconds) == (31.0, 1.5)
    assert '"a.mxr": "' in (tmp_path / "out/manifest.json").read_text()
    with pytest.raises(UsageError, match="not empty"):
        compile_model(request_, tmp_path / "out")


@pytest.mark.parametrize(
    ("writes", "problem", "error", "words"),
    [
        ((), "", StepFailed, "wrote nothing"),
        (("a.mxr", "b.mxr"), "", StepFailed, "compiled again"),
        ((), "this onnxruntime has no MIGraphXExecutionProvider", MachineLacks, "has no MIGraphX"),
    ],
)
def test_what_was_not_compiled_is_no_success(
    writes: tuple[str, ...],
    problem: str,
    error: type[Exception],
    words: str,
    request_: ModelRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sessions(monkeypatch, *writes, problem=problem)
    with pytest.raises(error, match=words):
        compile_model(request_, tmp_path / "out")
    assert (tmp_path / "out").exists() == (not problem), "a folder that a session wrote to stays for a look"


@pytest.mark.parametrize("culprit", [Culprit.MODEL, Culprit.RUN, Culprit.LIBRARY])
def test_a_model_that_cannot_be_run_is_not_the_machines_lack(
    request_: ModelRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, culprit: Culprit
) -> None:
    sessions(monkeypatch, problem="no operator Foo", culprit=culprit)
    with pytest.raises(UsageError, match="no operator Foo") as stop:
        compile_model(request_, tmp_path / "out")
    assert stop.value.where.endswith("m.onnx") and stop.value.next == "next"
