"""The fix `vector-values`: how values of CUDA's vector types and `dim3` are made, where HIP's types are made otherwise.

CUDA's vector types are aggregates. HIP's are classes with constructors for one value and for all values, of which the one
for a single value is explicit and gives that value to each component. So `float4 v = {0};` does not compile, and
`float4 v{1};` compiles and has four ones where CUDA has one. `dim3` and `uint3` convert into each other in CUDA alone, and
`threadIdx` and its like become a `dim3` only. Which forms fail was tried with HIP 5.7 and 6.4 (`cuda_forms.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackbuild.hipify.cpp.edits import Edit
from stackbuild.hipify.cpp.scan import arguments
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.passes.own_overloads import VECTORS

_BRACED_VALUES = re.compile(r"\s*\)?(?:\s*\b\w+)?(\s*\[[^{};=]*\])?\s*(=?)\s*\{([^{};]*)\}")
_NEXT = re.compile(r"\s*,\s*\w+(\s*\[[^{};=]*\])?\s*(=?)\s*\{([^{};]*)\}")
ARRAY = re.compile(r"\s+\w+\s*(?:\[[^{};=]*\])+\s*=?\s*\{((?:[^{};]*\{[^{};]*\})+[^{};]*)\}")
"""What follows the type of an array of vectors whose values stand in braces of their own; group 1 are the values."""
_VALUE = re.compile(r"\{[^{};]+\}")
_VARIABLE = re.compile(r"\s+(\w+)\s*;")
_ROOT = re.compile(r"[\s*&(]*([A-Za-z_]\w*)\s*(?:\[[^\[\]{};,]*\]\s*)*\)*\s*")
"""A variable or one of its elements, and no member of it."""
_ZERO = re.compile(r"\s*0(?:\.0*)?[fFuUlL]*\s*")
_BUILT_IN = "threadIdx|blockIdx|blockDim|gridDim"
_MAKE = "make_uint3"


def fix(view: View, by: str) -> Iterator[Edit]:
    """The edits that give each component a value, and that make `dim3` and `uint3` of what HIP makes them of."""
    if not view.words.isdisjoint(VECTORS):
        yield from _braces(view, by)
    if "uint3" in view.words or _MAKE in view.words:
        yield from _indices(view, by)


def _braces(view: View, by: str) -> Iterator[Edit]:
    """Initial values of fewer components than the type has: the others are 0, as in CUDA."""
    for name in sorted(view.words & VECTORS):
        size = int(name[-1])
        for at in view.places(name):
            match = _BRACED_VALUES.match(view.code, at + len(name))
            while match is not None:
                if not _is_copy(view, name, match[3]):
                    yield from _fill(match, size, by)
                match = _NEXT.match(view.code, match.end())
            if size == 1:
                yield from _type_values(view, name, at + len(name), by)


def _is_copy(view: View, name: str, values: str) -> bool:
    """Whether what stands between braces is one vector of that type: a cast, a call that makes one, or a variable."""
    if re.search(rf"\b(?:make_)?{name}\b", values):
        return True
    root = _ROOT.fullmatch(values)
    return root is not None and (
        re.search(rf"\b{name}(?:\s+const|\s+volatile)*[\s&*]+(?:__restrict__\s+)?{root[1]}\b", view.code) is not None
    )


def _type_values(view: View, name: str, end: int, by: str) -> Iterator[Edit]:
    """The type before braces that a variable declared here is assigned later, and before those of an array's values."""
    if array := ARRAY.match(view.code, end):
        for value in _VALUE.finditer(view.code, *array.span(1)):
            yield Edit(value.start(), value.start(), name, by)
    elif variable := _VARIABLE.match(view.code, end):
        body = view.braces.innermost(end)
        last = view.braces.span(body)[1] if body >= 0 else variable.end()
        later = re.compile(rf"(?<![\w.>]){variable[1]}\s*=\s*(?=\{{[^{{}};]+\}})")
        for assignment in later.finditer(view.code, variable.end(), last):
            yield Edit(assignment.end(), assignment.end(), name, by)


def _fill(match: re.Match[str], size: int, by: str) -> Iterator[Edit]:
    """The edit of one pair of braces; an array's are left empty where they hold one zero."""
    start, end = match.span(3)
    values = match[3]
    if match[1]:
        if _ZERO.fullmatch(values):
            yield Edit(start, end, "", by)
        return
    count = _count(values)
    if count == size == 1 and match[2]:
        yield Edit(*match.span(2), "", by)  # `float1 v {1}`: the constructor for one value is explicit
    if 0 < count < size:
        at = start + len(values.rstrip())
        yield Edit(at, at, ", 0" * (size - count), by)


def _count(values: str) -> int:
    """How many values stand between braces; 0 for none, and where that cannot be said."""
    if not values.strip() or values.rstrip().endswith(","):
        return 0
    argument_list = arguments(f"({values})", 0)
    return len(argument_list[0]) if argument_list else 0


def _indices(view: View, by: str) -> Iterator[Edit]:
    """`dim3` made of a `uint3`, `uint3` made of a `dim3` or of the position of a thread, launches over a `uint3`."""
    variables = {name: _declared_variables(view, name) for name in ("dim3", "uint3")}
    dim3_names = "|".join(re.escape(name) for name in sorted(variables["dim3"]))
    if dim3_names or "dim3" in view.words:
        targets = rf"(?:dim3\s+\w+|(?<![\w.>]){f'(?:{dim3_names})' if dim3_names else 'dim3'})\s*[=({{]\s*"
        for match in re.finditer(rf"{targets}({_MAKE})\s*\(", view.code):
            yield Edit(*match.span(1), "dim3", by)
    sources = "|".join(sorted(filter(None, (_BUILT_IN, dim3_names))))
    for match in re.finditer(rf"\buint3\s+\w+\s*[=({{]\s*({sources})\s*[;)}}]", view.code):
        name = match[1]
        yield Edit(*match.span(1), f"{_MAKE}({name}.x, {name}.y, {name}.z)", by)
    for name in sorted(variables["uint3"] - variables["dim3"]):
        grid, block, value = (
            rf"<<\s*<\s*({name})\s*,",
            rf"<<\s*<[^;{{}},]*,\s*({name})\s*(?:,|>>\s*>)",
            rf"\bdim3\s+\w+\s*[=(]\s*({name})\s*[;)]",
        )
        for form in (grid, block, value):
            for match in re.finditer(form, view.code):
                yield Edit(*match.span(1), f"dim3({name}.x, {name}.y, {name}.z)", by)
        for match in re.finditer(rf"\bdim3\s*\(\s*({name})\s*\)", view.code):
            yield Edit(*match.span(1), f"{name}.x, {name}.y, {name}.z", by)


def _declared_variables(view: View, kind: str) -> set[str]:
    """The variables that a text declares with a type, each by its first declarator."""
    if kind not in view.words:
        return set()
    return set(re.findall(rf"\b{kind}(?:\s+const)?[\s&]+([A-Za-z_]\w*)\s*[=;,(){{]", view.code))
