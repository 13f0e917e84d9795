"""How much a command says and in which colours: set once by the command line, read by what prints."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Manner:
    """`verbosity` is -1 under --quiet, 1 under --verbose; `color` is auto, always or never."""

    verbosity: int = 0
    color: str = "auto"


MANNER = Manner()
