"""What other tools call what a recipe has keys for, and what a recipe has no key for: key_words.toml."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_name("key_words.toml")


@cache
def _sections() -> dict[str, dict[str, str]]:
    return tomllib.loads(TABLE.read_text("utf-8"))


@cache
def _of_section(name: str) -> dict[str, str]:
    """The words that mean something in one section of a recipe, and what to do in place of each."""
    at: Any = _sections()["at"]
    return {word: step for words, step in at.get(name, {}).items() for word in words.split()}


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


def step_at(section: str, word: str, is_whole: bool = False) -> str:
    """What to do in place of a word that no key of that section stands for, "" where that is not known.

    The longest part of a longer word counts too, but where `is_whole`: `needs_network` is about a network.
    """
    steps = _of_section(section)
    if is_whole:
        return steps.get(plain_word(word), "")
    return next((steps[part] for part in _parts(word) if part in steps), "")


def step_of_part(word: str) -> str:
    """What to do in place of a word of which a part is one that no key stands for, "" where that is not known."""
    return next((_without_key()[part] for part in _parts(word) if part in _without_key()), "")


def _parts(word: str) -> list[str]:
    """The parts of a word of several, the longest first: `unit_tests_dir` has `unit_tests`, `tests_dir`, `unit` and so on."""
    words = plain_word(word).split("_")
    spans = sorted(((i, j) for i in range(len(words)) for j in range(i + 1, len(words) + 1)), key=lambda s: s[0] - s[1])
    return ["_".join(words[i:j]) for i, j in spans if (i, j) != (0, len(words)) and len("_".join(words[i:j])) > 2]


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
