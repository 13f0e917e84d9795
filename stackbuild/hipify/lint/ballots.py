"""Ballots and lane masks that are kept in fewer bits than a wavefront of 64 lanes has.

HIP's ballots are 64 bits wide. Each is followed through its statement to what takes it: a variable, a cast, a result, an
argument, a comparison. Where the type of that is not known, nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from stackbuild.hipify.cpp.keywords import STATEMENT_HEADS
from stackbuild.hipify.cpp.scan import arguments, back_space, call_arguments, is_name_char, skip_space
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.lint.catalogue import LintMatch
from stackbuild.hipify.lint.cpp import arithmetic, levels, types
from stackbuild.hipify.lint.cpp.scope import Scope, means_lane, means_warp, scope_of
from stackbuild.hipify.passes.lane_masks import FUNCTIONS, all_lanes

_BALLOTS = ("__ballot_sync", "__ballot", "__activemask", "__match_any_sync", "__match_all_sync")
_OF_GROUPS = ("ballot", "match_any", "match_all")
_COUNTS = frozenset(("__popc", "__ffs", "__clz", "__brev", "__fns"))
_WIDE_COUNTS = frozenset(
    ("__popcll", "__ffsll", "__clzll", "__brevll", "__builtin_popcountll", "__builtin_ctzll", "bool")
)
_CONTROL = STATEMENT_HEADS | {"assert", "return", "case"}
_CASTS = frozenset(("static_cast", "reinterpret_cast", "bit_cast"))
_TRUTH = re.compile(r"&&|\|\||[!=]=|(?<![<>-])[<>](?![<>=])|<=(?!>)|>=|(?<!\w)!(?!=)|\?")
_SMALL = re.compile(r"\s*(?:>>|[-+%/*]|&\s*(?:1|0[xX]1|1[uU])\b)")
_EQUALS = re.compile(r"\s*[!=]=\s*\(?\s*([\w:]+)")
FULL_32 = 0xFFFFFFFF
_ASSIGNMENT = re.compile(
    r"((?:[A-Za-z_][\w:]*(?:\s*\[[^\]]*\])*\s*(?:\.|->)\s*)*[A-Za-z_][\w:]*)\s*(?:\[.*\]\s*)?([&|^]?=)\s*\Z", re.S
)
_GIVES = re.compile(r"(?<![=!<>])=(?!=)")
_SHIFTED_ONE = re.compile(r"(?<![\w.])(?:[12][uU]?|0[xX][fF]{8}[uU]?|~0[uU]?)\s*\)?\s*\Z")
_WIDE_ONE = re.compile(
    r"(?<![\w.])1(?:[uU]?(?:ll|LL|l|L)|(?:ll|LL|l|L)[uU])\s*\)?\s*\Z"
    r"|(?:(?:static_cast\s*<\s*)?(?:unsigned\s+)?long(?:\s+long)?|\w*64_t|size_t|u64|ull)\s*>?\s*[({)]\s*\(?1[uUlL]*\s*[)}]?\s*\Z"
)
_CONVERSION = re.compile(r"static_cast\s*<([^;{}]*)>\s*\(\s*\Z|([A-Za-z_][\w:]*)\s*\(\s*\Z")
_NUMBER_ENDS = frozenset(")}012uUlLfF")
_NAME_OR_CALL = re.compile(r"[A-Za-z_][\w:.]*(?:\(\s*\))?")
_LANE_OF_THREAD = re.compile(r"threadIdx\s*\.\s*x\s*(?:&\s*(?:31|0[xX]1[fF])|%\s*32)|\bwarpSize\b|%laneid")
_LANES = ("lane", "Lane", "LANE", "warp", "Warp", "WARP")
_AFTER = 2000


def ballots(view: View) -> Iterator[LintMatch]:
    """64-bit ballots in 32-bit places."""
    for at, end, name in sorted(_calls(view)):
        taker = _taker(view, at, end)
        if taker is None:
            continue
        what, variable = taker
        if what:
            yield at, "LINT-BALLOT-32", (name, what)
        if variable:
            yield from _uses(view, end, variable, name)


def _calls(view: View) -> Iterator[tuple[int, int, str]]:
    """Each ballot's span and name."""
    for name in _BALLOTS:
        if name in view.words:
            for at in view.own(name):
                if (end := _call_end(view.code, at + len(name))) is not None:
                    yield at, end, name
    for macro, name in _macros(view):
        for at in view.own(macro):
            end = _call_end(view.code, at + len(macro))
            if end is not None and not view.is_defined_at(at):
                yield at, end, name
    if "coalesced_threads" in view.words or "coalesced_group" in view.words:
        for name in _OF_GROUPS:
            for at in view.places(name):
                end = _call_end(view.code, at + len(name))
                if end is not None and (start := _group(view.code, at)) is not None:
                    yield start, end, f"a coalesced group's {name}"


def _macros(view: View) -> Iterator[tuple[str, str]]:
    """The macros that are another name of a ballot, or a ballot of what they are given; and that ballot."""
    macros: dict[str, str] = {}
    for macro in view.macros if not view.words.isdisjoint(_BALLOTS) else ():
        bare = macro.bare
        name = next(
            (n for n in (*_BALLOTS, *macros) if bare.startswith(n) and not is_name_char(bare[len(n) :][:1])), ""
        )
        end = _call_end(bare, len(name)) if name else None
        if name and (end == len(bare) if macro.parameters is not None else bare == name):
            macros[macro.name] = macros.get(name, name)
    yield from macros.items()


def _call_end(code: str, at: int) -> int | None:
    argument_list = call_arguments(code, at)
    return argument_list[1] + 1 if argument_list else None


def _group(code: str, at: int) -> int | None:
    """The start of the expression of a coalesced group whose member is at an offset; None if it is not such a group."""
    object_ = re.compile(r"(?:([A-Za-z_]\w*)|((?:\w+\s*::\s*)*coalesced_threads\s*\(\s*\)))\s*(?:\.|->)\s*\Z").search(
        code, max(0, at - 120), at
    )
    if object_ is None:
        return None
    if object_[2]:
        return object_.start()
    name = re.escape(object_[1])
    declaration = rf"\bcoalesced_group\s*(?:const\s*)?[&*]?\s*{name}\b|\b{name}\s*(?:=|\{{|\()\s*(?:\w+\s*::\s*)*coalesced_threads\b"
    return object_.start() if re.search(declaration, code[:at]) else None


def _taker(view: View, at: int, end: int) -> tuple[str, str] | None:
    """What takes the value of the expression at a span: where that is narrow, in words, and the name of what keeps it whole."""
    code = view.code_with_types
    for _ in range(12):
        cast = _cast_before(code, at)
        if cast is not None:
            return ("cast to " + cast, "") if types.width(code, cast) == "narrow" else None
        start, sign = levels.begin(code, at)
        left, right = code[start:at], code[end : levels.end(code, end)]
        if (equal := _EQUALS.match(right)) and _is_full(view, equal[1], at):
            return "comparison with 32 ones", ""
        declared = "=" in left and not _TRUTH.search(left.replace("<<", "").replace(">>", ""))
        if _TRUTH.search(right) or (_TRUTH.search(left) and not declared and not _ternary(left)) or _SMALL.match(right):
            return None
        if sign == "[":
            return None
        if sign == "(":
            before = back_space(code, start - 1)
            bracket = _bracket(code, before)
            if bracket != "up":
                return bracket
            at, end = start - 1, levels.end(code, end) + 1
            continue
        if sign == ",":
            return _argument(code, at) or _statement(code, at, left)
        if sign == "{":
            taken_by = _brace_initializer(code, start - 1)
            if taken_by is not None:
                return taken_by
        return _statement(code, at, left)
    return None


def _ternary(before: str) -> bool:
    """Whether what stands before is `condition ?`: the value goes on to what takes the whole."""
    return "?" in before


def _is_full(view: View, text: str, at: int) -> bool:
    if text[0].isdigit():
        return arithmetic.value(text, {}) == FULL_32 and "l" not in text.lower()
    return text in ("UINT_MAX", "UINT32_MAX") or scope_of(view).value(text, at) == FULL_32


def _cast_before(code: str, at: int) -> str | None:
    """The type of a cast in brackets right before an offset."""
    end = back_space(code, at)
    cast = re.compile(r"\(\s*([\w:]+(?:\s+[\w:]+)*)\s*\)\Z").search(code, max(0, end - 60), end)
    if cast is None or not types.width(code, cast[1]):
        return None
    before = back_space(code, cast.start())
    return None if before and is_name_char(code[before - 1]) and not code.endswith("return", 0, before) else cast[1]


def _bracket(code: str, before: int) -> tuple[str, str] | Literal["up"] | None:
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
    type_text = types.declares(code, name.start())
    if type_text is not None and type_text not in ("return", "else"):
        return _variable(code, type_text, name[1])
    return (f"parameter of {word}", "") if types.of_parameter(code, word, 0) == "narrow" else None


def _argument(code: str, at: int) -> tuple[str, str] | None:
    """The parameter that takes a value which is one of several arguments, where that is narrow."""
    number, open_at = 0, -1
    for place, sign in levels.before(code, at):
        if sign in "([{;":
            open_at = place if sign == "(" else -1
            break
        number += sign == ","
    if open_at < 0:
        return None
    before = back_space(code, open_at)
    name = re.compile(r"[A-Za-z_]\w*\Z").search(code, max(0, before - 80), before)
    if name is None:
        return None
    if name.group().startswith("atomic"):
        target = re.compile(r"\s*&?\s*([A-Za-z_][\w.]*)").match(code, open_at + 1)
        narrow = target is not None and types.of_name(code, target[1], at) == "narrow"
        return (f"{target[1]} by {name.group()}", "") if narrow and target else None
    return (f"parameter of {name.group()}", "") if types.of_parameter(code, name.group(), number) == "narrow" else None


def _brace_initializer(code: str, brace: int) -> tuple[str, str] | None:
    """What a value in a list's braces is given to: `uint32_t m{…}`, `unsigned m = {…}`, `unsigned{…}`."""
    before = back_space(code, brace)
    if code.endswith("=", 0, before):
        before = back_space(code, before - 1)
    name = re.compile(r"[A-Za-z_]\w*\Z").search(code, max(0, before - 80), before)
    if name is None:
        return None
    if types.width(code, name.group()) == "narrow":
        return "cast to " + name.group(), ""
    type_text = types.declares(code, name.start())
    return _variable(code, type_text, name.group()) if type_text and type_text != "else" else None


def _variable(code: str, type_text: str, name: str) -> tuple[str, str]:
    """A declaration takes a value: the narrow type in words, or the name that keeps all of it."""
    if types.width(code, type_text) == "narrow":
        return " ".join(type_text.split()), ""
    return "", "" if "bool" in type_text.split() else name


def _statement(code: str, at: int, before: str) -> tuple[str, str] | None:
    """What a whole statement does with a value: declare, assign or return."""
    head = before.split("?")[0] if "?" in before else before
    bare_head = re.sub(r"[~(\s]+\Z", "", head) + " "
    if re.match(r"\s*return\b", bare_head):
        return ("function's result", "") if types.return_width(code, at) == "narrow" else None
    if "?" in before and (sign := _GIVES.search(bare_head)):
        bare_head = bare_head[: sign.end()]  # what is asked before the `?` may compare
    assignment = _ASSIGNMENT.search(bare_head.rstrip())
    if assignment is None:
        return None
    place = at - len(before) + assignment.start(1)
    type_text = types.declares(code, place) if assignment[2] == "=" else None
    if type_text is not None:
        return _variable(code, type_text, assignment[1])
    narrow = types.of_name(code, assignment[1], place)
    return (f"variable {assignment[1]}", "") if narrow == "narrow" else ("", assignment[1])


def _uses(view: View, at: int, name: str, source: str) -> Iterator[LintMatch]:
    """32-bit counts of a variable that keeps all of a ballot, up to the end of its function."""
    ends = re.compile(r"^\}", re.M).search(view.code, at)
    end = min(ends.start() if ends else len(view.code), at + _AFTER)
    for call in re.compile(rf"\b({'|'.join(sorted(_COUNTS))})\s*\(\s*~?\s*{re.escape(name)}\b").finditer(
        view.code, at, end
    ):
        yield call.start(), "LINT-BALLOT-32", (source, f"argument of {call[1]}")


def lane_masks(view: View) -> Iterator[LintMatch]:
    """Masks of lanes made by shifting 32-bit numbers by a lane or by the warp's size: `(1u << lane) - 1`."""
    code = view.code_with_types
    if not any(sign in view.word_lines for sign in _LANES):
        return
    for at in sorted(_shifts(code)):
        before = back_space(code, at)
        if code[before - 1 : before] not in _NUMBER_ENDS:
            continue
        begins = skip_space(code, at + 2)
        text = code[begins : _operand_end(code, begins)]
        names = _NAME_OR_CALL.findall(text)
        of_warp = any(means_warp(name) for name in names)
        of_lane = any(means_lane(name) for name in names) or _LANE_OF_THREAD.search(text) is not None
        if not of_lane and (not of_warp or code.startswith(">", at)):
            continue  # `0xffffffff >> (32 - width)` has no lane's number
        if wide := _WIDE_ONE.search(code, max(0, at - 60), at):
            if of_warp and not _is_mask(code, wide.start()):
                yield wide.start(), "LINT-SHIFT-WAVE", (f"1 << {' '.join(text.split())}",)
        elif (number := _SHIFTED_ONE.search(code, max(0, at - 14), at)) and not _is_of_other_type(code, number.start()):
            yield number.start(), "LINT-LANE-MASK-32", (" ".join((code[number.start() : begins] + text).split()),)


def _is_of_other_type(code: str, at: int) -> bool:
    """Whether a number is converted to a type that is not of 32 bits, or that the text does not tell: `mask_t(1) << lane`."""
    conversion = _CONVERSION.search(code, max(0, at - 60), at)
    return conversion is not None and types.width(code, conversion[1] or conversion[2]) != "narrow"


def _is_mask(code: str, at: int) -> bool:
    """Whether an offset is in a mask of all lanes that a warp function is given: that is converted."""
    for place, sign in levels.before(code, at):
        if sign != "(":
            return False
        name = re.compile(r"\w*\Z").search(code, max(0, place - 40), place)
        argument_list = arguments(code, place) if name and name.group() in FUNCTIONS else None
        if argument_list and argument_list[0]:
            return all_lanes(code[slice(*argument_list[0][0])])
    return False


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
        argument_list = arguments(code, at)
        return argument_list[1] + 1 if argument_list else at
    match = _NAME_OR_CALL.match(code, at)
    return match.end() if match else at


def partial_masks(view: View) -> Iterator[LintMatch]:
    """Masks that name only some of 32 lanes: literals, constants, and what is computed from them."""
    if view.words.isdisjoint(FUNCTIONS):
        return
    scope = scope_of(view)
    for name in FUNCTIONS:
        if name not in view.words:
            continue
        for at in view.own(name):
            argument_list = call_arguments(view.code, at + len(name))
            if not argument_list or not argument_list[0]:
                continue
            mask = " ".join(view.text[slice(*argument_list[0][0])].split())
            value = mask_value(scope, mask, at)
            if value is not None and 0 <= value < FULL_32:
                yield at, "LINT-PARTIAL-MASK", (name, mask)


def mask_value(scope: Scope, mask: str, at: int) -> int | None:
    """The value of a mask's text at an offset, None where it is not known."""
    names = arithmetic.names(mask)
    if names is None:
        return None
    env = {name: scope.value(name, at) for name in names}
    return arithmetic.value(mask, {n: v for n, v in env.items() if v is not None})
