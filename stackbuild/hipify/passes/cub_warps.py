"""The fix `cub-warps`: CUB's warp collectives keep the 32 threads that they have where a source names no number.

CUB's default for LOGICAL_WARP_THREADS is 32 (CUB_PTX_WARP_THREADS). hipCUB's is the device's wavefront
(HIPCUB_DEVICE_WARP_THREADS): a sum over a warp would become one over 64 threads on some GPUs. hipCUB accepts 32 on a
wavefront of 64 too. Code that already uses hipCUB is left as it is: its author saw hipCUB's default.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackbuild.hipify.cpp.edits import Edit
from stackbuild.hipify.cpp.scan import arguments, qualifier, skip_space
from stackbuild.hipify.cpp.source_text import View

# What makes each list whole, by the number of template arguments that it has.
COLLECTIVES = {
    "WarpReduce": {1: "32"},
    "WarpScan": {1: "32"},
    "WarpExchange": {2: "32"},
    "WarpMergeSort": {2: "32"},
    "WarpLoad": {2: "hipcub::WARP_LOAD_DIRECT, 32", 3: "32"},
    "WarpStore": {2: "hipcub::WARP_STORE_DIRECT, 32", 3: "32"},
}
_COLLECTIVES = frozenset(COLLECTIVES)
_SPACE = re.compile(r"using(?<!\wusing)\s+namespace\s+(?:::\s*)?cub\s*;")
_SIGN = re.compile(r"[<>()\[\]{};]")
_CLOSES = {")": "(", "]": "[", "}": "{", ">": "<"}


def fix(view: View, by: str) -> Iterator[Edit]:
    """The edits of all of CUB's warp collectives without a number of threads, in the name of rule `by`."""
    for name in sorted(view.words & _COLLECTIVES):
        using = _SPACE.search(view.code) or re.search(
            rf"using(?<!\wusing)\s+(?:::\s*)?cub\s*::\s*{name}\s*;", view.code
        )
        for at in view.own(name):
            before = qualifier(view.code, at)
            if before == "cub::" or (before == "" and using):
                yield from _one(view.code, at + len(name), COLLECTIVES[name], by)


def _one(code: str, end: int, numbers: dict[int, str], by: str) -> Iterator[Edit]:
    open_at = skip_space(code, end)
    close_at = _closing(code, open_at) if code.startswith("<", open_at) else None
    argument_list = arguments(f"({code[open_at + 1 : close_at]})", 0) if close_at else None
    if argument_list and (missing := numbers.get(len(argument_list[0]))):
        last = open_at + argument_list[0][-1][1]
        yield Edit(last, last, f", {missing}", by, closes=True)


def _closing(code: str, open_at: int) -> int | None:
    """The offset of the `>` that closes the `<` at an offset, which is known to open template arguments."""
    stack: list[str] = []
    for match in _SIGN.finditer(code, open_at):
        sign, at = match.group(), match.start()
        if sign == ";":
            return None
        if sign not in _CLOSES:
            if sign != "<" or "(" not in stack:
                stack.append(sign)
        elif sign == ">" and (code[at - 1] == "-" or stack[-1] == "("):
            continue
        elif stack.pop() != _CLOSES[sign]:
            return None
        if not stack:
            return at
    return None
