"""Sizes in bytes, as people write them: one reading for recipes, gates and options."""

from __future__ import annotations

import re

from stackbuild.core.errors import UsageError

SIZE = r"^[0-9]{1,9}(\.[0-9]{1,6})? ?([KMGTkmgt]([iI]?[bB])?|[KMGTkmgt][iI]|[bB])$"
"""A number, perhaps a blank, and a unit. The unit is required: 8 may be bytes or GiB."""
_POWERS = {letter: power for power, letter in enumerate("kmgt", 1)}
UNITS: dict[str, float] = {
    "b": 1.0,
    **{f"{letter}b": 1000.0**power for letter, power in _POWERS.items()},
    **{f"{letter}{end}": 1024.0**power for letter, power in _POWERS.items() for end in ("", "i", "ib")},
}
"""Bytes of each unit, in lower case: kB, MB, GB and TB are powers of 1000, all others of 1024."""
_WORDS = r"(?:ilo|ega|iga|era)(?:bytes?|bits?)?|igs?|egs?|bytes?"
_SPELLING = re.compile(rf"(?i)([0-9]+(?:[.,][0-9]+)?)\s*(?:([kmgt])((?:i?b)|i|{_WORDS})?|(b|bytes?))?")


def size_of(text: str) -> int:
    """Bytes of a size such as `500M`, `1.5 GiB` or `8GB`. Raises UsageError."""
    if not re.fullmatch(SIZE, text):
        meaning = size_meant(text)
        step = f"write `{meaning}`: a number and its unit, such as 500M, 8G or 1.5 GiB" if meaning else ""
        raise UsageError(f"{text!r} is not a size", next=step)
    number, unit = re.fullmatch(r"([0-9.]+) ?(\w+)", text).groups()  # type: ignore[union-attr]  # SIZE has both
    return int(float(number) * UNITS[unit.lower()])


def size_meant(text: str) -> str:
    """The size that was probably meant by another spelling: `8G` of 8, `8G` of `8 gigabytes`; "" for none."""
    match = _SPELLING.fullmatch(re.sub(r"(?i)^(?:<=?|≤|~|\+|-|max\.?|up to)\s*|\s+(?:of\s+)?(?:ram|memory|max|free|each|per job)$", "", text.strip()))
    if not match or float(match[1].replace(",", ".")) == 0 or (match[3] or "").endswith(("bit", "bits")):
        return ""
    return f"{match[1].replace(',', '.')}{'B' if match[4] else (match[2] or 'G').upper()}"
