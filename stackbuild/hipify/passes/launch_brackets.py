"""The fix `launch-brackets`: `kernel << <1, 2 >> >(…)`, as an editor writes launches and nvcc reads them, in clang's `<<<`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackbuild.hipify.cpp.edits import Edit
from stackbuild.hipify.cpp.source_text import View

_OPEN = re.compile(r"<(?:<\s+|\s+<\s*)<(?![<=])")
_CLOSE = re.compile(r">\s*>\s*>(?=\s*\()")
_SIGNS = re.compile(r"[(\[{}\]);>]")


def fix(view: View, by: str) -> Iterator[Edit]:
    """The edits that leave out the blanks between the signs of a launch: no other expression has `<< <`."""
    for opening in _OPEN.finditer(view.code) if "<< " in view.code or "< <" in view.code else ():
        closing = _closing(view.code, opening.end())
        if closing and not view.code[: opening.start()].endswith(("operator", "<")):
            yield Edit(opening.start(), opening.end(), "<<<", by)
            if closing.group() != ">>>":
                yield Edit(closing.start(), closing.end(), ">>>", by, closes=True)
    for at in _plain(view.code):
        closing = _closing(view.code, at + 3)
        if closing and closing.group() != ">>>":
            yield Edit(closing.start(), closing.end(), ">>>", by)


def _plain(code: str) -> Iterator[int]:
    """Where `<<<` opens a launch that may close with blanks."""
    at = code.find("<<<") if ">> >" in code or "> >" in code else -1
    while at >= 0:
        yield at
        at = code.find("<<<", at + 3)


def _closing(code: str, at: int) -> re.Match[str] | None:
    """The three signs that close a launch's configuration, with the arguments after them."""
    depth = 0
    while sign := _SIGNS.search(code, at, at + _LONGEST):
        at = sign.end()
        depth += (sign.group() in "([{") - (sign.group() in ")]}")
        if depth < 0 or (not depth and sign.group() == ";"):
            return None
        if not depth and sign.group() == ">" and (closing := _CLOSE.match(code, sign.start())):
            return closing
    return None


_LONGEST = 2000
"""Characters of the longest configuration that is looked through."""
