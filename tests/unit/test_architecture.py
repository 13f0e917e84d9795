"""The floors: imports only point down, no cycles, each third-party library in one module. Read from the source, run by nothing."""

from __future__ import annotations

import ast
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import stackbuild

PACKAGE = Path(stackbuild.__file__).parent
STANDARD = frozenset(sys.stdlib_module_names)

OWN_WORLD = ("stackbuild.verification.probes",)
"""Scripts that run by themselves in a clean environment, beside one another."""
MANY_USERS = frozenset(("numpy", "onnx", "onnxruntime"))
"""What is benchmarked and verified, and the arrays that are the data: extras, never imported by a build."""


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imports() -> dict[str, frozenset[str]]:
    """Module to what it imports, as full names; imports for type checking alone do not count."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if not name_of(path).startswith(OWN_WORLD):
            found[name_of(path)] = frozenset(_imported(ast.parse(path.read_text("utf-8"))))
    return found


def _imported(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        names |= _imported(node)
    return names


def own(module: str) -> set[str]:
    """The modules of stackbuild that one imports; a package's `__init__` only where nothing of it was named."""
    known = imports().keys()
    found = {name for name in imports()[module] if name in known and name != module}
    return {n for n in found if not any(o.startswith(f"{n}.") for o in found)} - {module.rpartition(".")[0]}


def test_there_are_no_cycles() -> None:
    try:
        TopologicalSorter({module: own(module) for module in imports()}).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(reversed(error.args[1])), pytrace=False)


def test_nothing_imports_the_faces_but_faces() -> None:
    faces = ("stackbuild.cli", "stackbuild.views", "stackbuild.__main__")
    wrong = [f"{m} imports {o}" for m in imports() if not m.startswith(faces) for o in own(m) if o.startswith(faces)]
    assert not wrong, "\n".join(wrong)


def test_each_library_has_one_module() -> None:
    users: dict[str, set[str]] = {}
    for module, names in imports().items():
        for top in {name.split(".")[0] for name in names} - STANDARD - {"stackbuild"}:
            users.setdefault(top, set()).add(module)
    assert len(users) > 5
    many = {top: sorted(modules) for top, modules in users.items() if len(modules) > 1 and top not in MANY_USERS}
    assert not many
    arrays = {m for top in MANY_USERS for m in users.get(top, ())}
    assert not {m for m in arrays if not m.startswith(("stackbuild.bench", "stackbuild.verification"))}


def test_a_module_named_utils_is_no_module() -> None:
    assert not [m for m in imports() if m.split(".")[-1] in ("utils", "util", "helpers", "common", "misc")]
