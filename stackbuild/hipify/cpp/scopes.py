"""Where a name that CUDA has is somebody else's: declared in a class or a named namespace, or brought by `using`.

A class's name is left as it is, at its declaration and where it is used: other files name it as `x.name`. A namespace's
is renamed with CUDA's, also where it is qualified in this file: other files of the namespace name it without. A function
that the program itself defines under a name of CUDA's keeps it, and is what the file means by it: renamed, it would take
the place of HIP's function, which it may call.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from stackbuild.hipify.cpp.braces import Braces, Span
from stackbuild.hipify.cpp.scan import back_token, call_arguments, is_name_char, qualifier, skip_space

_BRACKET = re.compile(r"([()])")
_FUNCTION = re.compile(r"\)\s*(?:const|noexcept|override|final|mutable|volatile|&&?|->[^{;]*|\s)*\Z")
_SPACE = re.compile(r"namespace(?<!\wnamespace)\s+((?:\w+\s*::\s*)*\w+)")
_CLASS = re.compile(
    r"\b(?:struct|class|union)\b(?:\s*\[\[[^\]]*\]\])?[\s()]*((?:\w+[\s()]+)*?)(\w+)?\s*(?:<[^{;]*>)?\s*(?:\bfinal\s*)?(?::[^:].*|\Z)",
    re.S,
)
_SCOPED_ENUM = re.compile(r"\benum\s+(?:class|struct)\b")
_ENUM = re.compile(r"\benum\b[^;{}()=]*\Z")
_USING_NAME = re.compile(r"using\s[\w:\s]*::\s*(\w+)\s*;")
_USING = re.compile(r"\busing\s+(?:typename\s+)?[\w:\s]*\Z")
# What ends a declarator, by the sign before its name.
_AFTER = {"*": ")(;,[", "&": ")(;,[", ">": "(;,[", ")": ";,", "{": ",}=", ",": ",}="}
_MAY_FOLLOW = frozenset("(){};:=,[")
_ANY_EXTERN = re.compile(r"extern\s*\"")
_EXTERN = re.compile(r"\bextern\s*\"[^\"]*\"\s*\Z")
_TRANSPARENT = re.compile(r"\bextern\s*\"[^\"]*\"\s*\Z|\bnamespace\s*\Z")
_BODY = re.compile(r"\s*(?:noexcept\s*)?(?:->[^;{}]{0,4096})?\{")
_MEMBER = re.compile(r"\b(\w+)(?=\s*(?:<[^{};]{0,4096}>)?\s*::\s*~?\w+\s*\()")
_DECLARATOR = 4096
"""So far before a name its `decltype(…)` may begin."""
_DECLTYPE = re.compile(r"\bdecltype\s*\([^;{}]*\)\Z")
_TYPE_WORDS = frozenset(("struct", "class", "union", "enum"))
_NO_TYPE = _TYPE_WORDS | frozenset(
    ("return", "else", "do", "throw", "case", "goto", "new", "delete", "typename", "using", "namespace", "sizeof", "not", "and", "or", "xor",
     "co_return", "co_await", "co_yield", "operator", "in", "typedef", "public", "private", "protected", "template", "defined", "define", "undef", "ifdef",
     "ifndef", "if", "elif", "include", "pragma", "friend", "const", "volatile", "constexpr", "static", "inline", "virtual", "mutable", "explicit", "extern", "alignof", "typeof", "typeid"),
)  # fmt: skip


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

    def __init__(self, code: str, braces: Braces) -> None:
        self._code = code
        self._braces = braces
        self._kinds: dict[int, _DeclarationKind] = {}
        self._inside: dict[_Asks, dict[int, bool]] = {}

    def declarations(self, name: str, places: list[int]) -> list[Declaration]:
        """The declarations of `name`, which stands at `places`, in scopes of their own."""
        scopes = (self._scope(at) for at in places if self._may_declare(at, at + len(name)))
        declarations = [declaration for declaration in scopes if declaration is not None]
        spaces = {declaration.space for declaration in declarations}
        targets = (self._using_declaration(at, spaces) for at in places) if name in self._using_names else ()
        return declarations + [declaration for declaration in targets if declaration is not None]

    def definitions(self, name: str, places: list[int]) -> list[Declaration]:
        """The definitions of `name`, which stands at `places`, as a function of the program: outside of named scopes."""
        definitions = [
            (at, body)
            for at in places
            if self._may_declare(at, at + len(name))
            and not self._is_inside(at, _is_opaque)
            and (body := self._body(at + len(name)))
        ]
        edges = [0, *(edge for _, body in definitions for edge in body), len(self._code)]
        spans = tuple(zip(edges[::2], edges[1::2], strict=True))
        return [Declaration(at, "the program", spans, is_global=True) for at, _ in definitions]

    def _is_inside(self, at: int, asks: _Asks) -> bool:
        """Whether any braces around an offset have a head of which this is so. What is known of outer braces is kept."""
        answers = self._inside.setdefault(asks, {-1: False})
        new: list[int] = []
        last = -1
        for last in self._braces.around(at):
            if last in answers:
                break
            new.append(last)
        else:
            last = -1
        answer = answers[last]
        for number in reversed(new):
            answer = answers[number] = answer or asks(self._braces.head(number))
        return answer

    def _body(self, end: int) -> Span | None:
        """The body of the function whose name ends at an offset."""
        parameters = call_arguments(self._code, end)
        if parameters is None or not (head := _BODY.match(self._code, parameters[1] + 1)):
            return None
        number = self._braces.opening_at(head.end() - 1)
        return None if number is None else self._braces.span(number)

    @cached_property
    def _using_names(self) -> frozenset[str]:
        """The names that `using other::name;` brings."""
        return frozenset(_USING_NAME.findall(self._code))

    def _may_declare(self, at: int, end: int) -> bool:
        """Whether a type stands before a name and what ends a declarator after it, or it is an enumerator."""
        code, count = self._code, self._braces.count
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
        start = self._braces.statement(at)
        if count("(", start, at) - count(")", start, at) != (right == ")") or count("friend", start, at):
            return False
        if left == ")":
            return _DECLTYPE.search(code[max(start, at - _DECLARATOR) : at].rstrip()) is not None
        return right == ")" or left not in ("*", "&", ">") or not count("=", start, at)

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
        number = self._braces.innermost(at)
        if number < 0:
            return None
        if number not in self._kinds:
            self._kinds[number] = _kind(self._braces.head(number))
        kind, name = self._kinds[number]
        inner = self._braces.span(number)
        if kind == "enumeration":
            return Declaration(at, "an enumeration", (inner,))
        if not kind and _ENUM.search(self._braces.head(number)):
            return self._enumerator(at, number)
        if not kind or self._code[back_token(self._code, at) - 1] in "{,":
            return None
        if kind == "namespace":
            return Declaration(at, f"namespace {name}", space=name.rpartition("::")[2])
        return Declaration(at, f"class {name}".strip(), (inner, *self._bodies.get(name, ())))

    def _enumerator(self, at: int, number: int) -> Declaration | None:
        """A name in an enumeration without a scope of its own is the namespace's around it."""
        outer = next((one for one in self._braces.around(at) if one != number), -1)
        kind, name = _kind(self._braces.head(outer)) if outer >= 0 else ("", "")
        return Declaration(at, f"namespace {name}", space=name.rpartition("::")[2]) if kind == "namespace" else None

    def in_space(self, at: int) -> bool:
        """Whether a named namespace is around an offset."""
        return self._is_inside(at, _is_space)

    def in_c(self, at: int) -> bool:
        """Whether the braces of an `extern "C"` are around an offset."""
        return self._has_extern and self._is_inside(at, _is_c)

    @cached_property
    def _has_extern(self) -> bool:
        return _ANY_EXTERN.search(self._code) is not None

    def _using_declaration(self, at: int, spaces: set[str]) -> Declaration | None:
        """`using other::name;`: the rest of the scope that it stands in, unless the text declares that name itself."""
        before = qualifier(self._code, at)
        if before in ("", "::", ".", "->") or not _USING.search(self._code, max(0, at - 200), at):
            return None
        if (space := before.removesuffix("::")) in spaces:
            return None
        inner = self._braces.innermost(at)
        end = self._braces.span(inner)[1] if inner >= 0 else len(self._code)
        return Declaration(at, f"namespace {space}", ((at, end),))

    @cached_property
    def _bodies(self) -> dict[str, list[Span]]:
        """The bodies of functions of each class that are defined outside it: `name::f(…) {…}`."""
        bodies: dict[str, list[Span]] = {}
        for number in range(len(self._braces.opens)):
            for name in set(_MEMBER.findall(self._braces.head(number))):
                bodies.setdefault(name, []).append(self._braces.span(number))
        return bodies


_DeclarationKind = tuple[str, str]
_Asks = Callable[[str], bool]


def _is_opaque(head: str) -> bool:
    """Whether braces hide what they hold: all do but those of `extern "C"` and of a namespace without a name."""
    return _TRANSPARENT.search(head) is None


def _is_space(head: str) -> bool:
    return _SPACE.search(head) is not None


def _is_c(head: str) -> bool:
    return _EXTERN.search(head) is not None


def _kind(head: str) -> _DeclarationKind:
    """What the braces after a head are, "enumeration", "namespace", "class" or "", and its name."""
    if _SCOPED_ENUM.search(head):
        return "enumeration", ""
    if space := _SPACE.search(head):
        return "namespace", "".join(space.group(1).split())
    plain = _without_brackets(head)
    if _FUNCTION.search(head) or "=" in plain or not (match := _CLASS.search(plain)):
        return "", ""
    return "class", match.group(2) or ""


def _without_brackets(head: str) -> str:
    """A text without its round brackets and what they hold. Those that nothing closes, or that close nothing, stay."""
    parts: list[str] = []
    open_places: list[int] = []
    for part in _BRACKET.split(head):
        if part == ")" and open_places:
            del parts[open_places.pop() :]
            continue
        if part == "(":
            open_places.append(len(parts))
        parts.append(part)
    return "".join(parts)
