"""The macros of a blanked text: their names, parameters and bodies. A continued line is one line there."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from stackbuild.hipify.cpp.scan import without_brackets

_DEFINE = re.compile(r"#[ \t]*define[ \t]+(\w+)(?:\(([^()\n]*)\))?([^\n]*)")


@dataclass(frozen=True)
class Macro:
    """`#define name(parameters) body`. `body` begins at `at`; `parameters` is None without a bracket.

    `rest` is what the body calls the arguments that `...` takes, "" where nothing takes any; it is not in `parameters`.
    """

    name: str
    parameters: tuple[str, ...] | None
    rest: str
    body: str
    at: int

    @property
    def end(self) -> int:
        return self.at + len(self.body)

    @cached_property
    def bare(self) -> str:
        """The body without white space and brackets around it."""
        return without_brackets(self.body).removeprefix("::").strip()


def read(code: str) -> list[Macro]:
    """The macros of a text in order, each time that one is defined."""
    return [_macro(match) for match in _DEFINE.finditer(code)]


def _macro(definition: re.Match[str]) -> Macro:
    if definition[2] is None:
        return Macro(definition[1], None, "", definition[3], definition.start(3))
    names = tuple(name.strip() for name in definition[2].split(",")) if definition[2].strip() else ()
    rest = ""
    if names and names[-1].endswith("..."):
        rest = names[-1].removesuffix("...").strip() or "__VA_ARGS__"
        names = names[:-1]
    return Macro(definition[1], names, rest, definition[3], definition.start(3))
