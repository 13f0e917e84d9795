"""Names: what a class, an alias, a function or a variable of this repository's Python is called.

A name is the noun of its value. A word such as `found` says how a value came about and not what it is, so no function,
parameter, variable, constant or field of `stackbuild`, `kernels` and `ci` is called so. The fields of models, and of
classes in `stackbuild.model`, are left out: they are keys of JSON and YAML documents. No class and no alias is called so either. None has two meanings in the three trees and tests/support,
and an underscore before a name makes no other one.
A function or method, private or not, is called by what it does or returns: `merge_spans`, not `merged`. A property that
is true or false, such as `closed` of Python's files, may be a participle.
`python ci/names.py` prints every violation and exits 1 if there is one.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from layout import ROOTS, STACKBUILD

PARTICIPLES = frozenset(
    (
        *("asked", "brought", "chosen", "done", "found", "given", "gone", "held", "kept", "known", "made", "meant", "said"),
        *("seen", "shown", "taken", "told", "wanted", "written"),
    )
)
"""Words that no function, parameter, variable or field is called by."""
DOCUMENTS = STACKBUILD.folder / "model"
"""The package of what is written to documents and read from them."""
SUPPORT = Path(__file__).resolve().parent.parent / "tests" / "support"
"""What tests share: its types have names of their own, too."""
_CAMEL_CASE = re.compile(r"_?[A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*")
_PARTICIPLE_TYPE = re.compile(r"_?(?:[A-Z][a-z]*[^e]ed|Built|Found|Kept|Made|Said|Taken|Told)")
"""A type of one word that is a participle. `StepFailed` and `RunStarted` are the usual forms of errors and events."""
_PARTICIPLE_FUNCTION = re.compile(r"_*[a-z]*[^e]ed")
"""A function of one word that is a participle. Words such as `feed` and `seed` are none."""


def variables(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and name of every function, parameter and variable."""
    targets = {id(field.target) for _, field in fields(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in targets:
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or (
            isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name
        ):
            yield node.lineno, node.name


def fields(tree: ast.AST) -> Iterator[tuple[ast.ClassDef, ast.AnnAssign]]:
    """Every field of a class, with the class."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from ((node, part) for part in node.body if isinstance(part, ast.AnnAssign))


def attributes(path: Path, tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and name of every attribute that is set, and of every field that is not a key of a document."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr
    if path.parent != DOCUMENTS:
        for owner, field in fields(tree):
            if not any(ast.unparse(base) == "Model" for base in owner.bases):
                yield field.lineno, ast.unparse(field.target)


def functions(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and name of every function and method, also within others; properties of type bool are not among them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            is_property = any(ast.unparse(one) in ("property", "cached_property") for one in node.decorator_list)
            if not (is_property and node.returns is not None and ast.unparse(node.returns) == "bool"):
                yield node.lineno, node.name


def types(path: Path, tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """Line, name and meaning of every class and alias. A class means itself, an alias its expression."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node.lineno, node.name, f"{path}:{node.name}"
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name) and _CAMEL_CASE.fullmatch(target.id):
                    yield statement.lineno, target.id, ast.unparse(statement.value)


def violations(paths: Iterable[Path]) -> Iterator[str]:
    """A sentence for each name of these modules that is a participle."""
    for path in sorted(paths):
        tree = ast.parse(path.read_text("utf-8"))
        for line, name in (*variables(tree), *attributes(path, tree)):
            if name.strip("_") in PARTICIPLES or (name.isupper() and name.strip("_").lower() in PARTICIPLES):
                yield f"{path}:{line}: `{name}` says how the value came about: name what it is"
        for line, name in functions(tree):
            if _PARTICIPLE_FUNCTION.fullmatch(name):
                yield f"{path}:{line}: the function `{name}` is called by a participle: name what it does"
        for line, name, _ in types(path, tree):
            if _PARTICIPLE_TYPE.fullmatch(name):
                yield f"{path}:{line}: the type `{name}` is called by a participle: name it by a noun"


def clashes(paths: Iterable[Path]) -> Iterator[str]:
    """A sentence for each type of these modules whose name has another meaning in one of them.

    `_Row` and `Row` are one name.
    """
    meanings: dict[str, tuple[str, str]] = {}
    for path in paths:
        for line, name, meaning in types(path, ast.parse(path.read_text("utf-8"))):
            before, place = meanings.setdefault(name.strip("_"), (meaning, f"{path}:{line}"))
            if before != meaning:
                yield f"{path}:{line}: the type `{name}` has another meaning at {place}"


def modules() -> list[Path]:
    """The modules of `stackbuild`, `kernels` and `ci`."""
    return [path for tree in ROOTS for path in tree.modules.values()]


def main() -> int:
    paths = modules()
    lines = [*violations(paths), *clashes([*paths, *sorted(SUPPORT.rglob("*.py"))])]
    print("\n".join(lines) or f"names of {len(paths)} modules in {len(ROOTS)} trees: nothing found")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
