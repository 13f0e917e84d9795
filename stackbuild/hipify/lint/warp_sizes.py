"""Lint of names that stand for a warp of 32 lanes, and of `warpSize` where a constant is needed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.lint.catalogue import LintMatch
from stackbuild.hipify.lint.cpp.scope import means_warp

_SIZE = r"32[uU]?|0[xX]20[uU]?|1[uU]?\s*<<\s*5"
_OTHER = re.compile(r"log|shift|bits|exp|mask", re.I)
_LOGARITHM = re.compile(
    r"k?_*(?:log_?2?_?(?:of_?)?(?:cuda_?)?(?:warp|wave(?:front)?)_?(?:size|lanes|threads|width)?|(?:cuda_?)?(?:warp|wave(?:front)?)_?(?:size|lanes|threads)?_?(?:log_?2?|bits|shift|exp))_*",
    re.I,
)
_MASK = re.compile(r"k?_*(?:warp|wave(?:front)?)_?(?:size_?)?mask_*", re.I)
_IN_CONSTANT = re.compile(
    r"\b(?:constexpr|static_assert|enum)\b[^;{}]*\bwarpSize\b|<[^;{}<>()]*\bwarpSize\b[^;{}<>()]*>|\[[^\]\n]*\bwarpSize\b[^\]\n]*\]\s*(?:;|\[|=)"
)
_BOUND = re.compile(r"(?<![\w.])(?!return\b|case\b)[A-Za-z_]\w*(?:\s*<[^<>;]*>)?[\s*&]+\w+\s*(?:\[[^\]\n]*\]\s*)*\Z")
_OWN_SIZE = re.compile(r"\b(?:int|unsigned|size_t|auto|u?int32_t|define)[ \t]+\Z")
_COMPARISON = re.compile(r"(?:\w+\s*(?:\.|->)\s*)?\bwarpSize\s*[!=]=\s*32[uU]?\b(?!\s*[\w.])")
_OF_STRUCT = re.compile(r"\w+\s*(?:\.|->)\s*\Z")
_NEAR = 80
"""So far before a name what declares or qualifies it begins."""
_BOTH = re.compile(r"warpSize(?<!\wwarpSize)\s*[!=]=\s*64\b")


def _constant_of(value: str) -> re.Pattern[str]:
    """What gives a name a value: `= 32;`, ` 32` of a macro, `{32};`, `(32);`, `= 32>` of a template, `() { return 32; }`."""
    last = r"\s*(?:[;,}>]|$)"
    return re.compile(
        rf"(?:\s*=\s*|[ \t]+)\(?\s*(?:{value})\s*\)?{last}|\s*[({{]\s*(?:{value})\s*[)}}]{last}"
        rf"|\s*\(\s*(?:void)?\s*\)[\w\s]*\{{\s*return\s+(?:{value})\s*;",
        re.M,
    )


_IS = {
    "32": _constant_of(_SIZE),
    "5": _constant_of("5[uU]?"),
    "31": _constant_of("31[uU]?|0[xX]1[fF][uU]?|32[uU]?\\s*-\\s*1[uU]?"),
}

_SPELLINGS = {"32": ("32", "32u", "32U", "0x20", "5", "5u"), "5": ("5", "5u", "5U"), "31": ("31", "31u", "31U", "0x1f", "0x1F", "0x1fu", "32", "32u")}  # fmt: skip


def warp_sizes(view: View) -> Iterator[LintMatch]:
    """Names that stand for a warp's size, its logarithm or its mask and are those of 32, and warpSize as a constant."""
    for name in sorted(view.words_with("arp", "ARP", "ave", "AVE")):
        if (value := _value_of(name)) and not view.numbers.isdisjoint(_SPELLINGS[value]):
            for at in view.places(name):
                if _IS[value].match(view.code, at + len(name)) and _defines(view.code, at):
                    yield at, "LINT-WARP-SIZE-LITERAL", (name, value)
    places = view.places("warpSize") if "warpSize" in view.words else ()
    if places and not any(_OWN_SIZE.search(view.code, max(0, at - _NEAR), at) for at in places):
        for match in _constants(view):
            at = view.code.index("warpSize", match.start())
            if match.group().startswith("[") and not _BOUND.search(
                view.code, max(0, match.start() - 120), match.start()
            ):
                continue  # an element, and no array's size
            if view.code.endswith("::", 0, at):
                continue  # another namespace's
            yield at, "LINT-WARP-SIZE-CONSTANT", (" ".join(match.group().split())[:60],)
        if "32" in view.numbers and not _BOTH.search(view.code):
            for at in places:
                before = _OF_STRUCT.search(view.code, max(0, at - _NEAR), at)
                comparison = _COMPARISON.match(view.code, before.start() if before else at)
                if comparison:
                    yield comparison.start(), "LINT-LANE-ARITHMETIC", (" ".join(comparison.group().split()),)


def _constants(view: View) -> Iterator[re.Match[str]]:
    """Where warpSize stands in a constant. Only the statements that name it are searched."""
    code, end = view.code, 0
    for at in view.places("warpSize"):
        if at >= end:
            start = max(end, *(code.rfind(mark, 0, at) + 1 for mark in ";{}"))
            stop = _STATEMENT_END.search(code, at)
            end = stop.end() if stop else len(code)
            yield from _IN_CONSTANT.finditer(code, start, end)


_STATEMENT_END = re.compile(r"[;{}]")


@lru_cache(maxsize=1 << 14)
def _value_of(name: str) -> str:
    """The number that a name has where a warp has 32 lanes, by its spelling; "" for none."""
    if means_warp(name) and not _OTHER.search(name):
        return "32"
    return "31" if _MASK.fullmatch(name) else "5" if _LOGARITHM.fullmatch(name) else ""


def _defines(code: str, at: int) -> bool:
    """Whether the name at an offset is given its value there: by a macro, a constant, an enumerator or a template."""
    start = max(code.rfind(mark, 0, at) for mark in ";{}\n") + 1
    before = code[start:at].split()
    return (
        any(word in before for word in ("constexpr", "const", "enum", "static", "define", "#define"))
        or (code[start - 1 : start] == "{" and "enum" in code[max(0, start - 60) : start])
        or "".join(before).startswith("template<")
    )
