"""`recipe new`: a recipe for each ROCm of the table."""

from pathlib import Path

import pytest

from stackbuild.__main__ import main
from stackbuild.checks.new_recipe import new_recipe
from stackbuild.checks.recipe import CheckInput, check_recipe
from stackbuild.core.errors import UsageError
from stackbuild.model.findings import Severity
from stackbuild.model.lock import Lock
from stackbuild.model.recipe import Recipe
from stackbuild.recipe.load import parse
from stackbuild.tables.compatibility import table

NOTHING = Lock(schema=1, asked="0" * 64)


@pytest.mark.parametrize(
    "rocm", ["6.0", "6.1", "6.2", "6.3", "6.4", "7.0", "7.1", "7.2", *(r.rocm for r in table().migraphx[:-1])]
)
def test_a_new_recipe_is_right_for_every_rocm_of_the_table(rocm: str) -> None:
    text = new_recipe(rocm)
    recipe: Recipe = parse(text, "new.yaml")
    found = check_recipe(CheckInput(recipe, NOTHING, text, "new.yaml", table()))
    assert not [f for f in found if f.severity is Severity.ERROR or f.rule in ("SB-STACK-ROCMLIR", "SB-STACK-MIGRAPHX")]


@pytest.mark.parametrize(
    ("rocm", "image", "python", "numpy"),
    [
        ("6.0", "rocm/dev-ubuntu-22.04:6.0.2-complete", "3.10", "numpy==1.26.4"),
        ("6.1.0", "rocm/dev-ubuntu-22.04:6.1.0-complete", "3.10", "numpy==1.26.4"),
        ("6.3.1", "rocm/dev-ubuntu-24.04:6.3.1-complete", "3.12", "numpy==2.2.6"),
        ("7.0.0", "rocm/dev-ubuntu-24.04:7.0.0-complete", "3.12", "numpy==2.2.6"),
        ("7.14", "rocm/dev-ubuntu-24.04:7.14.0-full", "3.12", "numpy==2.2.6"),
    ],
)
def test_a_new_recipe_has_an_image_that_there_can_be(rocm: str, image: str, python: str, numpy: str) -> None:
    """Ubuntu 24.04 is younger than ROCm 6.0 and 6.1, NumPy 2 than the ONNX Runtime of those."""
    recipe = parse(new_recipe(rocm), "new.yaml")
    assert (recipe.base.image, recipe.python) == (image, (python,))
    assert recipe.base.extend is not None and numpy in recipe.base.extend.pip
    (wheel,) = recipe.wheels.values()
    assert wheel.distribution == "onnxruntime-migraphx"  # the MIGraphX EP alone; onnxruntime-rocm has the ROCm EP too


@pytest.mark.parametrize(("rocm", "why"), [("10.0", "plugins"), ("10.1", "plugins"), ("10.2", "plugins")])
def test_a_rocm_that_the_table_has_is_not_called_unknown(rocm: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        new_recipe(rocm)


def test_an_unknown_rocm_is_named_with_what_is_known() -> None:
    with pytest.raises(UsageError, match="nothing is known") as stopped:
        new_recipe("8.1")
    assert "7.2" in stopped.value.next


def test_the_command_says_what_it_wrote_and_what_comes_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["stackbuild", "recipe", "new", "--rocm", "7.1", "-o", "my own.yaml"])
    with pytest.raises(SystemExit) as left:
        main()
    assert not left.value.code and (tmp_path / "my own.yaml").is_file()
    assert "wrote my own.yaml; then `stackbuild lock --recipe 'my own.yaml'`" in capsys.readouterr().err
