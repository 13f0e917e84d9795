"""Which modules `import PACKAGE` needs, read from the sources without running them.

Only what runs unconditionally counts: imports at the top level of modules that the package's `__init__` reaches through
such imports. One inside `try`, `if` or a function may be handled, so it is not reported.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Mapping

from stackbuild.inspection.facts import Import
from stackbuild.inspection.limits import DOTS, TOKENS, Cost
from stackbuild.inspection.readers.budget import ReadBudget
from stackbuild.inspection.readers.byte_parser import LimitError, MalformedError, ProblemSink

_TOKEN = re.compile(rb"[\w\x80-\xff]+|[^\w\s]")
_CHAIN = re.compile(rb"\.(?:[\s\\]*[\w\x80-\xff]+[\s\\]*\.){%d}" % DOTS)
_SMALL = 64 << 10


def missing(
    sources: Mapping[str, bytes],
    roots: tuple[str, ...],
    carried_modules: frozenset[str],
    budget: ReadBudget,
    add_problem: ProblemSink,
) -> tuple[Import, ...]:
    """Third-party modules required by importing the packages named `roots`.

    `sources` maps paths to Python sources; `carried_modules` are the top-level names that the wheel installs itself. A source that
    is too large to parse goes to `add_problem`.
    """
    imports: dict[str, Import] = {}
    names: set[str] = set()
    todo = [f"{root}/__init__.py" for root in roots]
    while todo:
        path = todo.pop()
        if path in names or path not in sources:
            continue
        names.add(path)
        try:
            _afford(sources[path], budget)
        except MalformedError as format_error:
            add_problem(path, format_error)
            continue
        for name in _imports(path, sources[path]):
            top = name.split(".", 1)[0]
            if top in carried_modules:
                todo += _files(name)
            elif top not in sys.stdlib_module_names and top not in imports:
                imports[top] = Import(path, top)
    return tuple(imports[name] for name in sorted(imports))


def _afford(source: bytes, budget: ReadBudget) -> None:
    """Refuse a source whose syntax tree would take a thousand times its size: a token takes 0.7 kB, and of a dotted name
    Python's parser keeps every beginning. Raises LimitError."""
    if _CHAIN.search(source):
        raise LimitError(f"a name of more than {DOTS} dots")
    tokens = len(source) // 2 if len(source) < _SMALL else sum(1 for _ in _TOKEN.finditer(source))
    if tokens > TOKENS:
        raise LimitError(f"{tokens} tokens of Python; imports are read of sources with at most {TOKENS}")
    budget.spend(Cost.TOKENS, tokens)


def _files(name: str) -> list[str]:
    """The sources that importing a dotted name runs: each package on the way, and the module."""
    parts = name.split(".")
    packages = ["/".join(parts[:n]) + "/__init__.py" for n in range(1, len(parts) + 1)]
    return [*packages, "/".join(parts) + ".py"]


def _imports(path: str, source: bytes) -> list[str]:
    """Absolute dotted names imported at the top level, `from a import b` as both a and a.b."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []  # Python itself will say so when the wheel is imported
    package = path.split("/")[:-1]
    names: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            names += [module, *(f"{module}.{alias.name}" for alias in node.names)]
    return [name for name in names if name]
