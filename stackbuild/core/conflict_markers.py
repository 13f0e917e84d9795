"""Conflict markers that git leaves in a file: they are named as such, and not for what YAML or TOML makes of them. Pure."""

from __future__ import annotations

import re

from stackbuild.core.text_lines import lines_of

_MARKER = re.compile(r"(?:<{7}|>{7}|\|{7})(?: .*)?|={7}")
_OUTER = ("<<<<<<<", ">>>>>>>")
STEP = "keep the lines of one side or of both, and remove the lines that begin with `<<<<<<<`, `=======` and `>>>>>>>`"
"""What to do with them."""


def first_marker(text: str) -> tuple[int, str]:
    """The line of the first conflict marker, from 1, and the marker; (0, "") where the text has none.

    `=======` alone is none: a line `<<<<<<<` or `>>>>>>>` must be there too.
    """
    if not any(outer in text for outer in _OUTER):
        return 0, ""
    markers = [(at, row) for at, row in enumerate(lines_of(text), 1) if _MARKER.fullmatch(row)]
    return markers[0] if any(row.startswith(_OUTER) for _, row in markers) else (0, "")
