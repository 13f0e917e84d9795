"""Where a user's caches lie: `$XDG_CACHE_HOME`, else `~/.cache` (XDG Base Directory Specification)."""

from __future__ import annotations

import os
from pathlib import Path

from stackbuild.core.errors import MachineLacks


def cache_home(what: str, variable: str = "XDG_CACHE_HOME") -> Path:
    """The folder of all caches. Raises MachineLacks where there is no home folder to keep `what` in.

    `variable` is the one that the error says to set.
    """
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # no HOME, and no such user
        raise MachineLacks(f"there is no home folder to keep {what} in", next=f"set {variable} to a folder") from None
