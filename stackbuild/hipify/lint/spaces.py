"""Names in CUB's and Thrust's namespaces, and their macros, that the target's headers do not have."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackbuild.hipify.cpp.scan import line_start, qualifier
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.lint.catalogue import LintMatch
from stackbuild.hipify.lint.libraries import CUB, CUB_INSIDE, CUB_INTERNAL
from stackbuild.hipify.tables import spaces

_NAMES = {  # begin with a literal: the search skips to it
    "cub": re.compile(r"cub\s*::\s*(\w+)(?:\s*::\s*(\w+))?(?:\s*::\s*(\w+))?"),
    "thrust": re.compile(r"thrust\s*::\s*(\w+)(?:\s*::\s*(\w+))?(?:\s*::\s*(\w+))?"),
}
_RULES = {"cub": "LINT-CUB-NAME", "thrust": "LINT-THRUST-NAME"}
_RULED_SPACES = frozenset(("cuda", "cuda_cub"))
_SAME = "look for what the target's headers have in its place, or write it by hand"
_DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(?:if|elif|ifdef|ifndef|undef)\b|[ \t]*#[ \t]*define[ \t]+\w+[ \t]*(?:\n|\Z)")


def names(view: View, numbers: tuple[int, ...]) -> Iterator[LintMatch]:
    """What a text names in the namespaces `cub` and `thrust` and the headers of the target's version do not spell."""
    for space, pattern in _NAMES.items():
        if space not in view.words:
            continue
        known_words = spaces.of_version(numbers).get(space, frozenset())
        for match in pattern.finditer(view.code):
            at = match.start()
            if at and (view.code[at - 1].isalnum() or view.code[at - 1] == "_"):
                continue
            if (lacking := _lacking(space, match, known_words)) and qualifier(view.code, at) in ("", "::"):
                yield at, _RULES[space], (lacking, CUB.get(lacking, CUB_INTERNAL if space == "cub" else _SAME))


def _lacking(space: str, match: re.Match[str], known_words: frozenset[str]) -> str:
    """The first part of a qualified name that headers do not spell; "" where they have all, or are not listed."""
    first = match[1]
    if space == "cub" and (first in CUB or CUB_INSIDE.fullmatch(first)):
        return first
    parts = [part for part in match.groups() if part is not None and part not in _RULED_SPACES]
    return next((part for part in parts if part not in known_words), "") if known_words else ""


def macros(view: View) -> Iterator[LintMatch]:
    """Macros of CUB, Thrust and libcu++ that ROCm's headers lack, where they are not asked for by an `#if`."""
    if not any(f"\n{stem}" in view.word_lines for stem in spaces.MACRO_STEMS):
        return
    for name in sorted(view.words & spaces.macros()):
        if any(macro.name == name for macro in view.macros):
            continue
        for at in view.own(name):
            if not _DIRECTIVE.match(view.code, line_start(view.code, at)):
                yield at, "LINT-CUB-MACRO", (name,)
