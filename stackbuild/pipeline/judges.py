"""Which parts of stackbuild decide the result of a stage."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from stackbuild.core import digest

JUDGES = ("inspection", "verification", "emulator", "bench", "judgement", "model/findings.py")
"""The parts of stackbuild whose code and data decide a stage's result."""


@cache
def judges_digest() -> str:
    """Digest of those: a newer stackbuild does not reuse an older one's results, and takes none of another machine's."""
    package = Path(__file__).parents[1]
    paths = [path for part in JUDGES for path in (package / part, *sorted((package / part).rglob("*")))]
    return digest.of_value(
        [digest.of_file(path) for path in paths if path.is_file() and path.suffix in (".py", ".yaml", ".c", ".h")]
    )
