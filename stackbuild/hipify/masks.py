"""The fix `sync-masks`: HIP's warp functions take 64-bit lane masks, in calls, macro bodies and macro values.

A full 32-bit literal becomes the full 64-bit literal, any other mask is widened by a cast: HIP refuses a narrower type
(static_assert in amd_warp_sync_functions.h), and drops the upper half where a wavefront has 32 lanes. A mask that names
some lanes of 32 keeps naming those: lint tells the reader.
"""

from __future__ import annotations

import re

from stackbuild.hipify.edits import Edit, wrap
from stackbuild.hipify.scan import arguments, skip_space
from stackbuild.hipify.view import View

FUNCTIONS = (
    "__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync", "__ballot_sync", "__any_sync", "__all_sync",
    "__match_any_sync", "__match_all_sync", "__syncwarp", "__reduce_add_sync", "__reduce_min_sync", "__reduce_max_sync",
    "__reduce_and_sync", "__reduce_or_sync", "__reduce_xor_sync",
)  # fmt: skip
FULL = "0xffffffffffffffffULL"
CAST = "(unsigned long long)"
_FULL_32 = re.compile(
    r"(?:0[xX][fF]{8}|4294967295|(?:0[xX])?~0|-1)[uUlL]*|~0[xX]0+[uU]?|\(\s*(?:unsigned|uint32_t)\s*\)\s*-1"
)
_WIDE = re.compile(
    r"0[xX][0-9a-fA-F]{9,16}[uUlL]*|~0[uU]?(?:ll|LL)[uU]?|\(unsigned long long\)|\(uint64_t\)|static_cast<(?:unsigned long long|uint64_t)>"
    r"|__activemask\(\)|__ballot\("
)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+\(?[ \t]*([^\s()]+)[ \t]*\)?[ \t]*$", re.M)


def fix(view: View, by: str) -> list[Edit]:
    """The edits of all masks of a text, in the name of rule `by`."""
    present = [f for f in FUNCTIONS if f in view.words]
    if not present and "MASK" not in view.code and "mask" not in view.code:
        return []
    macros = _macros(view)
    edits: list[Edit] = []
    used: set[str] = set()
    for name in present:
        for at in view.own(name):
            if (span := _mask(view.code, at + len(name))) is None:
                continue
            mask = view.text[span[0] : span[1]].strip()
            if mask in macros:
                used.add(mask)
            else:
                edits += _widen(mask, span, by)
    for name, (start, end) in macros.items():
        if (name in used or "MASK" in name.upper()) and not _WIDE.match(view.text, start):
            edits.append(Edit(start, end, FULL, by))
    return edits


def _mask(code: str, end: int) -> tuple[int, int] | None:
    """The span of the first argument of the call whose name ends at `end`."""
    open_at = skip_space(code, end)
    if not code.startswith("(", open_at) or (found := arguments(code, open_at)) is None or not found[0]:
        return None
    return found[0][0]


def _widen(mask: str, span: tuple[int, int], by: str) -> list[Edit]:
    if _FULL_32.fullmatch(mask):
        return [Edit(*span, FULL, by)]
    if not mask or _WIDE.match(mask) or _is_parameter(mask):
        return []
    return wrap(*span, f"{CAST}(", ")", by)


def _is_parameter(mask: str) -> bool:
    """Whether this is a declaration's parameter (`unsigned mask`) and no expression."""
    return bool(
        re.fullmatch(
            r"(?:const\s+)?(?:unsigned|int|uint\w*|long|MaskT)(?:\s+(?:int|long))*(?:\s+\w+)?(?:\s*=.*)?", mask
        )
    )


def _macros(view: View) -> dict[str, tuple[int, int]]:
    """The macros of the text that stand for a full mask, of 32 or 64 bits, with the span of the value."""
    return {
        m.group(1): m.span(2)
        for m in _DEFINE.finditer(view.code)
        if _FULL_32.fullmatch(m.group(2)) or re.fullmatch(r"0[xX][fF]{16}[uUlL]*", m.group(2))
    }
