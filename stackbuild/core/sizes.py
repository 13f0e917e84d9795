"""Sizes in bytes, as people write them."""

from __future__ import annotations

import re

from stackbuild.core.errors import UsageError

_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def size_of(text: str) -> int:
    """Bytes of a size such as `500M` or `8G`; K, M, G and T are powers of 1024. Raises UsageError."""
    match = re.fullmatch(r"([0-9]+)([KMGT])", text)
    if not match:
        match_of_other_unit = re.fullmatch(
            r"(?i)([0-9]+)\s*(?:([kmgt])(?:i?b?|igs?|egs?|igabytes?|egabytes?|erabytes?)?)?", text.strip()
        )
        unit = (match_of_other_unit[2] or "G").upper() if match_of_other_unit else ""
        next = f"write `{match_of_other_unit[1]}{unit}`: " if match_of_other_unit else "write "
        raise UsageError(f"{text!r} is not a size", next=f"{next}a number and K, M, G or T, such as 500M or 8G")
    return int(match[1]) * _UNITS[match[2]]
