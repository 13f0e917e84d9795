"""How much a command says, in which colours and how wide: set by the command line or $COLUMNS, read by what prints."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TextIO


@dataclass
class OutputStyle:
    """`verbosity` is -1 under --quiet, 1 under --verbose; `color` is auto, always or never."""

    verbosity: int = 0
    color: str = "auto"


OUTPUT_STYLE = OutputStyle()


def columns() -> int:
    """$COLUMNS; 0 where it is not set, or no number."""
    text = os.environ.get("COLUMNS", "")
    return int(text) if text.isdecimal() else 0


def wraps(stream: TextIO) -> bool:
    """Whether lines are wrapped there: on a terminal, and in a pipe where $COLUMNS says how wide it is."""
    return stream.isatty() or columns() > 0
