"""What functions, variables and types are called: nouns, and one meaning each."""

from __future__ import annotations

from pathlib import Path

import names
import pytest
from layout import ROOTS, STACKBUILD, Tree


@pytest.mark.parametrize("tree", ROOTS, ids=lambda tree: tree.folder.name)
def test_every_module_keeps_the_rules(tree: Tree) -> None:
    assert len(tree.modules) > 40
    assert not list(names.violations(tree.modules))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("def rows():\n    found = []\n    return found", "found"),
        ("def rows(made):\n    return 1", "made"),
        ("def _told():\n    return 1", "_told"),
        ("rows = [said for said in ()]", "said"),
        ("if asked := 1:\n    pass", "asked"),
        ("for taken in ():\n    pass", "taken"),
        ("try:\n    pass\nexcept ValueError as found:\n    pass", "found"),
        ("FOUND = 1", "FOUND"),
        ("def merged():\n    return 1", "merged"),
        ("def _merged():\n    return 1", "_merged"),
        ("def rows():\n    def sorted_():\n        pass\n    def opened():\n        pass", "opened"),
        ("class Row:\n    def _renewed(self):\n        pass", "_renewed"),
        ("class Row:\n    @property\n    def closed(self) -> int:\n        return 1", "closed"),
        ("class Row:\n    def closed(self) -> bool:\n        return True", "closed"),
        ("async def _connected():\n    pass", "_connected"),
        ("class Loaded:\n    pass", "Loaded"),
        ("Found = tuple[int, str]", "Found"),
        ("Json = bool", "Json"),
        ("class UsageError(Exception):\n    pass", "UsageError"),
    ],
)
def test_a_seeded_name_of_each_kind_is_found(text: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(text)
    modules = {name: STACKBUILD.modules[name] for name in ("stackbuild.core.digest", "stackbuild.core.errors")}
    (line,) = names.violations(modules | {"stackbuild.store.module": path})
    assert line.startswith(f"{path}:") and f"`{name}`" in line


def test_fields_errors_events_and_properties_of_type_bool_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    closed = "    @property\n    def closed(self) -> bool:\n        return True\n"
    path.write_text(f"class Finding:\n    found: str\n{closed}class StepFailed(Exception):\n    pass\nMiB = 1 << 20\ndef feed():\n    pass\n")
    assert not list(names.violations({"stackbuild.store.module": path}))
