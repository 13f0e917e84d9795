"""The words that a compiler has read and decided, by line: what its preprocessor leaves of a tree, but for templates.

Names in a template that depend on its parameters are looked up where it is used, so a template that compiles may still
hold a name that nothing declares. Its words are left out.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Set
from posixpath import normpath

from stackbuild.hipify.compilation.diagnostics import TreePlace
from stackbuild.hipify.cpp.scan import blank

INCLUDE = "#include"
"""In place of a word: the line's `#include` was followed."""
_MARKER = re.compile(r'# (?P<line>\d+) "(?P<path>[^"\n]*)"(?P<flags>[ \d]*)$')
_WORD = re.compile(r"\b[A-Za-z_]\w*")
_CONCEPTS = re.compile(r"\b(?:requires|concept)\b")
_EDGE = re.compile(
    r"\btemplate\b|\bauto\b[\s&*.\w]*(?=[,)])|\]\s*<\s*(?:class|typename|auto|int|bool|unsigned|size_t)\b|[{};]"
)
_GOES_ON = frozenset(",>{)(.:;=")
"""What follows a brace that does not end its declaration, as in `template <class T, class = Is<T>{}>`."""


def compiled_words(text: str, folder: str, targets: Set[TreePlace]) -> dict[TreePlace, set[str]]:
    """The decided words of the target lines. `text` has line markers, and `folder` is the tree's path in them."""
    places: list[TreePlace] = []
    lines: list[str] = []
    words: dict[TreePlace, set[str]] = {}
    path, number = "", 0
    for line in text.split("\n"):
        if marker := _MARKER.match(line) if line.startswith("# ") else None:
            whole = normpath(marker["path"])
            path = whole[len(folder) + 1 :] if whole.startswith(f"{folder}/") else ""
            number = int(marker["line"])
            if "2" in marker["flags"].split() and (path, number - 1) in targets:
                words.setdefault((path, number - 1), set()).add(INCLUDE)
            continue
        if path and line.strip():
            places.append((path, number))
            lines.append(line)
        number += 1
    code = blank("\n".join(lines))
    if targets.isdisjoint(places) or _CONCEPTS.search(code):
        return words
    starts, states = _template_edges(code)
    offset = 0
    for place, line in zip(places, lines, strict=True):
        if place in targets:
            every = _WORD.finditer(code, offset, offset + len(line))
            name_matches = (word for word in every if not states[bisect_right(starts, word.start()) - 1])
            words.setdefault(place, set()).update(word.group() for word in name_matches)
        offset += len(line) + 1
    return words


def _template_edges(code: str) -> tuple[list[int], list[bool]]:
    """Where templates begin and end: offsets, and whether what follows each is a part of one."""
    starts, states = [0], [False]
    stack: list[tuple[bool, bool]] = []
    is_inside = is_announced = False
    for edge in _EDGE.finditer(code):
        sign = edge.group()
        if sign == "{":
            stack.append((is_inside, is_announced))
            is_inside, is_announced = is_inside or is_announced, False
        elif sign == "}":
            is_inside, is_announced = stack.pop() if stack else (False, False)
            is_announced = is_announced and code[edge.end() :].lstrip()[:1] in _GOES_ON
        else:
            is_announced = sign != ";"
        if states[-1] != (is_inside or is_announced):
            starts.append(edge.start())
            states.append(is_inside or is_announced)
    return starts, states
