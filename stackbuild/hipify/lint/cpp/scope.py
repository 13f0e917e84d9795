"""What a name stands for at a place: the warp's size, a constant of the file, or the value given to it before."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from stackbuild.hipify.cpp.scan import NAME, whole_names
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.lint.cpp import arithmetic

_WARP = re.compile(r"\w*(?:WARP|[wW]arp|WAVE|[wW]ave)\w*")
_SIZE = re.compile(r"SIZE|[sS]ize|LANES|[lL]anes|THREADS|[tT]hreads|WIDTH|[wW]idth|^k?[wW]arp$|^WARP$|SZ_*$|[sS]z_*$")
_LANE = re.compile(
    r"(?:\w*_)?(?:lane|LANE)(?:_?(?:id|idx|index|ID|IDX))?_?|laneI(?:d|dx|D|ndex)|(?:\w+L|l)ane(?:Id|Idx)?"
)
_OF_SIZE = re.compile(r"log|bits|shift|tile|(?:size|elem\w*|items?|rows?|cols?|nnz)_?per_?warp", re.I)
_NEAR = 3000
"""So many characters before a place a name is looked for as a local one."""
_DEPTH = 4
_HEAD = 300
"""So many characters before a constant's name its declaration may begin."""
_BRACE = re.compile(r"[{}]")
_INITIALISER = re.compile(r"\s*=\s*([^;,{}=][^;,{}]{0,200})[;,}]|\s*\{([^;{}]{0,200})\}\s*[;,]|[ \t]+(?=[^\s=;,{}])")
_DEFINE = re.compile(r"[ \t]*#[ \t]*define[ \t]+")
_LINE = re.compile(r"[ \t]+([^\n\\]*)")
_AFTER_CONSTANT = re.compile(r"(?:const|enum)[^;})(]*")
_MACRO = re.compile(r"#[ \t]*define[ \t]+(\w+)")
_CONSTANT = re.compile(r"\b(?:constexpr|const|enum)\b")


@lru_cache(maxsize=1 << 14)
def means_warp(name: str) -> bool:
    """Whether a name is a warp's number of lanes by its spelling: warpSize, kWarpSize, C10_WARP_SIZE."""
    last = re.split(r"::|\.|->", name)[-1]
    return _WARP.fullmatch(last) is not None and _SIZE.search(last) is not None and not _OF_SIZE.search(last)


def means_lane(name: str) -> bool:
    """Whether a name is a thread's lane by its spelling: lane, lane_id, laneIdx."""
    return _LANE.fullmatch(re.split(r"::|\.|->", name.removesuffix("()"))[-1]) is not None


@lru_cache(maxsize=1)
def scope_of(view: View) -> Scope:
    """The names of a text, which several checks ask for one after the other."""
    return Scope(view)


@dataclass(eq=False)
class Scope:
    """The names of one text. Answers are kept: a file's constants are asked for again and again."""

    view: View
    _constants: dict[str, int | None] = field(default_factory=dict)
    _parts: dict[int, tuple[str, list[tuple[int, str]]]] = field(default_factory=dict)

    def value(self, name: str, at: int, depth: int = 0) -> int | None:
        """The number a name stands for at an offset, None where that is not known. A warp's size never is."""
        if means_warp(name) or depth > _DEPTH or "(" in name:
            return None
        text = self.value_before(name, at)
        if text is None:
            return self.constant(name, depth)
        return self._evaluate(text, at, depth)

    def constant(self, name: str, depth: int = 0) -> int | None:
        """The number that a macro, constant or enumerator of the file is; None where there is none, or more than one."""
        if name not in self._constants:
            self._constants[name] = None  # one that depends on itself
            values = {self._evaluate(text, 0, depth) for text in self._definitions(name)}
            self._constants[name] = values.pop() if len(values) == 1 else None
        return self._constants[name]

    def _evaluate(self, text: str, at: int, depth: int) -> int | None:
        names = arithmetic.names(text)
        if names is None:
            return None
        env = {n: self.value(n, at, depth + 1) if at else self.constant(n, depth + 1) for n in names}
        return arithmetic.value(text, {n: v for n, v in env.items() if v is not None})

    def _definitions(self, name: str) -> list[str]:
        """The texts that a name is defined by, in macros, constants and enumerations."""
        code, last = self.view.code, name.split("::")[-1]
        definitions: list[str] = []
        if last.isidentifier() and last not in self._defined_names:
            return definitions
        for at in whole_names(code, last):
            match = _INITIALISER.match(code, at + len(last))
            if match is None:
                continue
            line = code.rfind("\n", 0, at) + 1
            if _DEFINE.fullmatch(code, line, at):
                definitions.append(_LINE.match(code, at + len(last))[1])  # type: ignore[index]
            elif match[1] or match[2]:
                start = max(code.rfind(mark, max(0, at - _HEAD), at) for mark in ";})") + 1 or max(0, at - _HEAD)
                head = code[start:at]
                if _CONSTANT.search(head) and "(" not in head:
                    definitions.append(match[1] or match[2])
        return [text.strip() for text in definitions]

    @cached_property
    def _defined_names(self) -> frozenset[str]:
        """All names that may have a definition: those of macros, and what stands after `const`, `constexpr` and `enum`."""
        code = self.view.code
        regions = " ".join(match[0] for match in _AFTER_CONSTANT.finditer(code))
        return frozenset(_MACRO.findall(code)) | frozenset(NAME.findall(regions))

    def value_before(self, name: str, at: int) -> str | None:
        """The text of the last value given to a local name before an offset, "" if it cannot be determined."""
        start = max(0, at - _NEAR)
        if self.view.code.find(name, start, at) < 0:
            return None
        if at not in self._parts:
            self._parts[at] = _open_part(self.view.code[start:at])
        visible, closing = self._parts[at]
        value = None
        word = re.escape(name)
        at_found = -1
        for match in re.finditer(rf"{word}(?<![\w.>:]{word})\s*(?:([-+*/%&|^]|<<|>>)?=(?!=)\s*|(\{{)|(\())", visible):
            if (match[2] or match[3]) and not _after_type(visible[: match.start()]):
                continue
            if at_found >= 0 and "#el" in visible[at_found : match.start()]:
                return ""  # one for each branch of an `#if`
            value = (
                ""
                if match[1] or _in_brackets(visible, match.start())
                else _until(visible, match.end(), match[2] or match[3])
            )
            at_found = match.end()
        if value and any(name in text and _sets(text, word) for where, text in closing if where > at_found):
            return ""
        return value


def _after_type(before: str) -> bool:
    """Whether a text ends with a word or `>` and white space, as it does before what is declared."""
    head = before.rstrip()
    return len(head) < len(before) and (head.endswith(("_", ">")) or head[-1:].isalnum())


def _sets(text: str, word: str) -> bool:
    return (
        re.search(rf"\b{word}\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)|\b{word}\s*(?:\+\+|--)|(?:\+\+|--)\s*{word}\b", text)
        is not None
    )


def _until(text: str, at: int, opener: str | None) -> str:
    """The text of a value that begins at an offset."""
    depth = 0
    for end in range(at, min(len(text), at + 200)):
        sign = text[end]
        if depth == 0 and (sign in ";,{}" or (sign in ")}" and opener)):
            return text[at:end].strip()
        depth += 1 if sign in "([" else -1 if sign in ")]" else 0
    return ""


def _in_brackets(text: str, at: int) -> bool:
    """Whether an offset stands in the brackets of a parameter list or of a loop's head."""
    start = max(text.rfind(mark, 0, at) for mark in ";{}") + 1
    return text.count("(", start, at) > text.count(")", start, at)


def _open_part(before: str) -> tuple[str, list[tuple[int, str]]]:
    """A text with the blocks that are closed in it blanked, and those blocks with where they stand.

    A list's braces (`int o{16}`) have no `;` in them and stay.
    """
    stack: list[int] = []
    spans: list[tuple[int, int]] = []
    for brace in _BRACE.finditer(before):
        if brace.group() == "{":
            stack.append(brace.start())
        elif stack:
            start = stack.pop()
            if ";" in before[start : brace.end()]:
                spans = [s for s in spans if s[0] < start]
                spans.append((start, brace.end()))
        else:
            spans = [(0, brace.end())]
    visible = before
    for start, end in spans:
        visible = visible[:start] + " " * (end - start - 1) + "}" + visible[end:]
    return visible, [(start, before[start:end]) for start, end in spans]
