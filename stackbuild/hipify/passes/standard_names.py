"""The fix `standard-names`: `cuda::std::` becomes `std::` where clang takes the standard library's own name in device code.

These are types (traits, tags, numbers) and functions that C++17 calls constexpr, which clang compiles for both sides. What
has state, what throws and what C++17 calls constexpr in part only (tuples, pairs, arrays, atomics) stays and is reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackbuild.hipify.cpp.edits import Edit
from stackbuild.hipify.cpp.scan import qualifier
from stackbuild.hipify.cpp.source_text import View

_TRAIT = re.compile(
    r"(?:is_(?!sorted|heap|permutation|partitioned|constant_evaluated)\w+"
    r"|remove_(?:cv|const|volatile|reference|pointer|extent|all_extents)(?:_t)?"
    r"|add_(?:cv|const|volatile|pointer|lvalue_reference|rvalue_reference)(?:_t)?"
    r"|(?:conditional|enable_if|decay|common_type|underlying_type|make_signed|make_unsigned|invoke_result|void)(?:_t)?"
    r"|(?:conjunction|disjunction|negation|alignment_of|rank|extent)(?:_v)?"
    r"|u?int(?:_fast|_least)?(?:8|16|32|64)_t|u?int(?:ptr|max)_t"
    r"|(?:input|output|forward|bidirectional|random_access)_iterator_tag"
    r"|(?:make_)?(?:index|integer)_sequence(?:_for)?)"
)
_NAMES = frozenset(
    [
        "integral_constant",
        "bool_constant",
        "true_type",
        "false_type",
        "size_t",
        "ptrdiff_t",
        "nullptr_t",
        "byte",
        "max_align_t",
        "numeric_limits",
        "iterator_traits",
        "declval",
        "forward",
        "move",
        "min",
        "max",
        "clamp",
        "plus",
        "minus",
        "multiplies",
        "divides",
        "modulus",
        "negate",
        "equal_to",
        "not_equal_to",
        "greater",
        "less",
        "greater_equal",
        "less_equal",
        "logical_and",
        "logical_or",
        "logical_not",
        "bit_and",
        "bit_or",
        "bit_xor",
        "bit_not",
    ]
)
_STANDARD = re.compile(r"cuda(?<!\wcuda)\s*::\s*std\s*::\s*(\w+)")


def places(view: View) -> Iterator[tuple[int, int]]:
    """The spans from `cuda` up to a name that the standard library has in device code too."""
    if "cuda" not in view.words or "std" not in view.words:
        return
    for match in _STANDARD.finditer(view.code):
        is_standard = match[1] in _NAMES or _TRAIT.fullmatch(match[1])
        if is_standard and qualifier(view.code, match.start()) in ("", "::"):
            yield match.start(), match.start(1)


def fix(view: View, by: str) -> Iterator[Edit]:
    """The edits that make `std::` of `cuda::std::`."""
    return (Edit(start, end, "std::", by) for start, end in places(view))
