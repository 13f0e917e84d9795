"""Finds argument trains: four or more values that two or more calls in a row hand on unchanged.

A function calls a second one with a, b, c and d, its own parameters, variables or attributes of them, and the second
one hands all four to a third: the four are one value without a name. `python ci/argument_trains.py` prints every train
of `stackbuild`, `kernels` and `ci` and exits 1 if there is one; `tests/unit/test_argument_trains.py` calls the same function.

Methods are matched by name alone, functions by the module that they are imported from. A value counts as handed on
wherever the call passes it as it is. Where a call chooses its function, `(f if x else g)(a, b)`, both are called.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from layout import REPOSITORY, ROOTS, Tree

LENGTH = 4
"""From so many names on they are a train."""


@dataclass(frozen=True)
class SourceFunction:
    """One function of the tree: its file, its parameters (without `self`), and the calls in its body."""

    file: Path
    name: str
    parameters: tuple[str, ...]
    calls: tuple[ast.Call, ...]

    def __str__(self) -> str:
        file = self.file.relative_to(REPOSITORY) if self.file.is_relative_to(REPOSITORY) else self.file
        return f"{file}: {self.name}"


@dataclass(frozen=True)
class Functions:
    """The functions of a tree by name, and by file the names that it imports from modules of the tree."""

    by_name: dict[str, list[SourceFunction]]
    imports: dict[Path, dict[str, Path]]

    def callees(self, caller: SourceFunction, call: ast.expr) -> Iterator[SourceFunction]:
        """Those that an expression in the caller may stand for, but for the caller itself.

        A name is a function of its file, or of the module that it is imported from; an attribute one of any file.
        """
        if isinstance(call, ast.IfExp):
            yield from self.callees(caller, call.body)
            yield from self.callees(caller, call.orelse)
            return
        file: Path | None = None
        name = getattr(call, "attr", "")
        if isinstance(call, ast.Name):
            name, file = call.id, self.imports[caller.file].get(call.id, caller.file)
        elif isinstance(call, ast.Attribute) and isinstance(call.value, ast.Name):
            file = self.imports[caller.file].get(call.value.id)
        yield from (f for f in self.by_name.get(name, ()) if f != caller and file in (None, f.file))


def imported_files(file: Path, tree: Tree) -> dict[str, Path]:
    """Each name that a file imports from a module of the tree, or as one, with that module's file."""
    files = {}
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                places = (f"{node.module}.{alias.name}", node.module)
                files[alias.name] = next((tree.modules[place] for place in places if place in tree.modules), Path())
    return files


def functions(tree: Tree) -> Iterator[SourceFunction]:
    """Every function and method of a tree, without those of the probes: scripts of an environment of their own."""
    for file in tree.modules.values():
        for node in ast.walk(ast.parse(file.read_text("utf-8"))) if "probes" not in file.parts else ():
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
                names = tuple(a.arg for a in arguments if a.arg not in ("self", "cls"))
                yield SourceFunction(file, node.name, names, tuple(c for c in ast.walk(node) if isinstance(c, ast.Call)))


def trains(root: Tree) -> Iterator[str]:
    """Each train as `FILE: FIRST → FILE: SECOND → FILE: THIRD hand on VALUES`, the values as the first has them."""
    tree = Functions({}, {file: imported_files(file, root) for file in root.modules.values()})
    for function in functions(root):
        tree.by_name.setdefault(function.name, []).append(function)
    for first in (function for same in tree.by_name.values() for function in same):
        for second, values in _calls_with(first, None, tree):
            for third, values_of_third in _calls_with(second, values, tree):
                yield f"{first} → {second} → {third} hand on {', '.join(sorted(values_of_third.values()))}"


def _calls_with(
    function: SourceFunction, values: dict[str, str] | None, tree: Functions
) -> Iterator[tuple[SourceFunction, dict[str, str]]]:
    """The functions that one calls with at least four of the known values, by name, or with any four where None.

    With each the values, by the name of the parameter that takes them.
    """
    for call in function.calls:
        for other in tree.callees(function, call.func):
            pairs = [*zip(other.parameters, call.args, strict=False), *((k.arg or "", k.value) for k in call.keywords)]
            texts = {parameter: _variable(value) for parameter, value in pairs if parameter in other.parameters}
            plain = {parameter: text for parameter, text in texts.items() if text and (values is None or text in values)}
            same = plain if values is None else {parameter: values[text] for parameter, text in plain.items()}
            if len(set(same.values())) >= LENGTH:
                yield other, same


def _variable(node: ast.expr) -> str:
    """The text of a name or of attributes of one, "" for every other expression."""
    inner = node
    while isinstance(inner, ast.Attribute):
        inner = inner.value
    return ast.unparse(node) if isinstance(inner, ast.Name) else ""


if __name__ == "__main__":
    lines = sorted({train for root in ROOTS for train in trains(root)})
    print("\n".join(lines) or "no argument trains")
    sys.exit(bool(lines))
