"""Names of projects of the package index, as PEP 503 compares them. Pure."""

from __future__ import annotations

import re


def normal_name(name: str) -> str:
    """The form that two spellings of one name share. Not by `packaging`, which takes a tenth of a second to load."""
    return re.sub(r"[-_.]+", "-", name).lower()
