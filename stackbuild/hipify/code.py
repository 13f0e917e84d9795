"""The digest of this package's own source: older code's outputs are not fresh, and a recipe's conversion is keyed by it."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from stackbuild.core.digest import of_file

PACKAGE = Path(__file__).parent


@cache
def code_digest() -> str:
    """sha256 over the source of `stackbuild.hipify`, its subpackages included."""
    return source_digest(PACKAGE)


def source_digest(folder: Path) -> str:
    """sha256 over the Python files of a folder and those below it. Names and places of the files do not count."""
    modules = sorted(of_file(path) for path in folder.rglob("*.py") if path.stat().st_size)
    return hashlib.sha256("".join(modules).encode()).hexdigest()
