"""Suites: those that ship, and mistakes in one."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.bench.suite_cases import suite_cases
from stackbuild.core.errors import RecipeError
from stackbuild.recipe.suites import bundled_suites, load_suite


def test_every_suite_that_ships_is_right() -> None:
    assert set(bundled_suites()) == {"kernels", "kernels-quick", "memory", "models", "models-quick", "session"}
    for name in bundled_suites():
        found = load_suite(name)
        assert found.about and (found.kernels or found.models)
        for cases in found.models:
            assert suite_cases(cases)


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        ("kind: models\nmodels:\n  - {model: x, batch: []}\n", ":3:23", "`models.0.batch`"),
        ("kind: models\nround: 3\n", ":2:1", "`round`"),
        ("kind: games\n", ":1:7", "`kind`"),
        ("kind: models\nmodels:\n  - {model: x, dtype: [float64]}\n", ":3:24", "`models.0.dtype.0`"),
        ("", ":1:1", "the file must be a mapping"),
        ("kind: models\nmodels:\n  - {model: resnet-50}\n", ":3:13", "no model 'resnet-50'"),
        ("kind: models\nmodels:\n  - {model: chess, sizes: {sequence: [8]}}\n", ":3:38", "chess has no size 'sequence'"),
        ("kind: kernels\nkernels:\n  - {op: convolution}\n", ":3:10", "no operator 'convolution'"),
    ],
)
def test_a_wrong_suite_is_told_with_its_place(tmp_path: Path, text: str, place: str, what: str) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(text)
    with pytest.raises(RecipeError) as stop:
        load_suite(str(file))
    assert stop.value.mistakes[0].place == f"{file}{place}" and what in stop.value.mistakes[0].what


def test_a_model_above_the_suite_is_found_and_the_suite_itself_is_no_model(tmp_path: Path) -> None:
    suite = tmp_path / "bench" / "detector.yaml"
    suite.parent.mkdir()
    suite.write_text("kind: models\nfiles:\n  - file: models/detector.onnx\n")
    assert load_suite(str(suite)).files
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "detector.onnx").write_text("")
    with pytest.raises(RecipeError) as stop:
        load_suite(str(suite))
    assert "write `file: ../models/detector.onnx`" in str(stop.value)
    suite.write_text(suite.read_text().replace("models/det", "../models/det"))
    assert load_suite(str(suite)).files


def test_a_shape_as_one_text_is_one_mistake_with_its_list(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text("kind: models\nfiles:\n  - {file: x.onnx, shapes: [{input: 1x3x640x640}]}\n")
    with pytest.raises(RecipeError) as stop:
        load_suite(str(file))
    (mistake,) = stop.value.mistakes
    assert "write `[1, 3, 640, 640]`" in mistake.next
    file.write_text("kind: models\nfiles:\n  - {file: x.onnx, shapes: []}\n")
    with pytest.raises(RecipeError) as stop:
        load_suite(str(file))
    assert "`files.0.shapes` is empty: it must have at least 1" in str(stop.value) and "uple" not in str(stop.value)
