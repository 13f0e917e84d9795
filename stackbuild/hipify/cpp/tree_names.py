"""What the headers of a tree declare that the text of another file means."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from stackbuild.hipify.cpp import macros
from stackbuild.hipify.cpp.macros import Macro


@dataclass(frozen=True)
class TreeNames:
    """Declarations of a tree's headers.

    `types` are other names of types, (name, type) each. `macros` are definitions, one line each, of macros that call a
    function for which there is a call rule. `members` are (namespace, name) for each name of CUDA's that a named namespace
    declares; the namespace is the last part of its name. `has_complex_operators` says that a header defines operators for
    CUDA's complex numbers, `has_pair_operators` that one does for vectors of two floats or doubles. `support` are support
    headers that headers need and that come before others. `absent_macros` are macros that headers define only where HIP
    does not see it, `zero_macros` those that are 0 there and otherwise not. `vector_operators` are (sign, type) of operators
    for vectors that do something else than HIP's. `own_spaces` are namespaces of a tree that includes no header of CUDA's
    library of that name.
    """

    types: tuple[tuple[str, str], ...] = ()
    macros: tuple[str, ...] = ()
    members: frozenset[tuple[str, str]] = frozenset()
    has_complex_operators: bool = False
    has_pair_operators: bool = False
    support: frozenset[str] = frozenset()
    absent_macros: frozenset[str] = frozenset()
    zero_macros: frozenset[str] = frozenset()
    vector_operators: frozenset[tuple[str, str]] = frozenset()
    own_spaces: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return self != NO_NAMES

    @cached_property
    def macro_definitions(self) -> tuple[Macro, ...]:
        return tuple(macros.read("\n".join(self.macros)))

    @cached_property
    def macro_names(self) -> frozenset[str]:
        return frozenset(macro.name for macro in self.macro_definitions)

    @cached_property
    def type_of(self) -> dict[str, str]:
        return dict(self.types)

    def typedefs(self, words: Iterable[str]) -> str:
        """Declarations of those of the types that a text with these words names."""
        return "".join(f"\ntypedef {self.type_of[name]} {name};" for name in words if name in self.type_of)


NO_NAMES = TreeNames()
