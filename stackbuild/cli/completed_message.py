"""What the command line adds to a message about it: the option of a wrong value, a file or a command with a near name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from stackbuild.core.errors import UsageError
from stackbuild.tables.near_words import nearest

_NOT_THERE = re.compile(
    r"(?i)no such|there is no|neither a|is not there|is not a (?:file|folder)|cannot read it|not found"
)
_MOST_NAMES = 10_000
"""A folder with more names is not looked through."""
_DISTRIBUTION = re.compile(r"[A-Za-z][\w.-]*(?:==[\w.+]+)?")


def complete(stop: UsageError, words: Sequence[str], environ: Mapping[str, str]) -> None:
    """Add to an error what the words of the command line and the environment say of it: in place."""
    if not stop.where and (place := _place(stop.what, words, environ)):
        stop.where = place
    if not _NOT_THERE.search(stop.what) and not ("folder" in stop.what or "directory" in stop.what.lower()):
        return
    for word in _values(words):
        if word in (stop.where, stop.where.rpartition(" ")[2]) or repr(word) in stop.what:
            if "wheel" in f"{stop.what} {stop.next}" and (wheel := _wheel_below(Path(word))):
                stop.next = f"`{word}` is a folder: name a wheel in it, such as `{wheel}`"
            elif near := near_path(word):
                stop.next = f"did you mean `{near}`? {stop.next}"
            elif "wheel" in stop.next and _DISTRIBUTION.fullmatch(word) and "." not in word.partition("==")[0]:
                stop.next = f"{stop.next}; `pip download --no-deps {word}` fetches the wheel of that name"
            return


def near_path(text: str) -> str:
    """The path with a near name in the same folder, in place of one that is not there; "" where none is near."""
    path = Path(text)
    try:
        if path.exists() or not path.name:
            return ""
        if not path.parent.is_dir():
            folder = near_path(str(path.parent))
            return str(Path(folder) / path.name) if folder and (Path(folder) / path.name).exists() else ""
        names = [each.name for each, _ in zip(path.parent.iterdir(), range(_MOST_NAMES), strict=False)]
    except (OSError, ValueError):
        return ""
    same_stem = [name for name in names if Path(name).stem == path.stem and name != path.name]
    near = same_stem[0] if len(same_stem) == 1 else nearest(path.name, names)
    return str(path.parent / near) if near else ""


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
            name
            for name, value in environ.items()
            if name.startswith("STACKBUILD_") and value in quoted_words and name not in what
        ),
        "",
    )
