"""What other tools call what a recipe has keys for, and what a recipe has no key for: key_words.toml."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

TABLE = Path(__file__).with_name("key_words.toml")


@cache
def _sections() -> dict[str, dict[str, str]]:
    return tomllib.loads(TABLE.read_text("utf-8"))


@cache
def _by_word() -> dict[str, list[str]]:
    keys: dict[str, list[str]] = {}
    for names, words in _sections()["keys"].items():
        for word in words.split():
            keys.setdefault(word, []).extend(names.split())
    return keys


@cache
def _without_key() -> dict[str, str]:
    return {word: step for words, step in _sections()["none"].items() for word in words.split()}


def keys_of_word(word: str) -> list[str]:
    """The keys of recipes that a word of another tool may stand for, the nearest first."""
    return _by_word().get(plain_word(word), [])


def step_without_key(word: str) -> str:
    """What to do in place of a word that no key of a recipe stands for, "" where that is not known."""
    return _without_key().get(plain_word(word), "")


def step_for_section(word: str) -> str:
    """Where the content of another tool's section belongs in a recipe, "" where that is not known."""
    return _sections()["sections"].get(plain_word(word), "")


def plain_word(word: str) -> str:
    """`buildType`, `build-type` and `Build Type` as `build_type`."""
    plain = "".join(f"_{c}" if c.isupper() and i and word[i - 1].islower() else c for i, c in enumerate(word))
    return plain.strip(" -_").lower().replace("-", "_").replace(" ", "_").replace(".", "_")


def kinds_of_word(word: str) -> list[str]:
    """The kinds of components and of gates that a word may mean."""
    return [kind for kind, words in _sections()["kinds"].items() if plain_word(word) in words.split()]


def choices_of_word(word: str) -> list[str]:
    """The words that a key takes, of which another tool's word may mean one."""
    return [choice for choice, words in _sections()["choices"].items() if plain_word(word) in words.split()]
