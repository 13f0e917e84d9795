"""Names that other tools and distributions have for what a recipe says in another way: foreign_names.toml."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

TABLE = Path(__file__).with_name("foreign_names.toml")


@cache
def _sections() -> dict[str, dict[str, str]]:
    return tomllib.loads(TABLE.read_text("utf-8"))


@cache
def meanings(section: str) -> dict[str, str]:
    """What each name of a section stands for."""
    return {name: meaning for names, meaning in _sections()[section].items() for name in names.split()}


@cache
def names(section: str, key: str) -> tuple[str, ...]:
    """The names that a section lists under a key."""
    return tuple(_sections()[section][key].split())


@cache
def known_options() -> tuple[str, ...]:
    """The names of cache entries that are often written."""
    return tuple(name for key in _sections()["options"] for name in names("options", key))
