"""What a command line takes of a recipe."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Choice:
    """What the command line narrows: gfx targets, Python versions, the last step; empty means all."""

    gfx: tuple[str, ...] = ()
    python: tuple[str, ...] = ()
    """Python versions to prove wheels with; "which Pythons to build for" is `build_python`."""
    until: str = ""
    build_python: tuple[str, ...] = ()
    glibc: str = ""
    """This machine's, where wheels are to be proved: what a newer base links loads in that base only, with its own Python."""
