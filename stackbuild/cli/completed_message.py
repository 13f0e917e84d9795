"""What the command line adds to a message about it: the option of a wrong value, a file or a command with a near name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from stackbuild.cli.option_forms import FORMS, advice_on
from stackbuild.cli.settings import origin_of
from stackbuild.core.errors import UsageError
from stackbuild.core.shell_words import shell_word
from stackbuild.recipe.near_path import near_path

_NOT_THERE = re.compile(
    r"(?i)no such|there is no|neither a|is not there|is not a (?:file|folder)|cannot read it|not found"
)
_DISTRIBUTION = re.compile(r"[A-Za-z][\w.-]*(?:==[\w.+]+)?")


def complete(stop: UsageError, words: Sequence[str], environ: Mapping[str, str]) -> None:
    """Add to an error what the words of the command line and the environment say of it: in place."""
    if not stop.where and (place := _place(stop.what, words, environ)):
        stop.where = place
    elif option := _option_of(stop.where, words):
        stop.where = f"{option} {stop.where}"
    _add_form(stop, words)
    if not _NOT_THERE.search(stop.what) and not ("folder" in stop.what or "directory" in stop.what.lower()):
        return
    for word in [*_values(words), *(value for name, value in environ.items() if value and name.startswith("STACKBUILD_"))]:
        if word in (stop.where, stop.where.rpartition(" ")[2]) or repr(word) in stop.what:
            if "wheel" in f"{stop.what} {stop.next}" and (wheel := _wheel_below(Path(word))):
                stop.next = f"`{word}` is a folder: name a wheel in it, such as `{wheel}`"
            elif "did you mean" not in stop.next and (near := near_path(word)):
                stop.next = f"did you mean `{near}`? {stop.next}"
            elif "wheel" in f"{stop.what} {stop.next}" and "*" in word and (wheel := _wheel_below(Path())):
                stop.next = f"no file matches it: did you mean `{wheel}`?"
            elif "wheel" in stop.next and _DISTRIBUTION.fullmatch(word) and "." not in word.partition("==")[0]:
                stop.next = f"{stop.next}; `pip download --no-deps {shell_word(word)}` fetches the wheel of that name"
            return


def _option_of(value: str, words: Sequence[str]) -> str:
    """The option that has that value; "" for none."""
    for before, word in zip(["", *words], words, strict=False):
        option, _, own_value = word.partition("=")
        if value and ((option.startswith("--") and own_value == value) or (before.startswith("-") and word == value)):
            return option if own_value == value and option != word else before
    return ""


_NAMES_CHOICES = re.compile(r"`|did you mean|one of|: \S+, \S+|--[a-z]|\b(?:write|give|name|such as|for example)\b")
"""What a next step has that says what to write: a second half would repeat it."""


def _add_form(stop: UsageError, words: Sequence[str]) -> None:
    """Add what the option of a message takes, where its next step names nothing to write."""
    place = re.match(r"(?:[a-z -]* )?(--[a-z][\w-]*)", stop.where or stop.what)
    if place and not _NAMES_CHOICES.search(stop.next):
        command = next((c for c in (" ".join(words[:2]), words[0]) if f"{c} {place[1]}" in FORMS), "") if words else ""
        if advice := advice_on(command, place[1]):
            stop.next = f"{stop.next}; {advice}" if stop.next else advice


def _wheel_below(folder: Path) -> str:
    """The first wheel in a folder or in a folder of it; "" where there is none or it is not a folder."""
    try:
        wheels = sorted([*folder.glob("*.whl"), *folder.glob("*/*.whl")]) if folder.is_dir() else []
    except OSError:
        return ""
    return str(wheels[0]) if wheels else ""


def _values(words: Sequence[str]) -> list[str]:
    """The words that are not options, and the values behind `=`."""
    return [
        word.partition("=")[2] if word.startswith("--") else word for word in words if word[:1] != "-" or "=" in word
    ]


def _place(what: str, words: Sequence[str], environ: Mapping[str, str]) -> str:
    """The option, or the variable of the environment, whose value a message has in quotes; "" for none."""
    quoted_words = {a or b for a, b in re.findall(r"'([^']+)'|`([^`]+)`", what)}
    for before, word in zip(["", *words], words, strict=False):
        option, _, value = word.partition("=")
        if option.startswith("--") and value in quoted_words and option not in what:
            return option
        if before.startswith("-") and "=" not in before and word in quoted_words and before not in what:
            return before
    return next(
        (
            origin_of(name, value)
            for name, value in environ.items()
            if name.startswith("STACKBUILD_") and value in quoted_words and name not in what
        ),
        "",
    )
