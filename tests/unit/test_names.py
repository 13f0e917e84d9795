"""What functions, variables and types are called: nouns, and one meaning each."""

from __future__ import annotations

from pathlib import Path

import names
import pytest
from layout import STACKBUILD


def test_the_covered_packages_keep_the_rules() -> None:
    assert len(names.COVERED) > 20
    assert not list(names.violations(STACKBUILD.modules, names.COVERED))


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
        ("class Loaded:\n    pass", "Loaded"),
        ("Found = tuple[int, str]", "Found"),
        ("Json = bool", "Json"),
    ],
)
def test_a_seeded_name_of_each_kind_is_found(text: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(text)
    modules = {"stackbuild.core.digest": STACKBUILD.modules["stackbuild.core.digest"], "stackbuild.store.module": path}
    (line,) = names.violations(modules, names.COVERED)
    assert line.startswith(f"{path}:") and f"`{name}`" in line
    assert not list(names.violations(modules, frozenset(("hipify",))))


def test_fields_errors_and_events_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text("class Finding:\n    found: str\nclass StepFailed(Exception):\n    pass\nMiB = 1 << 20\n")
    assert not list(names.violations({"stackbuild.store.module": path}, names.COVERED))
