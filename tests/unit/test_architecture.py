"""The architecture: every module has a level, imports point down, each third-party library has one module.

The table and the check are in ci/layout.py. Everything is read from the source; nothing is run.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from pathlib import Path

import layout
import pytest
from layout import HIPIFY, INSPECTION, KERNEL_TOOLS, STACKBUILD, TREES, Layer, Tree, violations
from trace_packages import trace

from stackbuild.core import yaml
from stackbuild.recipe.load import bundled
from support.paths import ROOT

MANY_USERS = frozenset(("numpy", "onnx", "onnxruntime"))
"""Extras that several modules import: what is benchmarked and verified, and its arrays. No build imports them."""
LAYERS = {"alone": Layer(1, ""), "low": Layer(1, ""), "pure": Layer(2, "", pure=True), "high": Layer(3, ""), "beside": Layer(3, "")}


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: tree.name or tree.folder.name)
def test_every_module_has_a_level_and_imports_lower_ones_alone(tree: Tree) -> None:
    assert len(tree.modules) > 5
    found = list(violations(tree))
    assert not found, "\n".join(found)


def test_the_trees_hold_every_module_of_stackbuild_and_of_the_kernels() -> None:
    held = {path for tree in TREES for path in tree.modules.values()}
    assert {*(ROOT / "stackbuild").rglob("*.py"), *(ROOT / "kernels").rglob("*.py")} == held
    assert all(tree in TREES for tree in (STACKBUILD, HIPIFY, INSPECTION, KERNEL_TOOLS))


def test_three_modules_lie_beside_the_packages() -> None:
    loose = {path.name for path in (ROOT / "stackbuild").glob("*.py")}
    assert loose == {"__init__.py", "__main__.py", "version.py"}


def seeded(folder: Path, **files: str) -> list[str]:
    """The violations of a small tree with these files; `__` in a name stands for a folder."""
    for name in LAYERS:
        (folder / name).mkdir()
        (folder / name / "__init__.py").touch()
        (folder / name / "module.py").touch()
    (folder / "__init__.py").touch()
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return list(violations(Tree(folder, "t", LAYERS, separate=frozenset(("alone",)))))


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({}, []),
        ({"high__module": "import t.low.module\nfrom t.pure import module"}, []),
        ({"low__module": "import t.high.module"}, ["t.low.module (level 1) imports t.high.module (level 3)"]),
        (
            {"low__module": "def f():\n    from t.high import module"},
            ["t.low.module (level 1) imports t.high.module (level 3)"],
        ),
        ({"low__module": "from ..high import module"}, ["t.low.module (level 1) imports t.high.module (level 3)"]),
        ({"low__module": "from t.high.module import name"}, ["t.low.module (level 1) imports t.high.module (level 3)"]),
        ({"high__module": "from t.beside import module"}, ["t.high.module (level 3) imports t.beside.module (level 3)"]),
        ({"high__module": "import t"}, ["t.high.module (level 3) imports t (level 4)"]),
        (
            {"high__module": "from t import function\nfrom t.low import module"},
            ["t.high.module (level 3) imports t (level 4)"],
        ),
        (
            {"low__module": "from importlib import import_module\nimport_module('t.high.module')"},
            ["t.low.module (level 1) imports t.high.module (level 3)"],
        ),
        ({"low__module": "__import__('t.high')"}, ["t.low.module (level 1) imports t.high (level 3)"]),
        (
            {"low__module": "if not TYPE_CHECKING:\n    import t.high.module"},
            ["t.low.module (level 1) imports t.high.module (level 3)"],
        ),
        ({"alone__module": "import t.low.module"}, ["t.alone.module runs in an environment of its own and imports t.low.module"]),
        ({"low__module": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from t.high import module"}, []),
        ({"low__module": "if TYPE_CHECKING:\n    pass\nelse:\n    from t.high import module"},
         ["t.low.module (level 1) imports t.high.module (level 3)"]),
        ({"new__module": ""}, ["t.new has no level"]),
        ({"loose": ""}, ["t.loose has no level"]),
        ({"pure__module": "import subprocess"}, ["t.pure.module is in a pure package and imports subprocess"]),
        (
            {"low__a": "from t.low import b", "low__b": "from t.low import a"},
            ["cycle: t.low.b → t.low.a → t.low.b", "cycle: t.low.a → t.low.b → t.low.a"],
        ),
    ],
)  # fmt: skip
def test_a_seeded_violation_of_each_kind_is_found(files: dict[str, str], found: list[str], tmp_path: Path) -> None:
    seen = seeded(tmp_path, **files)
    if any("cycle" in line for line in found):
        assert len(seen) == 1 and seen[0] in found
    else:
        assert seen == found


def test_a_package_that_is_gone_keeps_no_level(tmp_path: Path) -> None:
    (tmp_path / "low").mkdir()
    (tmp_path / "low" / "__init__.py").touch()
    tree = Tree(tmp_path, "t", {"low": Layer(1, ""), "gone": Layer(2, "")})
    assert list(violations(tree)) == ["t.gone has a level and does not exist"]


def test_each_library_has_one_module() -> None:
    users: dict[str, set[str]] = {}
    for module in (m for m in STACKBUILD.modules if not STACKBUILD.is_separate(m)):
        tops = {source.split(".")[0] for source, _ in STACKBUILD.imports[module]}
        for top in tops - sys.stdlib_module_names - {"stackbuild", "tools"}:  # `tools`: the bundled kernels' own
            users.setdefault(top, set()).add(module)
    assert len(users) > 5
    many = {top: sorted(modules) for top, modules in users.items() if len(modules) > 1 and top not in MANY_USERS}
    assert not many
    arrays = {module for top in MANY_USERS for module in users.get(top, ())}
    assert not {m for m in arrays if not m.startswith(("stackbuild.bench", "stackbuild.verification"))}


def test_reading_a_recipe_imports_no_planning() -> None:
    """Everything that `stackbuild.recipe.load` reaches, however far."""
    reached, todo = set[str](), ["stackbuild.recipe.load"]
    while todo:
        if (module := todo.pop()) not in reached:
            reached.add(module)
            todo += STACKBUILD.own(module)
    packages = {STACKBUILD.part(module) for module in reached}
    assert packages <= {"core", "tables", "store", "model", "recipe"}, packages


def test_one_module_reads_the_mirror_from_the_environment() -> None:
    readers = [m for m, path in STACKBUILD.modules.items() if "STACKBUILD_MIRROR\"" in path.read_text("utf-8")]
    assert readers == ["stackbuild.sources.mirror"]
    assert not [name for name in STACKBUILD.imports["stackbuild.sources.mirror"] if name[0] == "os"]


def test_a_module_named_utils_is_no_module() -> None:
    assert not [m for m in STACKBUILD.modules if m.split(".")[-1] in ("utils", "util", "helpers", "common", "misc")]


def test_no_class_name_has_two_meanings() -> None:
    homes: dict[str, list[str]] = {}
    for module, path in STACKBUILD.modules.items():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(module)
    assert len(homes) > 100
    assert not {name: modules for name, modules in homes.items() if len(modules) > 1}


def test_modules_are_imported_by_their_own_names() -> None:
    """`from stackbuild.core import yaml as yamlread` would be a second name of one thing."""
    wrong = []
    for module, path in STACKBUILD.modules.items():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("stackbuild"):
                wrong += [f"{module}: {a.name} as {a.asname}" for a in node.names if a.asname]
    assert not wrong


def test_the_tables_in_the_docs_are_those_of_the_code() -> None:
    assert layout.table() in (ROOT / "docs/design.md").read_text("utf-8")
    assert layout.order() in (ROOT / "CONTRIBUTING.md").read_text("utf-8")


def test_the_packages_that_commands_enter_are_those_in_the_docs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [])
    text = (ROOT / "docs/design.md").read_text("utf-8")
    rows = re.findall(r"^\| `((?:plan|build) -r [^`]*)` \| (\d+): (.*) \|$", text, re.MULTILINE)
    assert [words for words, _, _ in rows] == ["plan -r debian-13", "build -r debian-13 --dry-run"]
    for words, count, names in rows:
        told = set(re.findall(r"`(\w+)`", names))
        assert trace(words.split()).below == told and len(told) == int(count)


def test_the_text_of_a_recipe_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [])
    whole, parsed = yaml.compose, Counter[str]()

    def counted(text: str, name: str) -> tuple[yaml.Json, yaml.Places]:
        parsed[name] += 1
        return whole(text, name)

    monkeypatch.setattr(yaml, "compose", counted)
    trace(["plan", "-r", "debian-13"])
    assert parsed[str(bundled()["debian-13"])] == 1


def test_a_command_that_fails_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [])
    with pytest.raises(SystemExit) as stopped:
        trace(["plan", "-r", "no-such-recipe"])
    assert stopped.value.code == 2
