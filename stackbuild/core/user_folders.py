"""Where a user's files lie: the folders of the XDG Base Directory Specification, each with its default."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from stackbuild.core.errors import MachineLacks

DEFAULTS = {
    "XDG_CACHE_HOME": ".cache",
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
}
"""Variable to the folder below the home that stands for it."""


def cache_home(what: str, variable: str = "XDG_CACHE_HOME") -> Path:
    """The folder of all caches. Raises MachineLacks where there is no home folder to keep `what` in.

    `variable` is the one that the error says to set.
    """
    try:
        return user_folder("XDG_CACHE_HOME")
    except RuntimeError:  # no HOME, and no such user
        raise MachineLacks(f"there is no home folder to keep {what} in", next=f"set {variable} to a folder") from None


def user_folder(variable: str) -> Path:
    """The folder that the variable names, else its default below the home. Raises RuntimeError where there is no home."""
    return Path(os.environ.get(variable) or Path.home() / DEFAULTS[variable])


def folder_of(variable: str, environ: Mapping[str, str]) -> Path | None:
    """As `user_folder` by these variables alone; None where neither the folder nor HOME is among them."""
    if path := environ.get(variable):
        return Path(path)
    return Path(environ["HOME"]) / DEFAULTS[variable] if environ.get("HOME") else None
