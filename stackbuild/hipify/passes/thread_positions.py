"""The fix `thread-positions`: `threadIdx.x` and its like as arguments, for HIP before 6.0.

There they have a class of their own that converts to `unsigned int`, in CUDA they are an `unsigned int`. So
`min(blockDim.x, n)` is ambiguous, `std::max(gridDim.x, n)` and other templates deduce two types, `printf` gets an
object, and `auto i = threadIdx.x` cannot be incremented. A cast makes it the same in both. Which calls fail was tried
with HIP 5.7.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackbuild.hipify.cpp.edits import Edit
from stackbuild.hipify.cpp.source_text import View

_POSITIONS = frozenset(("threadIdx", "blockIdx", "blockDim", "gridDim"))
_COMPONENT = re.compile(r"\s*\.\s*[xyz]\s*(?=[,);])")
_CALL = re.compile(r"(\w+)\s*(?:<[^<>;(){}]*>\s*)?\(\s*\Z")
_VARIABLE = re.compile(r"\bauto\s+\w+\s*=\s*\Z")
_NO_CALL = frozenset(
    (
        *("if", "for", "while", "switch", "return", "sizeof", "decltype", "case", "dim3"),
        *(
            "static_cast",
            "int",
            "unsigned",
            "long",
            "float",
            "double",
            "size_t",
            "uint32_t",
            "int32_t",
            "int64_t",
            "uint64_t",
        ),
    )
)
"""What a bracket may follow that takes the class as it is: keywords, and casts by a type's name."""
_BEFORE = 120


def fix(view: View, by: str) -> Iterator[Edit]:
    """The edits that put a cast before each component that is a whole argument, or the value of an `auto`."""
    for name in sorted(view.words & _POSITIONS):
        for at in view.own(name):
            end = _COMPONENT.match(view.code, at + len(name))
            if end is None:
                continue
            start = max(0, at - _BEFORE)
            if view.code[end.end()] == ";":
                is_value = _VARIABLE.search(view.code, start, at) is not None
            else:
                call = _CALL.search(view.code, start, at)
                is_value = call[1] not in _NO_CALL if call else view.code[start:at].rstrip().endswith(",")
            if is_value:
                yield Edit(at, at, "(unsigned)", by)
