"""Bundled recipes with changes."""

from __future__ import annotations

from stackbuild.recipe.load import load


def text_of(name: str) -> str:
    """The text of a bundled recipe."""
    return load(name).text


def changed(name: str, *pairs: tuple[str, str]) -> str:
    """The text of a bundled recipe with each first string of a pair replaced by the second."""
    text = text_of(name)
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text
