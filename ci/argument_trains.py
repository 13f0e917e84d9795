"""Finds argument trains: four or more names that two or more calls in a row hand on unchanged.

A function with parameters a, b, c and d calls a second one with all four, and that one hands them to a third: the four
are one value without a name. `python ci/argument_trains.py` prints every train of `stackbuild` and exits 1 if there is
one; `tests/unit/test_argument_trains.py` calls the same function.

Functions are matched by name alone, and a name counts as handed on wherever the call passes it as it is.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "stackbuild"
LENGTH = 4
"""From so many names on they are a train."""


@dataclass(frozen=True)
class Function:
    """One function of the tree: its file, its parameters (without `self`), and the calls in its body."""

    file: Path
    name: str
    parameters: tuple[str, ...]
    calls: tuple[ast.Call, ...]

    def __str__(self) -> str:
        return f"{self.file.relative_to(PACKAGE.parent)}: {self.name}"


def functions(folder: Path = PACKAGE) -> Iterator[Function]:
    """Every function and method below a folder, without those of the probes: scripts of an environment of their own."""
    for file in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))) if "probes" not in file.parts else ():
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
                names = tuple(a.arg for a in arguments if a.arg not in ("self", "cls"))
                yield Function(file, node.name, names, tuple(c for c in ast.walk(node) if isinstance(c, ast.Call)))


def trains(folder: Path = PACKAGE) -> Iterator[str]:
    """Each train as `FILE: FIRST → FILE: SECOND → FILE: THIRD hand on NAMES`, the names as the first has them."""
    by_name: dict[str, list[Function]] = {}
    for function in functions(folder):
        by_name.setdefault(function.name, []).append(function)
    for first in (function for same in by_name.values() for function in same):
        for second, names in _handed(first, {name: name for name in first.parameters}, by_name):
            for third, names_of_third in _handed(second, names, by_name):
                yield f"{first} → {second} → {third} hand on {', '.join(sorted(names_of_third.values()))}"


def _handed(
    function: Function, names: dict[str, str], by_name: dict[str, list[Function]]
) -> Iterator[tuple[Function, dict[str, str]]]:
    """The functions that one calls with at least four of these of its names, each name as the other calls it."""
    for call in function.calls:
        called = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
        for other in by_name.get(called, ()):
            pairs = [*zip(other.parameters, call.args, strict=False), *((k.arg or "", k.value) for k in call.keywords)]
            same = {
                parameter: names[value.id]
                for parameter, value in pairs
                if isinstance(value, ast.Name) and value.id in names and parameter in other.parameters
            }
            if other != function and len(same) >= LENGTH:
                yield other, same


if __name__ == "__main__":
    lines = sorted(set(trains()))
    print("\n".join(lines) or "no argument trains")
    sys.exit(bool(lines))
