"""The fix `sync-masks`: HIP's warp functions take 64-bit lane masks, also where a macro's text calls them.

Only what is an argument of such a function is a lane mask. A literal of 32 ones becomes one of 64. Any other mask is
wrapped in `stackbuild_hip::lane_mask` of the support header. It turns a value of 32 ones into all lanes, wherever the
variable, constant or macro is defined, and widens other masks. Without that header the mask is cast: HIP refuses a
narrower type (static_assert in amd_warp_sync_functions.h). A macro becomes 64 bits wide itself if only this file defines
it and uses it for nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator

from stackbuild.hipify.cpp.edits import Edit, wrap
from stackbuild.hipify.cpp.scan import arguments, skip_space, without_brackets
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.passes import aliases
from stackbuild.model.findings import Finding, Severity

FUNCTIONS = (
    "__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync", "__ballot_sync", "__any_sync", "__all_sync",
    "__match_any_sync", "__match_all_sync", "__syncwarp", "__reduce_add_sync", "__reduce_min_sync", "__reduce_max_sync",
    "__reduce_and_sync", "__reduce_or_sync", "__reduce_xor_sync",
)  # fmt: skip
FULL = "0xffffffffffffffffULL"
# HIP's own compares what it finds with the whole mask: with lanes that a block does not have, it finds them lacking.
_COMPARING = ("__all_sync",)
CAST = "(unsigned long long)"
LANE_MASK = "stackbuild_hip::lane_mask"
_UNSIGNED_TYPE = r"(?:unsigned(?:\s+int)?|(?:std\s*::\s*)?uint32_t|uint|u32)"
# A warp's number of lanes by its spelling. To shift by it 64 bits are enough where it is 32, and not where it is 64.
_WARP_SIZE = r"(?:\w+\s*::\s*)*(?!\w*(?i:half|sub|log|bits|shift|tile))\w*(?i:warp|wave)_?(?i:size|lanes|threads|width|sz)_*(?:\s*\(\s*\))?"
_ONE_64 = (
    r"(?:1(?:[uU]?(?:ll|LL|l|L)|(?:ll|LL|l|L)[uU])|\(\s*(?:unsigned\s+long\s+long|(?:std\s*::\s*)?uint64_t|size_t)\s*\)\s*1[uUlL]*"
    r"|(?:uint64_t|size_t)\s*[({]\s*1[uUlL]*\s*[)}])"
)
_FULL_32 = re.compile(
    r"(?:0[xX](?:[fF]'?){8}|4294967295|037777777777|0[bB](?:1'?){32}|(?:0[xX])?~0|-1)[uUlL]*|~0[xX]0+[uU]?|UINT_MAX|UINT32_MAX"
    rf"|\(\s*{_UNSIGNED_TYPE}\s*\)\s*\(?\s*(?:-1|~0)[uU]?\s*\)?|{_UNSIGNED_TYPE}\s*[({{]\s*(?:-1|~0)[uU]?\s*[)}}]|static_cast<\s*{_UNSIGNED_TYPE}\s*>\s*\(\s*(?:-1|~0)\s*\)"
    rf"|\(\s*{_ONE_64}\s*<<\s*(?:32|{_WARP_SIZE})\s*\)\s*-\s*1[uUlL]*"
    rf"|std\s*::\s*numeric_limits<\s*{_UNSIGNED_TYPE}\s*>\s*::\s*max\s*\(\s*\)"
)
_WIDE = re.compile(
    r"0[xX][0-9a-fA-F]{9,16}[uUlL]*|~0[uU]?(?:ll|LL)[uU]?|\(unsigned long long\)|\(uint64_t\)|static_cast<(?:unsigned long long|uint64_t)>"
    rf"|__activemask\(\)|__ballot\(|{LANE_MASK}\("
)
# All active lanes, and-ed with what may have 32 bits and be 32 ones.
_WITH_OTHERS = re.compile(r"__activemask\(\)\s*&(?!&)")
_WIDE_VALUE = re.compile(r"0[xX][fF]{16}[uUlL]*|~0[uU]?(?:ll|LL)[uU]?")
_BITWISE = re.compile(r"[&|^]")
_WORD = re.compile(r"(?<![\w.'])[A-Za-z0-9_][\w']*")
# What may stand beside an operand of `&`, `|` and `^`; the group says that one of those does.
_OPERATOR_BEFORE = re.compile(r"(?:(?<![&|^])([&|^])|\(|\A)\Z")
_RIGHT = re.compile(r"([&|^])(?![&|^=])|\)|\Z")
_LITERAL = re.compile(r"(?:0[xX][0-9a-fA-F']+|[\d']+)[uUlL]*")
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(\S.*?)[ \t]*$", re.M)
_NO_USE = re.compile(r"#[ \t]*(?:define|undef|ifdef|ifndef)[ \t]+\Z|\bdefined[ \t]*\(?[ \t]*\Z")
_DECLARES = re.compile(
    r"(?!(?:sizeof|not|and|or|bitand|bitor|compl|xor)\b)\w+\s+(?!(?:and|or|bitand|bitor|xor)\b)[A-Za-z_]"
)
_TYPE = re.compile(r"(?:const\s+)?(?:unsigned|int|u?int(?:32|64)_t|uint|u32|long|MaskT)(?:\s+(?:int|long))*(?:\s*=.*)?")

Span = tuple[int, int]


def fix(view: View, by: str, header: bool) -> tuple[list[Edit], list[Finding]]:
    """The edits of all masks of a text, in the name of rule `by`; `header` says whether LANE_MASK is there for it."""
    findings: list[Finding] = []
    names = dict(_masks(view, findings))
    masks = {span: view.text[slice(*span)].strip() for span in names}
    edits: list[Edit] = []
    if not masks:
        return edits, findings
    values = _values(view)
    constants: set[str] = set()
    operands_of_mask = {span: list(_operands(view.code, span, values)) for span in masks}
    places_by_name: dict[str, set[int]] = {}
    for at, name in (
        *((at, view.code[at:end]) for operands in operands_of_mask.values() for at, end in operands),
        *((span[0], mask) for span, mask in masks.items()),
    ):
        places_by_name.setdefault(name, set()).add(at)
    for name in {mask for mask in masks.values() if mask in values}:
        places = places_by_name[name]
        others = [at for at in view.places(name) if at not in places and not _no_use(view.code, at)]
        if not others and not view.is_header:
            constants.add(name)
            edits += [Edit(*span, FULL, by) for span in values[name] if not _WIDE_VALUE.fullmatch(_bare(view, span))]
        elif all(_WIDE_VALUE.fullmatch(_bare(view, span)) for span in values[name]):
            constants.add(name)
        elif others:
            findings.append(_other_use(view, name, others[0]))
    for span, mask in masks.items():
        edits += [Edit(*operand, FULL, by) for operand in operands_of_mask[span]]
        if header and names[span] in _COMPARING and (mask in constants or all_lanes(mask)):
            edits += wrap(*span, f"{LANE_MASK}(", ")", by)
        elif mask not in constants:
            edits += _widen(mask, span, by, header)
    return edits, findings


def _operands(code: str, span: Span, full: Container[str]) -> Iterator[Span]:
    """The spans of 32 ones that something in a mask is and-ed, or-ed or xor-ed with; `full` are the macros that are 32 ones.

    CUDA's masks have 32 bits, so such an operand is all lanes: with the 64 bits of `__activemask()` it would be half of them.
    """
    if not _BITWISE.search(code, *span):
        return
    for token in _WORD.finditer(code, *span):
        if _FULL_32.fullmatch(token.group()) or token.group() in full:
            before, after = code[span[0] : token.start()].rstrip(), code[token.end() : span[1]].lstrip()
            left, right = _OPERATOR_BEFORE.search(before), _RIGHT.match(after)
            if left and right and (left[1] or right[1]):
                yield token.span()


def _masks(view: View, findings: list[Finding]) -> Iterator[tuple[Span, str]]:
    """The spans of the first arguments of warp functions, where those are called, and the function."""
    present = [] if view.words.isdisjoint(FUNCTIONS) else [name for name in FUNCTIONS if name in view.words]
    uses = list(aliases.uses(view, present)) if present else []
    passed_to = {use.function for use in uses}
    for name in present:
        for at in view.own(name):
            open_at = skip_space(view.code, at + len(name))
            if not view.code.startswith("(", open_at) or view.is_defined_at(at):
                continue
            argument_list = arguments(view.code, open_at)
            if not argument_list or not argument_list[0]:
                continue
            if aliases.rest(view, open_at, argument_list[0]) == 0:
                macro = view.macro_at(at)
                if macro is None or view.is_header or name not in passed_to:
                    findings.append(_handed_on(view, at, name, macro.name if macro else ""))
            elif not _is_parameter(view.code[slice(*argument_list[0][0])]):
                yield argument_list[0][0], name
    for use in uses:
        place = use.place(0)
        if place is not None and place < len(use.spans) and aliases.rest(view, use.open_at, use.spans[place:]) != 0:
            yield use.spans[place], use.function


def all_lanes(mask: str) -> bool:
    """Whether a mask's text says all of a warp's lanes: 32 ones, however they are spelt."""
    return _FULL_32.fullmatch(without_brackets(mask)) is not None


def _is_parameter(mask: str) -> bool:
    """Whether this is a declaration's parameter (`unsigned mask`) and no expression."""
    return bool(_TYPE.fullmatch(mask) or _DECLARES.match(mask))


def _widen(mask: str, span: Span, by: str, header: bool) -> list[Edit]:
    bare = without_brackets(mask)
    if _FULL_32.fullmatch(bare):
        return [Edit(*span, FULL, by)]
    if not mask or (_WIDE.match(mask) and not (header and _WITH_OTHERS.match(mask))):
        return []
    return wrap(*span, f"{LANE_MASK if header and not _LITERAL.fullmatch(bare) else CAST}(", ")", by)


def _values(view: View) -> dict[str, list[Span]]:
    """The macros that stand for a full mask, of 32 or 64 bits, wherever the text defines them, with the values' spans."""
    values: dict[str, list[Span]] = {}
    for macro in _DEFINE.finditer(view.code):
        values.setdefault(macro.group(1), []).append(macro.span(2))
    return {name: spans for name, spans in values.items() if all(_is_full(view, span) for span in spans)}


def _is_full(view: View, span: Span) -> bool:
    value = _bare(view, span)
    return bool(_FULL_32.fullmatch(value) or _WIDE_VALUE.fullmatch(value))


def _bare(view: View, span: Span) -> str:
    return without_brackets(view.code[slice(*span)])


def _no_use(code: str, at: int) -> bool:
    """Whether a macro's name at an offset is defined or tested there, but not used."""
    return _NO_USE.search(code, code.rfind("\n", 0, at) + 1, at) is not None


def _handed_on(view: View, at: int, name: str, macro: str) -> Finding:
    return view.finding(
        at,
        "HIPIFY-ARGUMENTS",
        Severity.WARNING,
        f"{name} is given {'what the macro ' + macro if macro else 'a pack that its caller'} is given",
        "HIP's takes a lane mask of 64 bits, and which argument is the mask is only seen where the call is made",
        f"give it a mask of 64 bits {'where the macro is used in other files' if macro else 'there'}",
    )


def _other_use(view: View, name: str, at: int) -> Finding:
    return view.finding(
        at,
        "HIPIFY-MASK-OTHER-USE",
        Severity.WARNING,
        f"{name} is a lane mask elsewhere in this file; here it keeps its 32 bits",
        "what is compared or combined with it may have 64 bits where a wavefront has 64 lanes",
        "say all lanes as ~0ull here if lanes are meant; if not, nothing",
    )
