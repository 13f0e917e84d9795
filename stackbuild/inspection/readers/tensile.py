"""Tensile library files (`.dat`): which kernels a GEMM library may choose from, and in which other files they are.

Read from rocBLAS 6.4 (Debian's librocblas4): a MessagePack map with `solutions`, a list, and `library`, a tree of choices
whose leaves name solutions or, in a lazy index, are `{type: Placeholder, value: STEM}`: more is in STEM.dat beside it.
"""

from __future__ import annotations

from collections.abc import Iterator

from stackbuild.inspection.limits import MAP_KEYS, SOLUTIONS
from stackbuild.inspection.readers.byte_parser import MalformedError
from stackbuild.inspection.readers.messagepack import length, members, unpack


def tensile_library(data: bytes) -> tuple[int, tuple[str, ...]]:
    """How many solutions the file has itself, and the stems of the files it refers to. Raises MalformedError."""
    library = members(data, "the Tensile library", MAP_KEYS)
    solutions = length(library.get(b"solutions", b""))
    if solutions is None or b"library" not in library:
        raise MalformedError("the Tensile library has no list of solutions, or no library")
    tree = unpack(library[b"library"], "the choices of the Tensile library", SOLUTIONS, SOLUTIONS)
    return solutions, tuple(sorted(set(_placeholders(tree))))


def _placeholders(root: object) -> Iterator[str]:
    todo = [root]
    while todo:
        node = todo.pop()
        if isinstance(node, list):
            todo += node
        elif isinstance(node, dict):
            value = node.get(b"value")
            if node.get(b"type") == b"Placeholder" and isinstance(value, bytes):
                yield value.decode("utf-8", "replace")
            todo += node.values()
