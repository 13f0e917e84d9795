"""The lines of a text as libyaml counts them."""

from __future__ import annotations

import re

_LINE_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")


def lines_of(text: str) -> tuple[str, ...]:
    """The lines of a text: one ends at CR, LF, CR LF, NEL and at U+2028 and U+2029."""
    return tuple(_LINE_BREAK.split(text))
