"""Where a name that CUDA has is somebody else's: declared in a class or a named namespace, or brought by `using`.

A class's name is left as it is, at its declaration and where it is used: other files name it as `x.name`. A namespace's
is renamed with CUDA's, also where it is qualified in this file: other files of the namespace name it without. A function
that the program itself defines under a name of CUDA's keeps it, and is what the file means by it: renamed, it would take
the place of HIP's function, which it may call.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from stackbuild.hipify.scan import arguments, back_token, is_name_char, qualifier, skip_space

_BRACE = re.compile(r"[{}]")
_NESTED = re.compile(r"\([^()]*\)")
_FUNCTION = re.compile(r"\)\s*(?:const|noexcept|override|final|mutable|volatile|&&?|->[^{;]*|\s)*\Z")
_SPACE = re.compile(r"\bnamespace\s+((?:\w+\s*::\s*)*\w+)")
_CLASS = re.compile(
    r"\b(?:struct|class|union)\b(?:\s*\[\[[^\]]*\]\])?[\s()]*((?:\w+[\s()]+)*?)(\w+)?\s*(?:<[^{;]*>)?\s*(?:\bfinal\s*)?(?::[^:].*|\Z)",
    re.S,
)
_SCOPED_ENUM = re.compile(r"\benum\s+(?:class|struct)\b")
_BROUGHT = re.compile(r"using\s[\w:\s]*::\s*(\w+)\s*;")
_USING = re.compile(r"\busing\s+(?:typename\s+)?[\w:\s]*\Z")
# What ends a declarator, by the sign before its name.
_AFTER = {"*": ")(;,[", "&": ")(;,[", ">": "(;,[", ")": ";,", "{": ",}=", ",": ",}="}
_MAY_FOLLOW = frozenset("(){};:=,[")
_ANY_EXTERN = re.compile(r"extern\s*\"")
_EXTERN = re.compile(r"\bextern\s*\"[^\"]*\"\s*\Z")
_TRANSPARENT = re.compile(r"\bextern\s*\"[^\"]*\"\s*\Z|\bnamespace\s*\Z")
_BODY = re.compile(r"\s*(?:noexcept\s*)?(?:->[^;{}]*)?\{")
_DECLTYPE = re.compile(r"\bdecltype\s*\([^;{}]*\)\Z")
_TYPE_WORDS = frozenset(("struct", "class", "union", "enum"))
_NO_TYPE = _TYPE_WORDS | frozenset(
    ("return", "else", "do", "throw", "case", "goto", "new", "delete", "typename", "using", "namespace", "sizeof", "not", "and", "or", "xor",
     "co_return", "co_await", "co_yield", "operator", "in", "public", "private", "protected", "template", "defined", "define", "undef", "ifdef",
     "ifndef", "if", "elif", "include", "pragma", "friend", "const", "volatile", "constexpr", "static", "inline", "virtual", "mutable", "explicit", "extern", "alignof", "typeof", "typeid"),
)  # fmt: skip

Span = tuple[int, int]


@dataclass(frozen=True)
class Declaration:
    """A name that is declared at an offset as something of `scope`, and the spans in which it means that and stays.

    `space` is the last part of the namespace that declares it; such a name has no spans. What `is_global` is a function
    of the program, with a body, and means that in the whole text but in such bodies.
    """

    at: int
    scope: str
    spans: tuple[Span, ...] = ()
    space: str = ""
    is_global: bool = False


class Scopes:
    """The braces of a text, and what is declared directly inside those of classes and named namespaces."""

    def __init__(self, code: str) -> None:
        self._code = code
        self._opened: list[Span] | None = None

    def declared(self, name: str, places: list[int]) -> list[Declaration]:
        """The declarations of `name`, which stands at `places`, in scopes of their own."""
        scoped = (self._scope(at) for at in places if self._may_declare(at, at + len(name)))
        found = [declaration for declaration in scoped if declaration is not None]
        spaces = {declaration.space for declaration in found}
        used = (self._used(at, spaces) for at in places) if name in self._brought else ()
        return found + [declaration for declaration in used if declaration is not None]

    def defined(self, name: str, places: list[int]) -> list[Declaration]:
        """The definitions of `name`, which stands at `places`, as a function of the program: outside of named scopes."""
        found = [
            (at, body)
            for at in places
            if self._may_declare(at, at + len(name)) and self._is_outside(at) and (body := self._body(at + len(name)))
        ]
        edges = [0, *(edge for _, body in found for edge in body), len(self._code)]
        spans = tuple(zip(edges[::2], edges[1::2], strict=True))
        return [Declaration(at, "the program", spans, is_global=True) for at, _ in found]

    def _is_outside(self, at: int) -> bool:
        """Whether no braces are around an offset but those of `extern "C"` and of namespaces without a name."""
        around = (span for span in self._pairs() if span[0] < at < span[1])
        return all(_TRANSPARENT.search(self._head(span[0])) for span in around)

    def _body(self, end: int) -> Span | None:
        """The body of the function whose name ends at an offset."""
        parameters = arguments(self._code, skip_space(self._code, end))
        if parameters is None or not (head := _BODY.match(self._code, parameters[1] + 1)):
            return None
        return next((span for span in self._pairs() if span[0] == head.end() - 1), None)

    @cached_property
    def _brought(self) -> frozenset[str]:
        """The names that `using other::name;` brings."""
        return frozenset(_BROUGHT.findall(self._code))

    def _may_declare(self, at: int, end: int) -> bool:
        """Whether a type stands before a name and what ends a declarator after it, or it is an enumerator."""
        code = self._code
        after = skip_space(code, end)
        right = code[after : after + 1]
        if right not in _MAY_FOLLOW:
            return False
        before = back_token(code, at)
        left = code[before - 1 : before]
        if is_name_char(left):
            if not self._follows_type(before, right) or code.startswith("::", after):
                return False
        elif not right or right not in _AFTER.get(left, ""):
            return False
        head = code[_statement(code, at) : at]
        if head.count("(") - head.count(")") != (right == ")") or "friend" in head.split():
            return False
        if left == ")":
            return _DECLTYPE.search(head.rstrip()) is not None
        return right == ")" or left not in ("*", "&", ">") or "=" not in head

    def _follows_type(self, before: int, right: str) -> bool:
        """Whether the word that ends at an offset may be a type, and the sign may end the declarator that follows it."""
        start = before
        while start and is_name_char(self._code[start - 1]):
            start -= 1
        word = self._code[start:before]
        if word in _TYPE_WORDS:
            return right in ("{", ";", ":")
        if word == "using":
            return right == "="
        return word not in _NO_TYPE and right in ("(", ";", ",", "=", "[", "{", ":")

    def _scope(self, at: int) -> Declaration | None:
        """What a name at an offset is a declaration of: the class or namespace whose braces are the innermost around it."""
        if (inner := self._innermost(at)) is None:
            return None
        head = self._head(inner[0])
        if _SCOPED_ENUM.search(head):
            return Declaration(at, "an enumeration", (inner,))
        if self._code[back_token(self._code, at) - 1] in "{,":
            return None
        if space := _SPACE.search(head):
            name = "".join(space.group(1).split())
            return Declaration(at, f"namespace {name}", space=name.rpartition("::")[2])
        plain = head
        while (shorter := _NESTED.sub("", plain)) != plain:
            plain = shorter
        if _FUNCTION.search(head) or "=" in plain or not (made := _CLASS.search(plain)):
            return None
        name = made.group(2) or ""
        return Declaration(at, f"class {name}".strip(), (inner, *(self._bodies(name) if name else ())))

    def in_space(self, at: int) -> bool:
        """Whether a named namespace is around an offset."""
        around = (span for span in self._pairs() if span[0] < at < span[1])
        return any(_SPACE.search(self._head(span[0])) for span in around)

    def in_c(self, at: int) -> bool:
        """Whether the braces of an `extern "C"` are around an offset."""
        return self._has_extern and any(
            span[0] < at < span[1] and _EXTERN.search(self._head(span[0])) for span in self._pairs()
        )

    @cached_property
    def _has_extern(self) -> bool:
        return _ANY_EXTERN.search(self._code) is not None

    def _used(self, at: int, spaces: set[str]) -> Declaration | None:
        """`using other::name;`: the rest of the scope that it stands in, unless the text declares that name itself."""
        found = qualifier(self._code, at)
        if found in ("", "::", ".", "->") or not _USING.search(self._code, max(0, at - 200), at):
            return None
        if (space := found.removesuffix("::")) in spaces:
            return None
        inner = self._innermost(at)
        return Declaration(at, f"namespace {space}", ((at, inner[1] if inner else len(self._code)),))

    def _bodies(self, name: str) -> list[Span]:
        """The bodies of functions of a class that are defined outside it: `name::f(…) {…}`."""
        outside = re.compile(rf"\b{re.escape(name)}\s*(?:<[^{{}};]*>)?\s*::\s*~?\w+\s*\(")
        return [span for span in self._pairs() if outside.search(self._head(span[0]))]

    def _head(self, open_at: int) -> str:
        """What stands before a `{` since the statement before it."""
        return self._code[_statement(self._code, open_at) : open_at]

    def _pairs(self) -> list[Span]:
        if self._opened is None:
            pairs, stack = [], []
            for brace in _BRACE.finditer(self._code):
                if brace.group() == "{":
                    stack.append(brace.start())
                elif stack:
                    pairs.append((stack.pop(), brace.start()))
            self._opened = sorted(pairs + [(at, len(self._code)) for at in stack])
        return self._opened

    def _innermost(self, at: int) -> Span | None:
        pairs = self._pairs()
        for number in range(bisect_right(pairs, (at, 0)) - 1, -1, -1):
            if pairs[number][1] > at:
                return pairs[number]
        return None


def _statement(code: str, at: int) -> int:
    """The offset after the `;`, brace or preprocessor line before an offset."""
    start = max(code.rfind(mark, 0, at) for mark in ";{}") + 1
    while (line := re.compile(r"\s*#[^\n]*\n").match(code, start, at)) is not None:
        start = line.end()
    return start
