"""The path that was meant in place of one that is not there."""

from __future__ import annotations

from pathlib import Path

from stackbuild.recipe.near_path import near_path


def test_the_same_name_is_found_deeper_and_higher(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "saxpy").mkdir()
    (tmp_path / "rules" / "saxpy.yaml").write_text("")
    (tmp_path / "mine.yml").write_text("")
    assert near_path("saxpy.yaml", tmp_path) == "rules/saxpy.yaml"
    assert near_path("rules/mine.yml", tmp_path) == "mine.yml"
    assert near_path("mine.yaml", tmp_path) == "mine.yml"
    assert near_path("rules/saxpi.yaml", tmp_path) == "rules/saxpy.yaml"
    assert near_path("rules/saxpy.yml", tmp_path) == "rules/saxpy.yaml"
    assert near_path("saxpi", tmp_path) == "saxpy"


def test_a_file_of_another_ending_is_not_meant_where_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "detector.yaml").write_text("")
    assert near_path("models/detector.onnx", tmp_path) == "detector.yaml"
    assert near_path("models/detector.onnx", tmp_path, same_ending=True) == ""
    (tmp_path / "detector-1.onnx").write_text("")
    assert near_path("detector.onnx", tmp_path, same_ending=True) == "detector-1.onnx"


def test_nothing_is_guessed_where_several_are_alike_or_the_path_is_there(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.yaml").write_text("")
    assert near_path("x.yaml", tmp_path) == near_path("a/x.yaml", tmp_path) == near_path("zzz.toml", tmp_path) == ""
