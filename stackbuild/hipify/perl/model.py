"""What hipify-perl does to a text, as edits by offset: the model that differences are explained with.

hipify-perl runs thousands of substitutions over the whole text, one after the other. No result of
a substitution is the source of a later one (checked here), so one pass over words gives the same text. There are two
exceptions, both modelled as they are: headers are regular expressions in which `.` matches any character, and the
rewriting of arguments ignores brackets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from stackbuild.hipify.cpp.edits import Edit
from stackbuild.hipify.tables.tables import Flavour, HostCall, Subst, Tables

_WORD = re.compile(r"\w+", re.A)
_NOT_AFTER = r"(?<![!~`@#$%^&*\-+=\[\](){}.,?'>])"
_CUB_USING = re.compile(r"using\s*namespace\s*cub", re.A)
_CUB_SPACE = re.compile(r"\bcub::(?=\w)", re.A)


def edits(text: str, tables: Tables, flavour: Flavour = "hip", experimental: bool = False) -> list[Edit]:
    """The edits that hipify-perl makes with `<<<>>>` kept; `by` says which part of it makes each."""
    words, headers = _order(tables, flavour, experimental)
    substitutions = list(_headers(text, headers, words))
    spans = [(e.start, e.end) for e in substitutions]
    is_counted = False
    for match in _WORD.finditer(text):
        if (entry := words.get(match.group())) is not None:
            subst = entry[1]
            is_counted |= subst.group == "device_function" or (
                tables.device_types_count and subst.group == "device_type"
            )
            if subst.cuda != subst.hip and not any(s <= match.start() < e for s, e in spans):
                substitutions.append(Edit(match.start(), match.end(), subst.hip, "word", subst.group))
    substitutions += _cub(text)
    substitutions += _host_calls(text, tables, words)
    if "__global__" in text or "__shared__" in text or is_counted:
        newline = "\r\n" if text.endswith("\r\n") else "\n"
        substitutions.append(Edit(0, 0, f'#include "hip/hip_runtime.h"{newline}', "runtime"))
    return substitutions


@lru_cache(maxsize=8)
def _order(
    tables: Tables, flavour: Flavour, experimental: bool
) -> tuple[dict[str, tuple[int, Subst]], list[tuple[int, re.Pattern[str], Subst]]]:
    """The words with their place in the order, and the headers in order. The first of several for one word wins."""
    words: dict[str, tuple[int, Subst]] = {}
    headers: list[tuple[int, re.Pattern[str], Subst]] = []
    for number, subst in enumerate(tables.substitutions_in_order(flavour, experimental)):
        if subst.header:
            lead = "" if subst.group.endswith("_v2") else _NOT_AFTER
            headers.append((number, re.compile(rf"{lead}\b{subst.cuda}\b", re.A), subst))
        elif re.fullmatch(r"\w+", subst.cuda):
            words.setdefault(subst.cuda, (number, subst))
    return words, headers


def _headers(
    text: str, headers: list[tuple[int, re.Pattern[str], Subst]], words: dict[str, tuple[int, Subst]]
) -> Iterator[Edit]:
    """The header edits: none where an earlier word in it was replaced before, or where an earlier header was."""
    spans: list[tuple[int, int]] = []
    for number, pattern, subst in headers:
        for match in pattern.finditer(text):
            start, end = match.span()
            if any(s < end and start < e for s, e in spans):
                continue
            if any(
                (w := words.get(p.group())) and w[0] < number and w[1].cuda != w[1].hip
                for p in _inside(text, start, end)
            ):
                continue
            spans.append((start, end))
            yield Edit(start, end, subst.hip, "header", subst.group)


def _inside(text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    return (p for p in _WORD.finditer(text, start, end))


def _cub(text: str) -> Iterator[Edit]:
    for match in _CUB_USING.finditer(text):
        yield Edit(*match.span(), "using namespace hipcub", "cub")
    for match in _CUB_SPACE.finditer(text):
        yield Edit(match.start(), match.start() + 5, "hipcub::", "cub")


def _host_calls(text: str, tables: Tables, words: dict[str, tuple[int, Subst]]) -> Iterator[Edit]:
    """The argument rewrites, found by the CUDA names that have become the functions by then."""
    if not any(mark in text for mark in ("Symbol", "Func", "Launch", "Texture", "Occupancy")):
        return
    sources: dict[str, list[str]] = {}
    for name, (_, subst) in words.items():
        sources.setdefault(subst.hip, []).append(name)
    for call in tables.host_calls:
        for function in call.functions:
            yield from _host_call(text, call, [function, *sources.get(function, ())])


def _host_call(text: str, call: HostCall, names: list[str]) -> Iterator[Edit]:
    present = [name for name in dict.fromkeys(names) if name in text]
    if not present:
        return
    alternatives = "|".join(rf"(?:\b{name}\b)" if i else name for i, name in enumerate(present))
    pattern = re.compile(call.pattern.replace("$func", alternatives).replace("\\/", "/"), re.A)
    for match in pattern.finditer(text):
        yield from _between(match, call.replacement)


_PART = re.compile(r"\$func|\$(\d+)|((?:[^$\\]|\\.)+)")


def _between(match: re.Match[str], replacement: str) -> Iterator[Edit]:
    """The literal pieces of a replacement as edits of what stands between the groups it keeps."""
    at = match.start()
    literal = ""
    for part in _PART.finditer(replacement):
        if part.group(2) is not None:
            literal += re.sub(r"\\(.)", r"\1", part.group(2))
            continue
        group = 1 if part.group() == "$func" else int(part.group(1))
        start, end = match.span(group)
        if literal or start > at:
            yield Edit(at, start, literal, "argument", closes=start == at)
        literal, at = "", end
    if literal or match.end() > at:
        yield Edit(at, match.end(), literal, "argument", closes=match.end() == at)
