"""The functions of a text in which offsets are: their names, parameters and template parameters."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from stackbuild.hipify.cpp.scan import arguments, back_space
from stackbuild.hipify.cpp.source_text import View

_AFTER = re.compile(r"(?:\b(?:const|noexcept|mutable|override|final)\b|->[\w:<>, ]+|\s)*")
_NAME = re.compile(r"(operator\s*\(\s*\)|[A-Za-z_]\w*)\s*(?:=\s*\[[^\[\]]*\]\s*)?\Z")
_PLAIN_LAMBDA = re.compile(r"\[[^\[\]]*\]\s*\Z")
_NO_FUNCTION = frozenset(
    ("if", "constexpr", "for", "while", "switch", "catch", "sizeof", "decltype", "noexcept", "alignas")
)
_TEMPLATE = re.compile(r"template(?<!\wtemplate)\s*<")
_CLASS = re.compile(r"\b(?:struct|class)\s+([A-Za-z_]\w*)\s*(<[^{};]*>)?")
_ANGLE = re.compile(r"[<>()]")

Parameter = tuple[str, str]
"""A parameter's name and its default, "" for none."""


@dataclass(frozen=True)
class Function:
    """A function with a body `[start, end)`. `owner` is the class template that it is a member of, "" for none.

    `template` are the template parameters of the function or, where it has none, of its class, and `outer` those of its
    class; `special` says that it, or its class, is written for some template arguments alone.
    """

    name: str
    start: int
    end: int
    parameters: tuple[Parameter, ...]
    template: tuple[Parameter, ...]
    owner: str = ""
    special: bool = False
    outer: tuple[Parameter, ...] = ()


def around(view: View, at: int) -> Function | None:
    """The function, or lambda with a name, in whose body an offset is: the innermost."""
    cache, inner = _function_cache(view), view.braces.innermost(at)
    if inner not in cache:
        cache[inner] = _around(view, at)
    return cache[inner]


@lru_cache(maxsize=1)
def _function_cache(view: View) -> dict[int, Function | None]:
    """The functions of a text that were asked for, by the innermost pair of braces: several checks ask one after the other."""
    return {}


def _around(view: View, at: int) -> Function | None:
    pairs = list(view.braces.around(at))
    for number, pair in enumerate(pairs):
        argument_list = _of_head(view.braces.head(pair))
        if argument_list is None:
            continue
        name, parameters, before = argument_list
        template = _template(before)
        owner, special, outer = "", template == (), None
        if number + 1 < len(pairs):
            head = view.braces.head(pairs[number + 1])
            owner_head = next(reversed(list(_CLASS.finditer(head))), None)  # `class` also names template parameters
            if owner_head and (outer := _template(head[: owner_head.start()])) is not None:
                template, owner, special = template or outer, owner_head[1], bool(owner_head[2])
        return Function(name, *view.braces.span(pair), parameters, template or (), owner, special, outer or ())
    return None


def _of_head(head: str) -> tuple[str, tuple[Parameter, ...], str] | None:
    """The name and parameters of the function whose head this is, and what stands before its name."""
    close_at = head.rfind(")")
    if close_at < 0 or not _AFTER.fullmatch(head, close_at + 1):
        return None
    open_at = _opening(head, close_at)
    before = head[: back_space(head, open_at)]
    name = None if open_at < 0 or (_PLAIN_LAMBDA.search(before) and "=" not in before) else _NAME.search(before)
    argument_list = arguments(head, open_at) if name else None
    if name is None or argument_list is None or name[1] in _NO_FUNCTION:
        return None
    return name[1], tuple(_parameter(head[start:stop]) for start, stop in argument_list[0]), before[: name.start()]


def _opening(text: str, close_at: int) -> int:
    depth = 0
    for at in range(close_at, -1, -1):
        depth += (text[at] == ")") - (text[at] == "(")
        if depth == 0:
            return at
    return -1


def _parameter(text: str) -> Parameter:
    """The name and default of a parameter by its text."""
    declaration, _, default = text.partition("=")
    name = re.search(r"([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*\Z", declaration.rstrip())
    return name[1] if name else "", default.strip()


def _template(head: str) -> tuple[Parameter, ...] | None:
    """The template parameters that a head names, none for `template <>`; None if it is not a template."""
    open_places = [match.end() for match in _TEMPLATE.finditer(head)]
    if not open_places:
        return None
    depth, brackets = 1, 0
    for sign in _ANGLE.finditer(head, open_places[-1]):
        brackets += (sign.group() == "(") - (sign.group() == ")")
        depth += ((sign.group() == "<") - (sign.group() == ">")) * (not brackets)
        if depth == 0:
            inner = f"({head[open_places[-1] : sign.start()]})"
            argument_list = arguments(inner, 0)
            return tuple(_parameter(inner[start:stop]) for start, stop in argument_list[0]) if argument_list else None
    return None
