"""What the command line adds to a message about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.cli.completed_message import complete
from stackbuild.core.errors import UsageError
from stackbuild.recipe.near_path import near_path


@pytest.mark.parametrize(
    ("what", "words", "environ", "where"),
    [
        ("'50' is not a size", ["store", "gc", "--max-size", "50"], {}, "--max-size"),
        ("'50' is not a size", ["store", "gc", "--max-size=50"], {}, "--max-size"),
        ("'many' is not a number", ["plan"], {"STACKBUILD_JOBS": "many"}, "STACKBUILD_JOBS"),
        ("--max-size cannot be '50'", ["--max-size", "50"], {}, ""),
        ("'50' is not a size", ["50"], {"OTHER": "50"}, ""),
    ],
)
def test_the_option_of_a_wrong_value_is_named(what: str, words: list[str], environ: dict[str, str], where: str) -> None:
    stop = UsageError(what, next="write another")
    complete(stop, words, environ)
    assert stop.where == where and stop.next.startswith("write another")


def test_a_place_that_is_known_stays() -> None:
    stop = UsageError("'50' is not a size", where="the file")
    complete(stop, ["--max-size", "50"], {})
    assert stop.where == "the file"


def test_a_file_that_is_not_there_is_answered_with_a_near_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("mine.yaml", "README.md", "source/kernel.cu", "dist/demo-1.0-py3-none-any.whl"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).touch()
    assert near_path("mine.yml") == "mine.yaml"
    assert near_path("REDME.md") == "README.md"
    assert near_path("sorce/kernel.cu") == "source/kernel.cu"
    assert near_path("README.md") == near_path("quite-another") == near_path("nowhere/at/all") == ""
    stop = UsageError("no recipe 'mine.yml': neither a bundled recipe nor a file", next="give another")
    complete(stop, ["plan", "-r", "mine.yml"], {})
    assert stop.next == "did you mean `mine.yaml`? give another" and stop.where == "-r"


def test_a_folder_is_answered_with_a_wheel_in_it_and_a_name_with_its_download(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("dist/simple").mkdir(parents=True)
    Path("dist/simple/demo-1.0-py3-none-any.whl").touch()
    of_folder = UsageError("there is no such wheel", where="dist", next="give the path of a .whl file")
    complete(of_folder, ["verify", "dist"], {})
    assert of_folder.next.endswith("such as `dist/simple/demo-1.0-py3-none-any.whl`")
    of_name = UsageError("No such file or directory", where="onnxruntime-rocm", next="name a wheel")
    complete(of_name, ["inspect", "onnxruntime-rocm"], {})
    assert "pip download --no-deps onnxruntime-rocm" in of_name.next


def test_a_glob_without_a_match_and_a_folder_of_the_environment_are_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wheels").mkdir()
    Path("wheels/demo-1.0-py3-none-any.whl").touch()
    Path("carry-away").mkdir()
    of_glob = UsageError("no such wheel", where="dist/*.whl", next="give the path of a .whl file")
    complete(of_glob, ["publish", "dist/*.whl"], {})
    assert "did you mean `wheels/demo-1.0-py3-none-any.whl`?" in of_glob.next
    mirror = f"{tmp_path}/carry_away"
    of_variable = UsageError("the mirror is not a folder", where=mirror, next="unset it")
    complete(of_variable, ["fetch"], {"STACKBUILD_STORE": "", "STACKBUILD_MIRROR": mirror})
    assert of_variable.next == f"did you mean `{tmp_path}/carry-away`? unset it"
