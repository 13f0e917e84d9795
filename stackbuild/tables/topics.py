"""The topics of errors: the sections of docs/troubleshooting.md, which `stackbuild help TOPIC` prints."""

from __future__ import annotations

import re

from stackbuild.core.resources import folder

PAGE = "docs/troubleshooting.md"


def topics() -> dict[str, str]:
    """Each section below the title, by the anchor of its heading. The subsections of a section are a part of it."""
    text = folder(PAGE).read_text("utf-8")
    headings = [(m.start(), len(m[1]), anchor(m[2])) for m in re.finditer(r"^(##+) (.+)$", text, re.MULTILINE)]
    return {
        name: text[start : _end(headings[at + 1 :], depth, len(text))].rstrip() + "\n"
        for at, (start, depth, name) in enumerate(headings)
    }


def _end(behind: list[tuple[int, int, str]], depth: int, end: int) -> int:
    return next((start for start, other, _ in behind if other <= depth), end)


def anchor(heading: str) -> str:
    """The anchor that the site gives a heading."""
    return re.sub(r"[^a-z0-9 -]", "", heading.lower()).strip().replace(" ", "-")
