"""Every field of a recipe × what people write in its place: no edit ends in a traceback, and no slip is accepted in silence.

The whole is 7,357 recipes and two minutes of CPU: a run takes every fortieth. `NTH = 1` takes all, and found nothing on
2026-11-24.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.checks.recipe import CheckInput, check_recipe
from stackbuild.core.errors import RecipeError
from stackbuild.model.findings import Severity
from stackbuild.recipe.load import load
from stackbuild.recipe.references import mistakes_of, with_places
from stackbuild.tables.compatibility import table
from support.paths import TESTS
from support.recipe_edits import RecipeEdit, edits_of

FOLDER = TESTS / "seeded-recipes" / "edits"
NTH, SEED = 40, 20261124
ALWAYS = ("no value", "null", "empty mapping", "mapping", "repeated", "quotes", "comma", "one item", "key in capitals")
"""Kinds of edits that no field may accept in silence, but for `FREE`."""
NAMES = (("sources",), ("components",), ("matrix", "variants"), ("matrix", "variants", "debug"), ("verify", "wheels"))
"""Mappings whose keys the recipe's author chooses."""
FREE = ("run", "env", "options", "variants", "summary", "reason", "by")
"""Keys whose texts reach a command or a reader as they are."""
MAY_BE_EMPTY = ("options", "env", "variants", "debug", "onnxruntime", "self_check", "matrix", "publish", "verify", "wheels", "pin", "hipify",
                "extend", "kernels-ep-wheel", "sources")  # fmt: skip
"""Mappings of which every key has a default."""


def reported(edit: RecipeEdit, folder: Path) -> list[tuple[int, str, str]]:
    """Line, cause and next step of each mistake, or of each finding that is more than a note."""
    path = folder / "recipe.yaml"
    path.write_text(edit.text)
    try:
        loaded = load(str(path))
        if mistakes := tuple(mistakes_of(loaded)):
            raise RecipeError(mistakes)
    except RecipeError as error:
        return [(int(m.place.rsplit(":", 2)[1]), m.what, m.next) for m in error.mistakes]
    findings = with_places(check_recipe(CheckInput(loaded.recipe, None, loaded.text, str(path), table())), loaded)
    own = [
        f for f in findings if f.severity is not Severity.NOTE and f.rule not in ("SB-STACK-LOCK", "SB-STACK-UNLOCKED")
    ]
    return [(f.place.line if f.place else 0, f.found, f.fix) for f in own]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with what the recipes name."""
    for file in ("tool/Makefile", "saxpy/CMakeLists.txt", "saxpy/saxpy.cu", "patches/onnxruntime/1.22.1/0001-a.patch"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    return tmp_path


def is_free(edit: RecipeEdit) -> bool:
    """Whether the field takes what that edit writes."""
    if "key" in edit.kind:
        return edit.path[:-1] in NAMES or bool({*FREE} & {*edit.path[:-1]})
    is_text = edit.kind in ("quotes", "comma", "repeated", "mapping")
    return (bool({*FREE} & {*edit.path}) and is_text) or (
        edit.kind == "empty mapping" and edit.path[-1] in MAY_BE_EMPTY
    )


@pytest.mark.parametrize("name", ["image", "debian"])
def test_the_recipe_that_is_edited_is_right(name: str, folder: Path) -> None:
    assert reported(RecipeEdit("none", (), (FOLDER / f"{name}.yaml").read_text(), 1), folder) == []


@pytest.mark.parametrize("name", ["image", "debian"])
def test_no_edit_is_accepted_in_silence_or_without_a_next_step(name: str, folder: Path) -> None:
    silent, poor, count = [], [], 0
    for edit in edits_of((FOLDER / f"{name}.yaml").read_text(), SEED, NTH):
        rows = reported(edit, folder)
        count += 1
        if edit.kind in ALWAYS and not is_free(edit) and not rows:
            silent.append((edit.kind, edit.path))
        poor += [
            (edit.kind, edit.path, row) for row in rows if not row[2] or row[2] == "the reference is docs/recipes.md"
        ]
        assert all(0 < line <= edit.text.count("\n") + 1 for line, _, _ in rows), (edit.kind, edit.path, rows)
    assert count > 70
    assert not silent, silent
    assert not poor, poor
