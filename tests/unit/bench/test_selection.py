"""What a person may ask for wrongly: models, sizes, devices, shapes."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.bench.onnx_file import parse_shape
from stackbuild.bench.providers import provider_name
from stackbuild.bench.selection import parse_devices, select_suite
from stackbuild.bench.suite_cases import split, suite_cases
from stackbuild.core.errors import UsageError
from stackbuild.core.model import ValidationError
from stackbuild.model.gates import Waiver
from stackbuild.model.suite import ModelCases
from stackbuild.recipe.suites import load_suite


def test_names_that_are_nearly_right() -> None:
    with pytest.raises(UsageError, match="no suite 'kernel-quick'") as stop:
        load_suite("kernel-quick")
    assert "did you mean kernels-quick?" in stop.value.next
    with pytest.raises(UsageError) as stop:
        provider_name("migrafx")
    assert "did you mean `migraphx`?" in stop.value.next
    assert provider_name("rocm") == "ROCMExecutionProvider" == provider_name("ROCMExecutionProvider")
    assert provider_name("MyExecutionProvider") == "MyExecutionProvider"


def test_models_and_sizes_there_are_not() -> None:
    with pytest.raises(UsageError, match="no model 'resnet51'"):
        suite_cases(ModelCases(model="resnet51"))
    with pytest.raises(UsageError, match="bert-base has no size 'length'"):
        suite_cases(ModelCases(model="bert-base", sizes={"length": (128,)}))
    assert [c.name for c in suite_cases(ModelCases(model="bert-base", batch=(1, 8), optimised=(True,)))] == [
        "bert-base/b1/s128/float32/optimised", "bert-base/b8/s128/float32/optimised",
    ]  # fmt: skip
    with pytest.raises(UsageError, match="--dtype"):
        select_suite("models-quick", ["resnet50"], [], ["float64"], [], False, [])
    with pytest.raises(UsageError, match="go with --model"):
        select_suite("models-quick", [], [8], [], [], False, [])
    with pytest.raises(UsageError, match="is not NAME=N"):
        select_suite("models-quick", ["bert-base"], [], [], ["sequence"], False, [])


def test_a_batch_is_split_over_devices() -> None:
    assert split(10, 4) == [3, 3, 2, 2] and split(4, 4) == [1, 1, 1, 1]
    with pytest.raises(UsageError, match="a batch of 2 cannot be split over 4"):
        split(2, 4)
    cell = suite_cases(ModelCases(model="resnet50", batch=(5,)))[0]
    parts = cell.work(Path("m"), "float32", ({"device_id": "0"}, {"device_id": "1"}))["parts"]
    assert isinstance(parts, list)
    assert [part["rows"] for part in parts if isinstance(part, dict)] == [[0, 3], [3, 5]]


@pytest.mark.parametrize("text", ["²", "0,²", "٣", "a", "0,0", ","])
def test_devices_that_are_none(text: str) -> None:
    with pytest.raises(UsageError, match="not a list of devices"):
        parse_devices(text)


@pytest.mark.parametrize("size", ["batch=²", "batch=", "batch", "batch=-1", "batch=" + "9" * 5000])
def test_sizes_that_are_none(size: str) -> None:
    with pytest.raises(UsageError, match="is not NAME=N"):
        select_suite("models-quick", ["resnet50"], (), (), [size], False, ())


@pytest.mark.parametrize("shape", ["x=0x256", "x=-1", "x=", "=1"])
def test_shapes_that_are_none(shape: str) -> None:
    with pytest.raises(UsageError, match="is not NAME=AxBxC"):
        parse_shape(shape)


def test_a_waiver_of_blanks_says_nothing() -> None:
    said = {"case": "*", "reason": "known since May", "by": "Ada", "until": "2026-12-01"}
    assert Waiver.model_validate(said).by == "Ada"
    for blank in ({"reason": " " * 9}, {"by": " "}):
        with pytest.raises(ValidationError):
            Waiver.model_validate(said | blank)


def test_a_second_shape_of_an_input_is_not_dropped() -> None:
    with pytest.raises(UsageError, match="--shape names 'x' twice"):
        select_suite("models-quick", ["m.onnx"], [], [], [], False, ["x=1x3", "y=2", "x=2x3"])
