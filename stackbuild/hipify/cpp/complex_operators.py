"""Operators that a source defines for CUDA's complex numbers and vectors of two, which have none of their own.

HIP's complex numbers are vectors, whose `*`, `/` and `+=` work by components and are as good a match. Before ROCm 6 its header
of complex numbers defines more of them, for all vectors of two floats or doubles.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

COMPLEX_TYPES = frozenset(("cuComplex", "cuFloatComplex", "cuDoubleComplex"))
_OPERATOR = re.compile(
    r"operator\s*(?:[*/]|[-+*/]=)\s*\(\s*(?:const\s+)?(?:::\s*)?(\w+)(?:\s+const)?[\s&]+\w+\s*,"
    r"\s*(?:const\s+)?(?:::\s*)?\1(?:\s+const)?[\s&]+\w+\s*\)"
)
PAIR_TYPES = COMPLEX_TYPES | {
    "float2", "double2", "cufftComplex", "cufftDoubleComplex", "hipComplex", "hipFloatComplex", "hipDoubleComplex", "float_complex", "double_complex",
}  # fmt: skip
"""Vectors of two floats or doubles, by CUDA's names and HIP's."""
_PARAMETERS = re.compile(r"operator\s*(?:[-+*/]=?|[!=]=)\s*\(([^(){};]*)\)")
_ALIAS = re.compile(
    r"\btypedef\s+(\w+)\s+(\w+)\s*;|\busing\s+(\w+)\s*=\s*(\w+)\s*;|#[ \t]*define[ \t]+(\w+)[ \t]+(\w+)[ \t]*$", re.M
)


def operand_types(code: str) -> set[str]:
    """The types for two of which a text defines an operator that clashes with that of HIP's vectors."""
    return {match[1] for match in _OPERATOR.finditer(code)}


def is_complex(name: str, code: str, types: Mapping[str, str]) -> bool:
    """Whether a type is a complex number of CUDA's, also by another name of the text or of `types`."""
    if name in COMPLEX_TYPES or types.get(name) in COMPLEX_TYPES:
        return True
    return any(other == name and of in COMPLEX_TYPES for other, of in _aliases(code))


def has_pair_operators(code: str) -> bool:
    """Whether a text defines an operator with an operand that is a vector of two floats or doubles."""
    operands = {word for match in _PARAMETERS.finditer(code) for word in re.findall(r"\w+", match[1])}
    if operands.isdisjoint(PAIR_TYPES) and operands:
        others = dict(_aliases(code))
        return any(others.get(name) in PAIR_TYPES for name in operands)
    return bool(operands)


def _aliases(code: str) -> Iterator[tuple[str, str]]:
    """Other names that a text gives to types, each with its type."""
    return ((m[2] or m[3] or m[5], m[1] or m[4] or m[6]) for m in _ALIAS.finditer(code))
