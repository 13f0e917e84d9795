"""Line ends at the boundary of a conversion: inside it every line ends with `\\n`, and CRLF comes back on the way out."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import replace

from stackbuild.hipify.cpp.edits import Edit

CRLF = "\r\n"
_CRLF = re.compile(CRLF)


class Newlines:
    """A text with its `\\r\\n` as `\\n`, and edits of the one as edits of the other.

    A `\\r` that no `\\n` follows is a character like any other. Columns and line numbers are the same in both.
    """

    def __init__(self, text: str) -> None:
        self.original = text
        self._any = "\r" in text and CRLF in text
        self.text = text.replace(CRLF, "\n") if self._any else text
        self._at = [m.start() - i for i, m in enumerate(_CRLF.finditer(text))] if self._any else []
        self._most = self._any and len(self._at) * 2 > self.text.count("\n")

    def outwards(self, edits: Iterable[Edit]) -> list[Edit]:
        """Edits of `text` as edits of the original; new lines end as most lines of it do."""
        if not self._any:
            return list(edits)
        return [
            replace(e, start=self._out(e.start), end=self._out(e.end), text=self._with_line_ends(e.text)) for e in edits
        ]

    def inwards(self, edits: Iterable[Edit]) -> list[Edit]:
        """Edits of the original as edits of `text`."""
        if not self._any:
            return list(edits)
        starts = [at + i for i, at in enumerate(self._at)]

        def inner(at: int) -> int:
            return at - bisect_left(starts, at)

        return [replace(e, start=inner(e.start), end=inner(e.end), text=e.text.replace(CRLF, "\n")) for e in edits]

    def _out(self, at: int) -> int:
        return at + bisect_left(self._at, at)

    def _with_line_ends(self, text: str) -> str:
        return text.replace("\n", CRLF) if self._most else text
