"""Instructions as text."""

from __future__ import annotations

from stackbuild.emulator.decoder import Instruction


def text_of(inst: Instruction) -> str:
    """One instruction."""
    return inst.name
