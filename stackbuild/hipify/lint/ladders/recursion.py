"""Shuffle ladders that a function makes by calling itself: with another template argument, or another step.

    template <int N> float sum(float v) { v += __shfl_xor_sync(m, v, N); if constexpr (N > 1) return sum<N / 2>(v); return v; }

Each call is run as a pass of a loop is, from the values that the text starts it with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from stackbuild.hipify.cpp.keywords import BEFORE_EXPRESSIONS
from stackbuild.hipify.cpp.scan import NAME, after_template, arguments, skip_space
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.lint.cpp import arithmetic, functions
from stackbuild.hipify.lint.cpp.arithmetic import Env, NoValue
from stackbuild.hipify.lint.cpp.functions import Function, Parameter
from stackbuild.hipify.lint.cpp.interpret import UntraceableLoop, declarations
from stackbuild.hipify.lint.cpp.scope import Scope, means_warp, scope_of
from stackbuild.hipify.lint.cpp.statements import Block, Conditional, Loop, NotStatement, Plain, Statement, Statements
from stackbuild.hipify.lint.ladders.loops import LANES, Ladder, UntracedLoop, is_tiled
from stackbuild.hipify.lint.ladders.shuffles import Shuffle

_MOST = 12
"""Calls of one row: a step that doubles or halves passes every lane in fewer."""
_OF_VARIABLE = re.compile(r"<([^<>;{}()&|]*)>\s*[A-Za-z_]\w*\s*[;({=,]")
"""The template arguments of a variable's type, which read alone could be comparisons."""
_TERNARY = re.compile(r"return\b([^?;]*)\?")


@dataclass(frozen=True)
class _RecursiveCalls:
    """A function's calls of itself and its uses, by the texts of one argument: the parameter that its step depends on."""

    function: Function
    parameter: str
    again: tuple[tuple[int, str], ...]
    starts: tuple[str, ...]
    ends: frozenset[int]


def ladders(view: View, calls: Iterable[Shuffle]) -> Iterator[Ladder | UntracedLoop]:
    """The ladders of functions that call themselves, each once for every value that it is started with.

    One that only other files start, or that could not be followed, is an UntracedLoop.
    """
    scope = scope_of(view)
    starts: set[int] = set()
    again: dict[int, bool] = {}
    for call in calls:
        function = functions.around(view, call.at) if call.place else None
        if function is None or function.special or function.start in starts:
            continue
        if function.start not in again:
            places = [at for name in {function.owner, function.name} if name for at in view.places(name)]
            again[function.start] = any(function.start < at < function.end for at in places)
        if not again[function.start]:
            continue
        for step, width in call.steps():
            if (own_calls := _calls(view, function, _stands_on(view, function, step))) is not None:
                starts.add(function.start)
                yield from _ladders(view, scope, call, own_calls, step, width)
                if not own_calls.starts:
                    yield UntracedLoop(call.at, step)


def _ladders(
    view: View, scope: Scope, call: Shuffle, calls: _RecursiveCalls, step: str, width: str
) -> Iterator[Ladder | UntracedLoop]:
    try:
        body, _ = Statements(view.code, calls.function.end + 1).block(calls.function.start, 0)
    except NotStatement:
        return
    tree = arithmetic.parse(step)
    if tree is None:
        return
    text = view.code[calls.function.start : calls.function.end]
    sizes = frozenset(name for name in NAME.findall(text) if means_warp(name))
    for start in calls.starts:
        names = arithmetic.names(start)
        if names is None:
            continue
        env: Env = {name: scope.value(name, call.at) for name in names | sizes}
        unknown_names = frozenset(name for name in env if env[name] is None)
        if not all(means_warp(name) for name in unknown_names):
            continue
        try:
            visits = [
                _RecursionTrace(view.code, call, calls, tree, body).visits(
                    start, {**env, **dict.fromkeys(unknown_names, number)}
                )
                for number in LANES
            ]
        except (UntraceableLoop, NoValue):
            yield UntracedLoop(call.at, step)
            continue
        if all(len(one) > 1 and _scales(one) for one in visits):
            wide = 0 if means_warp(width) else arithmetic.value(width, {}) or 0 if width else 0
            yield Ladder(
                call.at, (visits[0], visits[1]), unknown_names, wide, call.mode, tile=call.member and is_tiled(view)
            )


def _scales(steps: tuple[int, ...]) -> bool:
    return all(a == 2 * b or b == 2 * a for a, b in pairwise(steps))


class _RecursionTrace:
    """One function from call to call: the step of its shuffle, and what it calls itself with."""

    def __init__(
        self, code: str, call: Shuffle, calls: _RecursiveCalls, step: arithmetic.Expression, body: Statement
    ) -> None:
        self.code, self.call, self.recursive_calls, self.step, self.body = code, call, calls, step, body
        self.noted_steps: list[int] = []
        self.next: int | None = None

    def visits(self, start: str, env: Env) -> tuple[int, ...]:
        """The steps from a start on. Raises UntraceableLoop and NoValue."""
        value = arithmetic.value(start, {name: number for name, number in env.items() if number is not None})
        for _ in range(_MOST):
            if value is None:
                raise UntraceableLoop
            self.next, before = None, len(self.noted_steps)
            self._do(self.body, {**env, self.recursive_calls.parameter: value})
            if any(step <= 0 for step in self.noted_steps[before:]):
                return tuple(self.noted_steps[:before])
            if self.next is None or self.next in self.recursive_calls.ends:
                return tuple(self.noted_steps)
            value = self.next
        raise UntraceableLoop

    def _do(self, statement: Statement, env: Env) -> bool:
        """Run a statement; whether it returns for certain."""
        if isinstance(statement, Block):
            return any(self._do(part, env) for part in statement.parts)
        if isinstance(statement, Loop):
            raise UntraceableLoop
        if isinstance(statement, Conditional):
            condition = _holds(self.code[slice(*statement.condition)], env)
            if condition is None:
                returns = [self._do(part, dict(env)) for part in (statement.then, statement.other) if part]
                return len(returns) == 2 and all(returns)
            branch = statement.then if condition else statement.other
            return branch is not None and self._do(branch, env)
        return self._plain(statement, env)

    def _plain(self, statement: Plain, env: Env) -> bool:
        text = self.code[statement.start : statement.end].strip()
        if statement.start <= self.call.at < statement.end:
            self.noted_steps.append(arithmetic.run(self.step, env))
        for at, argument in self.recursive_calls.again:
            ternary = _TERNARY.search(self.code, statement.start, at) if statement.start <= at < statement.end else None
            if statement.start <= at < statement.end and not (ternary and _holds(ternary[1], env) is False):
                tree = arithmetic.parse(argument)
                if tree is None:
                    raise UntraceableLoop
                self.next = arithmetic.run(tree, env)
        for name, value in declarations(text) or ():
            env[name] = _number(value, env)
        return text.startswith("return")


def _number(text: str, env: Env) -> int | None:
    tree = arithmetic.parse(text) if text else None
    try:
        return None if tree is None else arithmetic.run(tree, dict(env))
    except NoValue:
        return None


def _holds(text: str, env: Env) -> bool | None:
    value = _number(text.strip(), env)
    return None if value is None else bool(value)


def _stands_on(view: View, function: Function, step: str) -> frozenset[str]:
    """The names that a step depends on, and those that the function computes them from."""
    names = arithmetic.names(step) or frozenset()
    body = view.code[function.start : function.end]
    values = (match[1] for name in names for match in re.finditer(rf"\b{re.escape(name)}\s*=([^;=]*);", body))
    return names.union(*(arithmetic.names(text) or frozenset() for text in values))


def _calls(view: View, function: Function, names: frozenset[str]) -> _RecursiveCalls | None:
    """How a function calls itself with another value for a name that its step depends on; None if it does not."""
    lists = (
        [(function.owner, function.outer, True)] if function.owner else [(function.name, function.parameters, False)]
    )
    if function.template != function.outer:
        lists.insert(0, (function.name, function.template, True))
    for name, parameter_list, is_template in lists:
        places = view.places(name)
        for number, (parameter, default) in enumerate(parameter_list):
            if parameter not in names:
                continue
            all_given = {at: _argument_texts(view.code, at + len(name), is_template) for at in places}
            steps = {at: texts[number] if number < len(texts) else "" for at, texts in all_given.items()}
            again = [(at, text) for at, text in steps.items() if text and function.start < at < function.end]
            if not again or all(text == parameter for _, text in again):
                continue
            outside = [
                (at, text or _fill(default, parameter_list, all_given[at]))
                for at, text in steps.items()
                if not function.start <= at < function.end
            ]
            definitions = {at for at, _ in outside if _is_definition(view.code, at)}
            ends = {int(text) for at, text in outside if at in definitions and text.isdigit()}
            starts = dict.fromkeys(text for at, text in outside if at not in definitions and text and text != parameter)
            return _RecursiveCalls(function, parameter, tuple(again), tuple(starts), frozenset(ends))
    return None


def _fill(default: str, parameters: Sequence[Parameter], arguments: Sequence[str]) -> str:
    """A default with the arguments that a call gives to the parameters that it names."""
    values_by_name = dict(zip((name for name, _ in parameters), arguments, strict=False))
    return NAME.sub(lambda match: f"({values_by_name[match[0]]})" if match[0] in values_by_name else match[0], default)


def _argument_texts(code: str, end: int, is_template: bool) -> list[str]:
    """The texts of the arguments of the call, or of the template, whose name ends at an offset."""
    open_at = after_template(code, end)
    if is_template:
        at = skip_space(code, end)
        text = f"({code[at + 1 : code.rindex('>', at, open_at)]})" if code.startswith("<", at) and open_at > at else ""
        if not text and (variable := _OF_VARIABLE.match(code, at)):
            text = f"({variable[1]})"
    else:
        argument_list = arguments(code, open_at) if code.startswith("(", open_at) else None
        text = code[open_at : argument_list[1] + 1] if argument_list else ""
    parameter_list = arguments(text, 0) if text else None
    return [text[start:end] for start, end in parameter_list[0]] if parameter_list else []


def _is_definition(code: str, at: int) -> bool:
    """Whether a name at an offset is being declared or defined: after a type, or a class's key word."""
    before = re.compile(r"([A-Za-z_]\w*)[\s&*]+\Z|[>&*]\s*\Z").search(code, max(0, at - 80), at)
    return before is not None and before[1] not in BEFORE_EXPRESSIONS
