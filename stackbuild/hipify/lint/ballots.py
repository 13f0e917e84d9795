"""Ballots and lane masks that are kept in fewer bits than a wavefront of 64 lanes has.

HIP's ballots are 64 bits wide. Each is followed through its statement to what takes it: a variable, a cast, a result, an
argument, a comparison. Where the type of that is not known, nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import stackbuild.hipify.lint.arithmetic as arithmetic
import stackbuild.hipify.lint.types as types
from stackbuild.hipify.lint.scope import Scope, means_lane, means_warp, scope_of
from stackbuild.hipify.masks import FUNCTIONS
from stackbuild.hipify.scan import arguments, back_space, is_name_char, skip_space, whole_names
from stackbuild.hipify.view import View

Found = tuple[int, str, tuple[str, ...]]

_BALLOTS = ("__ballot_sync", "__ballot", "__activemask", "__match_any_sync", "__match_all_sync")
_OF_GROUPS = ("ballot", "match_any", "match_all")
_COUNTS = frozenset(("__popc", "__ffs", "__clz", "__brev", "__fns"))
_WIDE_COUNTS = frozenset(
    ("__popcll", "__ffsll", "__clzll", "__brevll", "__builtin_popcountll", "__builtin_ctzll", "bool")
)
_CONTROL = frozenset(("if", "while", "assert", "switch", "return", "case", "for"))
_CASTS = frozenset(("static_cast", "reinterpret_cast", "bit_cast"))
_TRUTH = re.compile(r"&&|\|\||[!=]=|(?<![<>-])[<>](?![<>=])|<=(?!>)|>=|(?<!\w)!(?!=)|\?")
_SMALL = re.compile(r"\s*(?:>>|[-+%/*]|&\s*(?:1|0[xX]1|1[uU])\b)")
_EQUALS = re.compile(r"\s*[!=]=\s*\(?\s*([\w:]+)")
FULL_32 = 0xFFFFFFFF
_ASSIGNED = re.compile(
    r"((?:[A-Za-z_][\w:]*(?:\s*\[[^\]]*\])*\s*(?:\.|->)\s*)*[A-Za-z_][\w:]*)\s*(?:\[.*\]\s*)?([&|^]?=)\s*\Z", re.S
)
_SHIFTED = re.compile(r"(?<![\w.])(?:[12][uU]?|0[xX][fF]{8}[uU]?|~0[uU]?)\s*\)?\s*\Z")
_NUMBER_ENDS = frozenset(")012uUfF")
_NAMED = re.compile(r"[A-Za-z_][\w:.]*(?:\(\s*\))?")
_LANE_OF_THREAD = re.compile(r"threadIdx\s*\.\s*x\s*(?:&\s*(?:31|0[xX]1[fF])|%\s*32)|\bwarpSize\b|%laneid")
_LANES = ("lane", "Lane", "LANE", "warp", "Warp", "WARP")
_AFTER = 2000


def ballots(view: View) -> Iterator[Found]:
    """64-bit ballots in 32-bit places."""
    for at, end, name in sorted(_calls(view)):
        taken = _taker(view, at, end)
        if taken is None:
            continue
        what, kept = taken
        if what:
            yield at, "LINT-BALLOT-32", (name, what)
        if kept:
            yield from _uses(view, end, kept, name)


def _calls(view: View) -> Iterator[tuple[int, int, str]]:
    """Each ballot's span and name."""
    for name in _BALLOTS:
        if name in view.words:
            for at in view.own(name):
                if (end := _call_end(view.code, at + len(name))) is not None:
                    yield at, end, name
    if "coalesced_threads" in view.words or "coalesced_group" in view.words:
        for name in _OF_GROUPS:
            for at in whole_names(view.code, name):
                end = _call_end(view.code, at + len(name))
                if end is not None and (start := _group(view.code, at)) is not None:
                    yield start, end, f"a coalesced group's {name}"


def _call_end(code: str, at: int) -> int | None:
    open_at = skip_space(code, at)
    parsed = arguments(code, open_at) if code.startswith("(", open_at) else None
    return parsed[1] + 1 if parsed else None


def _group(code: str, at: int) -> int | None:
    """Where the expression of a coalesced group begins whose member stands at an offset, None where it is no such group."""
    object_ = re.compile(r"(?:([A-Za-z_]\w*)|((?:\w+\s*::\s*)*coalesced_threads\s*\(\s*\)))\s*(?:\.|->)\s*\Z").search(
        code, max(0, at - 120), at
    )
    if object_ is None:
        return None
    if object_[2]:
        return object_.start()
    name = re.escape(object_[1])
    made = rf"\bcoalesced_group\s*(?:const\s*)?[&*]?\s*{name}\b|\b{name}\s*(?:=|\{{|\()\s*(?:\w+\s*::\s*)*coalesced_threads\b"
    return object_.start() if re.search(made, code[:at]) else None


def _taker(view: View, at: int, end: int) -> tuple[str, str] | None:
    """What takes the value of the expression at a span: where that is narrow, in words, and the name of what keeps it whole."""
    code = view.code
    for _ in range(12):
        cast = _cast_before(code, at)
        if cast is not None:
            return ("cast to " + cast, "") if types.width(code, cast) == "narrow" else None
        start, sign = _start(code, at)
        left, right = code[start:at], code[end : _stop(code, end)]
        if (equal := _EQUALS.match(right)) and _is_full(view, equal[1], at):
            return "comparison with 32 ones", ""
        declared = "=" in left and not _TRUTH.search(left.replace("<<", "").replace(">>", ""))
        if _TRUTH.search(right) or (_TRUTH.search(left) and not declared and not _ternary(left)) or _SMALL.match(right):
            return None
        if sign == "[":
            return None
        if sign == "(":
            before = back_space(code, start - 1)
            taken = _bracket(code, before, start)
            if taken != "up":
                return taken
            at, end = start - 1, _stop(code, end) + 1
            continue
        if sign == ",":
            return _argument(code, at) or _statement(code, at, left)
        if sign == "{":
            taken_by = _braced(code, start - 1)
            if taken_by is not None:
                return taken_by
        return _statement(code, at, left)
    return None


def _ternary(left: str) -> bool:
    """Whether what stands before is `condition ?`: the value goes on to what takes the whole."""
    return "?" in left


def _is_full(view: View, text: str, at: int) -> bool:
    if text[0].isdigit():
        return arithmetic.value(text, {}) == FULL_32 and "l" not in text.lower()
    return text in ("UINT_MAX", "UINT32_MAX") or scope_of(view).value(text, at) == FULL_32


def _cast_before(code: str, at: int) -> str | None:
    """The type of a cast in brackets right before an offset."""
    end = back_space(code, at)
    found = re.compile(r"\(\s*([\w:]+(?:\s+[\w:]+)*)\s*\)\Z").search(code, max(0, end - 60), end)
    if found is None or not types.width(code, found[1]):
        return None
    before = back_space(code, found.start())
    return None if before and is_name_char(code[before - 1]) and not code.endswith("return", 0, before) else found[1]


def _start(code: str, at: int) -> tuple[int, str]:
    """Where the expression's own level begins before an offset, and the sign there."""
    depth = 0
    for place in range(at - 1, max(-1, at - 2000), -1):
        sign = code[place]
        if sign in ")]":
            depth += 1
        elif sign in "([" and depth:
            depth -= 1
        elif depth == 0 and sign in "([{};,":
            return place + 1, sign
        elif depth == 0 and sign == "\n" and code[code.rfind("\n", 0, place) + 1 : place].lstrip().startswith("#"):
            return place + 1, ";"
    return max(0, at - 2000), ";"


def _stop(code: str, end: int) -> int:
    """Where the expression's own level ends after an offset."""
    depth = 0
    for place in range(end, min(len(code), end + 2000)):
        sign = code[place]
        if depth == 0 and sign in ")]};,":
            return place
        depth += 1 if sign in "([{" else -1 if sign in ")]}" else 0
    return min(len(code), end + 2000)


def _bracket(code: str, before: int, inner: int) -> tuple[str, str] | Literal["up"] | None:
    """What stands before the bracket around a whole value: a count, a cast, a declaration, a function; "up" for none."""
    name = re.compile(r"([A-Za-z_][\w:]*)\s*(?:<([^<>;]*)>)?\Z").search(code, max(0, before - 120), before)
    if name is None:
        return "up"
    word = name[1].split("::")[-1]
    if word in _COUNTS:
        return f"argument of {word}", ""
    if word in _WIDE_COUNTS or (word in _CONTROL and word != "return"):
        return None
    if word == "return":
        return "up"
    if word in _CASTS:
        return ("cast to " + name[2], "") if types.width(code, name[2] or "") == "narrow" else None
    if (cast := types.width(code, name[1])) or name[1] == "bool":
        return ("cast to " + name[1], "") if cast == "narrow" else None
    typed = types.declares(code, name.start())
    if typed is not None and typed not in ("return", "else"):
        return _kept(code, typed, name[1])
    return (f"parameter of {word}", "") if types.of_parameter(code, word, 0) == "narrow" else None


def _argument(code: str, at: int) -> tuple[str, str] | None:
    """The parameter that takes a value which is one of several arguments, where that is narrow."""
    depth = number = 0
    for place in range(at - 1, max(-1, at - 2000), -1):
        sign = code[place]
        if sign in ")]}":
            depth += 1
        elif sign in "([{" and depth:
            depth -= 1
        elif sign == "," and depth == 0:
            number += 1
        elif sign in "([{;}":
            break
    if code[place] != "(":
        return None
    before = back_space(code, place)
    name = re.compile(r"[A-Za-z_]\w*\Z").search(code, max(0, before - 80), before)
    if name is None:
        return None
    if name.group().startswith("atomic"):
        target = re.compile(r"\s*&?\s*([A-Za-z_][\w.]*)").match(code, place + 1)
        narrow = target is not None and types.of_name(code, target[1], at) == "narrow"
        return (f"{target[1]} by {name.group()}", "") if narrow and target else None
    return (f"parameter of {name.group()}", "") if types.of_parameter(code, name.group(), number) == "narrow" else None


def _braced(code: str, brace: int) -> tuple[str, str] | None:
    """What a value in a list's braces is given to: `uint32_t m{…}`, `unsigned m = {…}`, `unsigned{…}`."""
    before = back_space(code, brace)
    if code.endswith("=", 0, before):
        before = back_space(code, before - 1)
    name = re.compile(r"[A-Za-z_]\w*\Z").search(code, max(0, before - 80), before)
    if name is None:
        return None
    if types.width(code, name.group()) == "narrow":
        return "cast to " + name.group(), ""
    typed = types.declares(code, name.start())
    return _kept(code, typed, name.group()) if typed and typed != "else" else None


def _kept(code: str, typed: str, name: str) -> tuple[str, str]:
    """A declaration takes a value: the narrow type in words, or the name that keeps all of it."""
    if types.width(code, typed) == "narrow":
        return " ".join(typed.split()), ""
    return "", "" if "bool" in typed.split() else name


def _statement(code: str, at: int, left: str) -> tuple[str, str] | None:
    """What a whole statement does with a value: declare, assign or return."""
    head = left.split("?")[0] if "?" in left else left
    stripped = re.sub(r"[~(\s]+\Z", "", head) + " "
    if re.match(r"\s*return\b", stripped):
        return ("function's result", "") if types.returned(code, at) == "narrow" else None
    assigned = re.search(_ASSIGNED, re.sub(r"=[^=]*\Z", "= ", stripped) if "?" in left else stripped.rstrip())
    if assigned is None:
        return None
    place = at - len(left) + assigned.start(1)
    typed = types.declares(code, place) if assigned[2] == "=" else None
    if typed is not None:
        return _kept(code, typed, assigned[1])
    narrow = types.of_name(code, assigned[1], place)
    return (f"variable {assigned[1]}", "") if narrow == "narrow" else ("", assigned[1])


def _uses(view: View, at: int, name: str, source: str) -> Iterator[Found]:
    """32-bit counts of a variable that keeps all of a ballot, up to the end of its function."""
    ends = re.compile(r"^\}", re.M).search(view.code, at)
    end = min(ends.start() if ends else len(view.code), at + _AFTER)
    for found in re.compile(rf"\b({'|'.join(sorted(_COUNTS))})\s*\(\s*~?\s*{re.escape(name)}\b").finditer(
        view.code, at, end
    ):
        yield found.start(), "LINT-BALLOT-32", (source, f"argument of {found[1]}")


def lane_masks(view: View) -> Iterator[Found]:
    """Masks of lanes made by shifting 32-bit numbers by a lane or by the warp's size: `(1u << lane) - 1`."""
    code = view.code
    if not any(sign in view.listed for sign in _LANES):
        return
    for at in sorted(_shifts(code)):
        before = back_space(code, at)
        if code[before - 1 : before] not in _NUMBER_ENDS:
            continue
        number = _SHIFTED.search(code, max(0, at - 14), at)
        if number is None:
            continue
        begins = skip_space(code, at + 2)
        text = code[begins : _operand_end(code, begins)]
        names = _NAMED.findall(text)
        if any(means_lane(name) or means_warp(name) for name in names) or _LANE_OF_THREAD.search(text):
            said = code[number.start() : begins] + text
            yield number.start(), "LINT-LANE-MASK-32", (" ".join(said.split()),)


def _shifts(code: str) -> Iterator[int]:
    """Where numbers are shifted: `<<` that opens no launch, and `>>` where a text has 32 ones."""
    at = code.find("<<")
    while at >= 0:
        end = at + 2
        while code.startswith("<", end):
            end += 1
        if end == at + 2:
            yield at
        at = code.find("<<", end)
    if "ffffffff" in code or "FFFFFFFF" in code or "~0" in code:
        yield from (m.start() for m in re.finditer(r">>", code))


def _operand_end(code: str, at: int) -> int:
    if code.startswith("(", at):
        parsed = arguments(code, at)
        return parsed[1] + 1 if parsed else at
    found = _NAMED.match(code, at)
    return found.end() if found else at


def partial_masks(view: View) -> Iterator[Found]:
    """Masks that name only some of 32 lanes: literals, constants, and what is computed from them."""
    if view.words.isdisjoint(FUNCTIONS):
        return
    scope = scope_of(view)
    for name in FUNCTIONS:
        if name not in view.words:
            continue
        for at in view.own(name):
            open_at = skip_space(view.code, at + len(name))
            parsed = arguments(view.code, open_at) if view.code.startswith("(", open_at) else None
            if not parsed or not parsed[0]:
                continue
            mask = " ".join(view.text[slice(*parsed[0][0])].split())
            value = mask_value(scope, mask, at)
            if value is not None and 0 <= value < FULL_32:
                yield at, "LINT-PARTIAL-MASK", (name, mask)


def mask_value(scope: Scope, mask: str, at: int) -> int | None:
    """The value of a mask's text at an offset, None where it is not known."""
    names = arithmetic.names(mask)
    if names is None:
        return None
    known = {name: scope.value(name, at) for name in names}
    return arithmetic.value(mask, {n: v for n, v in known.items() if v is not None})
