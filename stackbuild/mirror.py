"""The mirror: a folder that stands for the network, `HOST/PATH` of each URL, for archives and git repositories alike.

Named by `--mirror DIR` or `$STACKBUILD_MIRROR`. Where one is named, nothing else is asked.
"""

from __future__ import annotations

import os
from pathlib import Path

from stackbuild.errors import UsageError

VARIABLE = "STACKBUILD_MIRROR"


def use(folder: Path | None) -> None:
    """Take this folder for the rest of the process. Raises UsageError where it is none."""
    if folder is not None:
        os.environ[VARIABLE] = str(folder.absolute())
        given()


def given() -> Path | None:
    """The mirror, or None. Raises UsageError where it is no folder."""
    named = os.environ.get(VARIABLE)
    if not named:
        return None
    if not Path(named).is_dir():
        raise UsageError("the mirror is no folder", where=named, next=f"give --mirror a folder, or unset {VARIABLE}")
    return Path(named)
