"""Version numbers of upstream projects, such as ROCm's `6.4.4`."""

from __future__ import annotations


def series(version: str) -> str:
    """`6.4` of `6.4.4`."""
    return ".".join(version.split(".")[:2])


def numbers(version: str) -> tuple[int, ...]:
    """A version as numbers, for ordering."""
    return tuple(int(part) for part in version.split(".") if part.isdigit())
