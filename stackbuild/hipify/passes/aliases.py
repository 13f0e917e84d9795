"""Calls of functions by other names: macros that stand for a function, and macros that hand their arguments on to it.

    #define SET cudaFuncSetAttribute                     SET(kernel, …)
    #define SET(...) CHECK(cudaFuncSetAttribute(__VA_ARGS__))
    #define CALL(f, ...) CHECK(f(__VA_ARGS__))           CALL(cudaFuncSetAttribute, kernel, …)
    #define CALL(f, list) CHECK(f list)                  CALL(cudaFuncSetAttribute, (kernel, …))

What such a function's arguments need is done where they are written: at the macro's use.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from stackbuild.hipify.cpp.macros import Macro
from stackbuild.hipify.cpp.scan import after_template, arguments, call_arguments, whole_names
from stackbuild.hipify.cpp.source_text import View

Span = tuple[int, int]
_HIP_FUNCTION = re.compile(r"\b(?:hip[a-z]*[A-Z]|roc(?:blas|sparse|solver|fft|rand)_|miopen[A-Z])\w")
_DEEP = 6
"""So many macros may stand between a use and its function."""


@dataclass(frozen=True)
class Use:
    """A call of a function: the span of the name that is called, the bracket around the arguments, and their spans.

    The function's argument number `first` is the one at `gives` among the spans. `name_of_function` is where the function
    itself is named, None where a macro does that; `means` are the functions that the called name stands for in this text, ""
    for anything else. `has_hip_form`: another definition of the macro names a function of HIP.
    """

    function: str
    name: Span
    open_at: int
    close_at: int
    spans: list[Span]
    first: int
    gives: int
    name_of_function: Span | None
    means: frozenset[str]
    has_hip_form: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether the arguments are the function's own list and no part of it."""
        return self.first == self.gives == 0

    @property
    def count(self) -> int:
        """How many arguments the function has."""
        return len(self.spans) - self.gives + self.first

    def place(self, number: int) -> int | None:
        """Which of the spans is the function's argument of a number; None where a macro gives that one itself."""
        return number - self.first + self.gives if number >= self.first else None


@dataclass(frozen=True)
class _Route:
    """How a macro's use calls a function: its argument number `gives` and those after it are the function's from `first` on.

    `name_argument` is the number of the argument that names the function, -1 where the macro does; then `function` is "".
    `packed` says that argument `gives` is the whole list, in brackets. `bare`: the macro is another name and no more.
    """

    function: str
    first: int = 0
    gives: int = 0
    name_argument: int = -1
    packed: bool = False
    bare: bool = False


def uses(view: View, functions: Collection[str]) -> Iterator[Use]:
    """The calls of functions by other names, in the order of those names."""
    if not view.macros_in_reach:
        return
    routes = _routes(view.macros_in_reach, frozenset(functions))
    defined_macros = Counter(macro.name for macro in view.macros_in_reach)
    of_hip = {macro.name for macro in view.macros_in_reach if macro.name in routes and _HIP_FUNCTION.search(macro.body)}
    for name, routes_of in sorted(routes.items()):
        functions_of = {route.function for route in routes_of}
        means = frozenset(functions_of | ({""} if defined_macros[name] > len(functions_of) else set()))
        for at in view.own(name):
            end = at + len(name)
            open_at = after_template(view.code, end)
            argument_list = arguments(view.code, open_at) if view.code.startswith("(", open_at) else None
            if argument_list is not None and not view.is_defined_at(at):
                for route in sorted(routes_of, key=repr):
                    for use in _uses_of_route(view, functions, route, (at, end), open_at, argument_list, means):
                        yield replace(use, has_hip_form=name in of_hip)


def routing_macros(macros: list[Macro], functions: frozenset[str]) -> list[Macro]:
    """Those of the macros that stand for functions, hand arguments on to them, or call what their user names."""
    routes = _routes(macros, functions)
    return [macro for macro in macros if macro.name in routes]


def _uses_of_route(
    view: View,
    functions: Collection[str],
    route: _Route,
    name: Span,
    open_at: int,
    argument_list: tuple[list[Span], int],
    means: frozenset[str],
) -> Iterator[Use]:
    spans, close_at = argument_list
    function, name_of_function = route.function, name if route.bare else None
    if max(route.name_argument, route.gives - (not route.packed)) >= len(spans):
        return
    if route.name_argument >= 0:
        name_of_function = spans[route.name_argument]
        function = view.code[slice(*name_of_function)].removeprefix("::").strip()
        means = frozenset((function,))
        if function not in functions:
            return
    if route.packed:
        open_at, last = spans[route.gives]
        inner = arguments(view.code, open_at) if view.code.startswith("(", open_at) else None
        if inner is None or inner[1] + 1 != last:
            return
        yield Use(function, name, open_at, inner[1], inner[0], 0, 0, name_of_function, means)
    else:
        yield Use(function, name, open_at, close_at, spans, route.first, route.gives, name_of_function, means)


def _routes(macros: list[Macro], functions: frozenset[str]) -> dict[str, set[_Route]]:
    """The macros that stand for functions, or hand arguments on to them, also through one another."""
    routes: dict[str, set[_Route]] = {}
    own = [macro for macro in macros if macro.name not in functions]
    for _ in range(_DEEP):
        before = sum(map(len, routes.values()))
        for macro in own:
            for route in [*_through(macro, functions, routes), *_named_routes(macro, routes)]:
                routes.setdefault(macro.name, set()).add(route)
        if sum(map(len, routes.values())) == before:
            break
    return routes


def _through(macro: Macro, functions: frozenset[str], routes: dict[str, set[_Route]]) -> Iterator[_Route]:
    """The routes from a macro to the functions that its body names."""
    if macro.parameters is None:
        if macro.bare in functions:
            yield _Route(macro.bare, bare=True)
        yield from list(routes.get(macro.bare, ()))
        return
    words = set(_WORD.findall(macro.body)) if macro.rest else set()
    for name in sorted(word for word in words if word in functions or word in routes):
        for values in _calls(macro.body, name):
            for route in [_Route(name)] if name in functions else list(routes[name]):
                if (
                    values[-1] == macro.rest
                    and route.name_argument < 0
                    and not route.packed
                    and len(values) > route.gives
                ):
                    yield _Route(route.function, route.first + len(values) - 1 - route.gives, len(macro.parameters))


def _named_routes(macro: Macro, routes: dict[str, set[_Route]]) -> Iterator[_Route]:
    """The routes from a macro to whatever function its user names."""
    parameters = macro.parameters or ()
    for number, name in enumerate(parameters):
        for values in _calls(macro.body, name):
            if macro.rest and values[-1] == macro.rest:
                yield _Route("", len(values) - 1, len(parameters), number)
        beside = next(
            filter(
                None,
                (
                    _BESIDE.match(macro.body, at + len(name))
                    for at in whole_names(macro.body, name)
                    if macro.body[at - 1 : at] != "#"
                ),
            ),
            None,
        )
        if beside and beside[1] in parameters:
            yield _Route("", 0, parameters.index(beside[1]), number, packed=True)
    words = set(_WORD.findall(macro.body)) if parameters else set()
    for name in sorted(word for word in words if word in routes):
        for route in [route for route in routes[name] if route.name_argument >= 0]:
            for values in _calls(macro.body, name):
                if (
                    max(route.name_argument, route.gives) >= len(values)
                    or values[route.name_argument] not in parameters
                ):
                    continue
                named_at, last = parameters.index(values[route.name_argument]), values[-1]
                if route.packed and values[route.gives] in parameters:
                    yield _Route("", 0, parameters.index(values[route.gives]), named_at, packed=True)
                elif not route.packed and macro.rest and last == macro.rest:
                    yield _Route("", route.first + len(values) - 1 - route.gives, len(parameters), named_at)


_WORD = re.compile(r"[A-Za-z_]\w*")
_BESIDE = re.compile(r"\s+(\w+)")


def _calls(body: str, name: str) -> Iterator[list[str]]:
    """The arguments' texts of each call of a name in a macro's body that has any."""
    for at in whole_names(body, name):
        argument_list = call_arguments(body, at + len(name))
        if argument_list and argument_list[0]:
            yield [body[start:end].removeprefix("##").strip() for start, end in argument_list[0]]


_PACK = re.compile(r".*\.\.\.", re.S)


def rest(view: View, open_at: int, spans: list[Span]) -> int | None:
    """Which of a call's arguments stands for any number of them: a pack, or what a macro's `...` takes."""
    macro = view.macro_at(open_at)
    for number, span in enumerate(spans):
        text = view.code[slice(*span)]
        if _PACK.fullmatch(text) or (macro and macro.rest and text.removeprefix("##").strip() == macro.rest):
            return number
    return None
