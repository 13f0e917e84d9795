"""Runs one loop of C++ for the numbers it counts with, and notes the step of one shuffle at every pass.

Only what the step depends on is followed. A branch whose condition is not known may run: what it changes is unknown after it.
"""

from __future__ import annotations

import re
from functools import lru_cache

from stackbuild.hipify.lint.cpp import arithmetic
from stackbuild.hipify.lint.cpp.arithmetic import Env, NoValue
from stackbuild.hipify.lint.cpp.statements import Block, Conditional, Loop, Plain, Statement

_MOST = 70
_TYPED_TEXT = re.compile(
    r"(?:(?:const|constexpr|static|volatile|unsigned|signed|long|short|int|auto|register|typename|[A-Za-z_][\w:]*(?:<[^<>;]*>)?)\s*[&*]*\s+)+(?=[A-Za-z_]\w*\s*(?:=(?!=)|\{|\(|,|\Z))"
)
_DECLARATOR = re.compile(r"([A-Za-z_]\w*)\s*(?:=\s*(.*)|\{(.*)\}|\((.*)\))?", re.S)
_JUMP = re.compile(r"(?:break|continue|return|goto)\b")
_NO_TYPE = re.compile(r"(?:return|delete|throw|case|goto|else|typedef|using)\b")
_SETS = re.compile(
    r"([A-Za-z_]\w*)\s*(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)|(?:\+\+|--)\s*([A-Za-z_]\w*)"
    r"|\b(?:int|unsigned|auto|long|short|size_t|\w+_t)\s+([A-Za-z_]\w*)\s*[{(]"
)


class UntraceableLoop(Exception):
    """The loop cannot be followed."""


class _Jump(Exception):
    """A `break`, `continue` or `return` that is certain."""


def names_set(code: str, loop: Loop) -> set[str]:
    """The names that a loop's head and body change, by a quick look."""
    return _set_in(code[loop.at : loop.end])


@lru_cache(maxsize=256)
def _set_in(text: str) -> set[str]:
    return {name for groups in _SETS.findall(text) for name in groups if name}


@lru_cache(maxsize=2048)
def declarations(text: str) -> list[tuple[str, str]] | None:
    """The names and values of a declaration (`int o = 16, n{0}`), None for another statement."""
    typed_match = _TYPED_TEXT.match(text)
    if typed_match is None or _NO_TYPE.match(text):
        return None
    pairs: list[tuple[str, str]] = []
    for part in _by_comma(text[typed_match.end() :]):
        match = _DECLARATOR.fullmatch(part.strip())
        if match is None:
            return None
        pairs.append((match[1], next((v.strip() for v in match.groups()[1:] if v is not None), "")))
    return pairs


def _by_comma(text: str) -> list[str]:
    if "," not in text:
        return [text]
    parts, depth, start = [], 0, 0
    for at, sign in enumerate(text):
        depth += 1 if sign in "([{" else -1 if sign in ")]}" else 0
        if sign == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]


class Interpreter:
    """One loop, the span of the shuffle in it, and the texts of the shuffle's step and width."""

    def __init__(self, code: str, loop: Loop, at: int, end: int, step: str, width: str) -> None:
        self.code = code
        self.loop = loop
        self.span = (at, end)
        self.step = arithmetic.parse(step)
        self.wide = arithmetic.parse(width) if width else None
        self.width = 0
        self.followed_names: set[str] = set()
        self.live_names: set[str] = set()
        self.changes: list[str] = []
        self.visits: list[int] = []
        self.passes = 0
        self._texts: dict[tuple[int, int], str] = {}
        self._does: dict[str, list[tuple[str, arithmetic.Expression | None]]] = {}
        self._trace()

    def text(self, span: tuple[int, int]) -> str:
        if span not in self._texts:
            text = self.code[span[0] : span[1]].replace("\\\n", " ").replace("\\\r\n", " ")
            self._texts[span] = text.strip()
        return self._texts[span]

    def free(self) -> set[str]:
        """The names whose values the loop needs and does not give itself."""
        return self.live_names - self._set_names

    def condition_names(self) -> set[str]:
        """The names in the loop's condition."""
        return set(arithmetic.names(self.text(self.loop.condition)) or ())

    def scales(self) -> bool:
        """Whether the step is multiplied or divided from pass to pass: `o >>= 1`, `o = o / 2`, `o += o`, `1 << i`."""
        names = arithmetic.read_names(self.step) if self.step else set()
        trees = [
            t
            for text in [self.text(self.loop.step), self.text(self.loop.condition), *self.changes]
            if (t := _tree(text))
        ]
        if self.step is not None and _shifts(self.step, self.followed_names):
            return True
        for tree in trees:
            for node in arithmetic.walk(tree):
                if node[0] == "set" and node[1] in names and _multiplies(node[2], str(node[1])):  # type: ignore[arg-type]
                    return True
                if node[0] == "set" and node[1] in names and _shifts(node[2], self.followed_names - names):  # type: ignore[arg-type]
                    return True
        return False

    def _trace(self) -> None:
        """Find what the step depends on: the names, and the statements that change them."""
        statements = [s for s in _plain(self.loop.body) if s.end - s.start < 300]
        texts = [self.text((s.start, s.end)) for s in statements]
        changing = [(text, _changes(text)) for text in texts]
        head = [self.text(self.loop.step), self.text(self.loop.condition)]
        changing += [(text, _changes(text)) for text in head]
        names = arithmetic.read_names(self.step) if self.step else set()
        names |= arithmetic.names(self.text(self.loop.condition)) or set()
        first = _changes(self.text(self.loop.first))
        while True:
            before = len(names)
            for _, sets in [*changing, ("", first)]:
                for name, reads in sets:
                    if name in names:
                        names |= reads
            if len(names) == before:
                break
        self.followed_names = {name for _, sets in changing for name, _ in sets if name in names}
        self.followed_names |= {name for name, _ in first}
        local = {n for text in texts for n, _ in declarations(text) or ()}
        self._set_names = {name for name, _ in first} | (local & self.followed_names)
        self.live_names = names | {n for _, reads in first for n in reads}
        self.changes = [text for text, sets in changing if any(name in names for name, _ in sets) and text not in head]

    def run(self, env: Env) -> tuple[int, ...]:
        """The steps that the loop visits from these values on. Raises UntraceableLoop."""
        self.visits, self.passes = [], 0
        try:
            self._plain_text(self.text(self.loop.first), env)
            self._passes(self.loop, env, certain=True)
        except _Jump:
            pass
        except RecursionError as error:
            raise UntraceableLoop from error
        return tuple(self.visits)

    def _passes(self, loop: Loop, env: Env, certain: bool) -> None:
        asks = loop.kind != "do"
        while True:
            if asks and not self._holds(loop, env):
                return
            asks = True
            self.passes += 1
            if self.passes > _MOST * 3 or len(self.visits) > _MOST:
                raise UntraceableLoop
            try:
                self._do(loop.body, env)
            except _Jump as jump:
                if str(jump) != "continue":
                    return
            self._plain_text(self.text(loop.step), env)

    def _holds(self, loop: Loop, env: Env) -> bool:
        condition = self.text(loop.condition)
        if not condition:
            return True
        tree = arithmetic.parse(condition)
        try:
            if tree is None:
                raise UntraceableLoop
            return bool(arithmetic.run(tree, env))
        except NoValue:
            raise UntraceableLoop from None

    def _do(self, statement: Statement, env: Env) -> None:
        if isinstance(statement, Block):
            for part in statement.parts:
                self._do(part, env)
        elif isinstance(statement, Conditional):
            self._branch(statement, env)
        elif isinstance(statement, Loop):
            self._inner(statement, env)
        else:
            self._plain(statement, env)

    def _branch(self, branch: Conditional, env: Env) -> None:
        self._note(branch.condition, env)
        tree = arithmetic.parse(self.text(branch.condition))
        try:
            condition = None if tree is None else bool(arithmetic.run(tree, env))
        except NoValue:
            condition = None
        if condition is not None:
            part = branch.then if condition else branch.other
            if part is not None:
                self._do(part, env)
            return
        self._maybe([branch.then, *([branch.other] if branch.other else [])], env)

    def _maybe(self, parts: list[Statement], env: Env) -> None:
        """Run parts that may run: what differs after them is unknown."""
        ends = [dict(env)]
        for part in parts:
            after = dict(env)
            try:
                self._do(part, after)
            except _Jump:
                continue
            ends.append(after)
        for name in {n for end in ends for n in end}:
            values = {end.get(name) for end in ends}
            env[name] = values.pop() if len(values) == 1 else None

    def _inner(self, loop: Loop, env: Env) -> None:
        """A loop inside: run where it can be, else once as one that may run."""
        trial, visits, passes = dict(env), list(self.visits), self.passes
        try:
            self._plain_text(self.text(loop.first), trial)
            self._passes(loop, trial, certain=False)
            env.update(trial)
            if len(self.visits) > len(visits) and len(set(self.visits[len(visits) :])) == 1:
                self.visits = self.visits[: len(visits) + 1]  # the same step for several values is one step
        except UntraceableLoop:
            self.visits, self.passes = visits, passes
            self._maybe([loop.body], env)

    def _plain(self, statement: Plain, env: Env) -> None:
        text = self.text((statement.start, statement.end))
        jump = _JUMP.match(text)
        if jump is not None:
            self._note((statement.start, statement.end), env)
            raise _Jump(jump.group())
        self._note((statement.start, statement.end), env)
        self._plain_text(text, env)

    def _note(self, span: tuple[int, int], env: Env) -> None:
        """Note the shuffle's step where the shuffle stands in this span."""
        if not span[0] <= self.span[0] < span[1]:
            return
        try:
            if self.step is None:
                raise UntraceableLoop
            self.visits.append(arithmetic.run(self.step, env))
        except NoValue:
            raise UntraceableLoop from None
        try:
            self.width = arithmetic.run(self.wide, env) if self.wide else 0
        except NoValue:
            self.width = 0

    def _plain_text(self, text: str, env: Env) -> None:
        if text not in self._does:
            counts = any(name in text for name in self.followed_names)
            self._does[text] = _assignments(text) if counts else []
        for name, tree in self._does[text]:
            try:
                value = None if tree is None else arithmetic.run(tree, env)
            except NoValue:
                value = None
                env.update(dict.fromkeys(arithmetic.set_names(tree) if tree else ()))
            if name:
                env[name] = value


@lru_cache(maxsize=2048)
def _assignments(text: str) -> list[tuple[str, arithmetic.Expression | None]]:
    """What a statement does: a declaration's names with their values, or one expression without a name."""
    rows = declarations(text)
    if rows is not None:
        return [(name, arithmetic.parse(value) if value else None) for name, value in rows]
    tree = arithmetic.parse(text)
    if tree is None:
        return [(name, None) for groups in _SETS.findall(text) for name in groups if name]
    return [("", tree)]


@lru_cache(maxsize=4096)
def _changes(text: str) -> list[tuple[str, set[str]]]:
    """The names that a statement changes, each with the names that its new value depends on."""
    changes: list[tuple[str, set[str]]] = []
    for name, tree in _assignments(text):
        if tree is None:
            changes += [(name, set())] if name else []
            continue
        if name:
            changes.append((name, arithmetic.read_names(tree)))
        for node in arithmetic.walk(tree):
            if node[0] == "set" and node[1]:
                changes.append((str(node[1]), arithmetic.read_names(node)))
    return changes


def _plain(statement: Statement) -> list[Plain]:
    """The plain statements of a tree, and the heads of the loops in it."""
    if isinstance(statement, Plain):
        return [statement]
    if isinstance(statement, Block):
        return [p for part in statement.parts for p in _plain(part)]
    if isinstance(statement, Conditional):
        return _plain(statement.then) + (_plain(statement.other) if statement.other else [])
    return [Plain(*statement.first), Plain(*statement.step), Plain(*statement.condition), *_plain(statement.body)]


@lru_cache(maxsize=4096)
def _tree(text: str) -> arithmetic.Expression | None:
    """The tree of a statement; a declaration's is that of assignments."""
    rows = declarations(text)
    if rows is None:
        return arithmetic.parse(text)
    trees = [("set", name, tree) for name, value in rows if (tree := arithmetic.parse(value)) is not None]
    return ("then", *trees) if trees else None


def _multiplies(tree: arithmetic.Expression, name: str) -> bool:
    """Whether a new value is the old one times or by something, or twice the old one."""
    for node in arithmetic.walk(tree):
        if node[0] == "two" and node[1] in ("*", "/", "<<", ">>") and name in arithmetic.read_names(node[2]):  # type: ignore[arg-type]
            return True
        if node[0] == "two" and node[1] == "+" and node[2] == node[3] == ("name", name):
            return True
    return False


def _shifts(tree: arithmetic.Expression, counters: set[str]) -> bool:
    """Whether a number is shifted by what the loop counts."""
    return any(
        node[0] == "two" and node[1] in ("<<", ">>") and not arithmetic.read_names(node[3]).isdisjoint(counters)  # type: ignore[arg-type]
        for node in arithmetic.walk(tree)
    )
