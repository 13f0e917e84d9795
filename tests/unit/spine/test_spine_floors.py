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

FLOORS = (
    ("values", ("errors", "digest", "model", "version", "data", "targets", "components", "gates", "recipe", "lock", "plan", "report",
                "events", "runner", "store.records", "pythontags")),
    ("decisions", ("yamlread", "load", "resolve", "matrix", "excerpt", "steps", "judge")),
    ("neighbours", ("store", "runners", "git", "actions", "jobserver", "stopper", "render", "publish", "runs", "fetch")),
    ("verbs", ("locking", "buildtree", "perform", "schedule", "build", "planning", "look", "explain", "dryrun", "release", "stages", "revisit")),
    ("faces", ("cli", "show", "__main__")),
)  # fmt: skip
"""From the ground up. Where a name is listed, so is what lies beneath it, unless that is listed itself."""
MAY_POINT_UP = {
    ("stackbuild.runner", "stackbuild.stopper"),  # the Protocol names the type it is handed
    ("stackbuild.load", "stackbuild.store"),
}
"""Edges that stand for a type in a signature; each is here by name so that no other creeps in."""
OWN_WORLD = ("stackbuild.verify.probes",)
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


def floor(module: str) -> int | None:
    """The number of the floor a module is on, None where nobody said."""
    name = module.removeprefix("stackbuild.")
    found = [(len(p), level) for level, (_, names) in enumerate(FLOORS) for p in names if name == p or name.startswith(f"{p}.")]
    return max(found)[1] if found else None


def test_there_are_no_cycles() -> None:
    try:
        TopologicalSorter({module: own(module) for module in imports()}).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(reversed(error.args[1])), pytrace=False)


def test_imports_only_point_down() -> None:
    up = [
        f"{module} ({FLOORS[here][0]}) imports {other} ({FLOORS[there][0]})"
        for module in imports()
        for other in sorted(own(module))
        if (here := floor(module)) is not None and (there := floor(other)) is not None and there > here
        and not any(module == a and (other == b or other.startswith(f"{b}.")) for a, b in MAY_POINT_UP)
    ]  # fmt: skip
    assert not up, "\n".join(up)


def test_nothing_imports_the_faces_but_faces() -> None:
    faces = ("stackbuild.cli", "stackbuild.show", "stackbuild.__main__")
    wrong = [f"{m} imports {o}" for m in imports() if not m.startswith(faces) for o in own(m) if o.startswith(faces)]
    assert not wrong, "\n".join(wrong)


def test_the_table_of_floors_names_what_exists() -> None:
    known = {m.removeprefix("stackbuild.") for m in imports()}
    assert not {n for _, names in FLOORS for n in names if n not in known and not any(k.startswith(f"{n}.") for k in known)}


def test_each_library_has_one_module() -> None:
    users: dict[str, set[str]] = {}
    for module, names in imports().items():
        for top in {name.split(".")[0] for name in names} - STANDARD - {"stackbuild"}:
            users.setdefault(top, set()).add(module)
    assert len(users) > 5
    many = {top: sorted(modules) for top, modules in users.items() if len(modules) > 1 and top not in MANY_USERS}
    assert not many
    arrays = {m for top in MANY_USERS for m in users.get(top, ())}
    assert not {m for m in arrays if not m.startswith(("stackbuild.bench", "stackbuild.measures", "stackbuild.verify"))}


def test_decisions_open_no_process_and_no_socket() -> None:
    doors = {"subprocess", "socket", "urllib.request", "http.client", "shutil", "tempfile"}
    wrong = {m: sorted(imports()[m] & doors) for m in imports() if (level := floor(m)) is not None and level < 2 and imports()[m] & doors}
    assert not wrong


def test_a_module_named_utils_is_no_module() -> None:
    assert not [m for m in imports() if m.split(".")[-1] in ("utils", "util", "helpers", "common", "misc")]
