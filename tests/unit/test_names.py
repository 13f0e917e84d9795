"""What functions, variables and types are called: nouns, and one meaning each."""

from __future__ import annotations

from pathlib import Path

import names
import pytest
from layout import ROOTS, STACKBUILD


def test_every_module_keeps_the_rules() -> None:
    assert all(len(tree.modules) > 40 for tree in ROOTS)
    assert not list(names.violations(names.modules()))


def test_no_type_has_two_meanings() -> None:
    paths = [*names.modules(), *names.SUPPORT.rglob("*.py")]
    assert len(paths) > len(names.modules()) + 40
    assert not list(names.clashes(paths))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("def rows():\n    found = []\n    return found", "found"),
        ("def rows(made):\n    return 1", "made"),
        ("def _told():\n    return 1", "_told"),
        ("def rows(known):\n    return 1", "known"),
        ("class Row:\n    wanted: str", "wanted"),
        ("class Row:\n    def __init__(self):\n        self._done = 1", "_done"),
        ("rows = [said for said in ()]", "said"),
        ("if asked := 1:\n    pass", "asked"),
        ("for taken in ():\n    pass", "taken"),
        ("try:\n    pass\nexcept ValueError as found:\n    pass", "found"),
        ("from os import path as found", "found"),
        ("import os.path as made", "made"),
        ("FOUND = 1", "FOUND"),
        ("def merged():\n    return 1", "merged"),
        ("def _merged():\n    return 1", "_merged"),
        ("def rows():\n    def rows_():\n        pass\n    def opened():\n        pass", "opened"),
        ("class Row:\n    def _renewed(self):\n        pass", "_renewed"),
        ("class Row:\n    @property\n    def closed(self) -> int:\n        return 1", "closed"),
        ("class Row:\n    def closed(self) -> bool:\n        return True", "closed"),
        ("async def _connected():\n    pass", "_connected"),
        ("class Loaded:\n    pass", "Loaded"),
        ("Found = tuple[int, str]", "Found"),
        ("def rows(loaded):\n    return 1", "loaded"),
        ("built = schedule()", "built"),
        ("_NEEDED = re.compile('NEEDED')", "_NEEDED"),
        ("left = tree()", "left"),
        ("def rows(used):\n    return 1", "used"),
        ("tied = ()", "tied"),
        ("class Row:\n    freed: int", "freed"),
        ("for thrown in ():\n    pass", "thrown"),
        ("struck = [died for died_rows in ()]", "struck"),
        ("try:\n    pass\nexcept ValueError as died:\n    pass", "died"),
        ("unused = rows()", "unused"),
        ("def agreed():\n    return 1", "agreed"),
        ("def owed_of(rows):\n    return 1", "owed_of"),
        ("class Owed:\n    pass", "Owed"),
        ("class Row:\n    left: int\ndef rows(right):\n    pass", "left"),
        ("def rows(changed: str = ''):\n    pass", "changed"),
        ("changed = closed or rows", "changed"),
        ("def rows(passed_names: set[int]):\n    return 1", "passed_names"),
        ("lock_path: int = 1", "lock_path"),
        ("class Row:\n    missed_rungs: list[float]", "missed_rungs"),
        ("class Row:\n    def __init__(self):\n        self.payload_sha256: Path = Path()", "payload_sha256"),
    ],
)
def test_a_seeded_name_of_each_kind_is_found(text: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(text)
    (line,) = names.violations([path])
    assert line.startswith(f"{path}:") and f"`{name}`" in line


@pytest.mark.parametrize("place", ["loaded.py", "_made.py", "installed/__init__.py"])
def test_a_module_that_is_called_by_a_participle_is_found(place: str, tmp_path: Path) -> None:
    path = tmp_path / place
    path.parent.mkdir(exist_ok=True)
    path.write_text("")
    (line,) = names.violations([path])
    assert line.startswith(f"{path}: the module")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Json = bool", "Json"),
        ("class UsageError(Exception):\n    pass", "UsageError"),
        ("class _UsageError(Exception):\n    pass", "_UsageError"),
        ("def rows():\n    class Stop:\n        pass", "Stop"),
    ],
)
def test_a_seeded_second_meaning_of_a_type_is_found(text: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(text)
    one, other = (STACKBUILD.modules[f"stackbuild.core.{module}"] for module in ("digest", "errors"))
    (line,) = names.clashes([one, other, path])
    assert f"`{name}` has another meaning at" in line and str(path) in line


def test_an_alias_may_be_written_twice(tmp_path: Path) -> None:
    for module in ("one", "two"):
        (tmp_path / f"{module}.py").write_text("Span = tuple[int, int]")
    assert not list(names.clashes(tmp_path.glob("*.py")))


def test_fields_of_models_errors_events_and_properties_of_type_bool_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    closed = "    @property\n    def closed(self) -> bool:\n        return True\n"
    path.write_text(f"class Finding(Model):\n    found: str\n{closed}class StepFailed(Exception):\n    pass\nMiB = 1 << 20\ndef feed():\n    pass\n")
    assert not list(names.violations([path]))


@pytest.mark.parametrize(
    "text",
    [
        "def rows(changed: bool):\n    return changed",
        "def rows(unsigned: UnsignedOption = False):\n    return unsigned",
        "def rows(*, unsigned: UnsignedOption = False):\n    return unsigned",
        "changed = 1 < 2",
        "changed = not rows",
        "changed = any(rows)",
        "changed = path.is_file() and path.exists()",
        "changed, kept_rows = True, 1",
        "def rows(closed: bool):\n    changed = closed if rows else False",
        "left, right = 1, 2",
        "class Row:\n    left: int\n    right: int",
        "class Row:\n    changed: bool = True",
        "need = feed = seed = red = bed = shed = embed = proceed = succeed = bleed = breed = indeed = hundred = sacred = rows",
        "def exceed():\n    reseed = _VERNEED = thread",
        "def rows(loaded_recipe):\n    unread_rows = present = bound = speed = embargo = loaded_recipe",
    ],
)
def test_truth_values_operands_and_nouns_are_left_alone(text: str, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(text)
    assert not list(names.violations([path]))


def test_fields_of_documents_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "findings.py"
    path.write_text("class Finding:\n    found: str")
    assert len(list(names.violations([path]))) == 1
    monkeypatch.setattr(names, "DOCUMENTS", {tmp_path})
    assert not list(names.violations([path]))
