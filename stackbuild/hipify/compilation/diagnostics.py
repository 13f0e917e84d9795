"""Reads clang's messages: each error with its places in the tree, from the nearest to the farthest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from posixpath import normpath

_MESSAGE = re.compile(r"(?P<path>[^:\n]+):(?P<line>\d+):(?:\d+:)? (?P<kind>fatal error|error|warning|note): (?P<text>.*)")
_INCLUDER = re.compile(r"In file included from (?P<path>.+):(?P<line>\d+):$")
_USE = re.compile(r"requested here|in call to|expanded from|in instantiation|used here|substitut|while ")
"""Words of the notes that lead from a header to the place that used it."""
_MISSING = re.compile(r"'(?P<path>[^']+)' file not found")
TreePlace = tuple[str, int]
"""A path below the tree, and a line from 1."""


@dataclass(frozen=True)
class Diagnostic:
    """One error: its text, and its places in the tree. The first place is the error's own or the nearest use.

    `missing_header` is the path of an `#include` that no folder has. The compiler stops there.
    """

    text: str
    places: tuple[TreePlace, ...]
    missing_header: str = ""


def diagnostics_of(log: str, folder: str) -> list[Diagnostic]:
    """The errors of a log, each once, in its order. `folder` is the tree's path in the log."""
    return list(dict.fromkeys(_errors(log, folder)))


def _errors(log: str, folder: str) -> Iterator[Diagnostic]:
    includers: list[TreePlace] = []
    text, own = "", tuple[TreePlace, ...]()
    uses, above = list[TreePlace](), list[TreePlace]()
    for line in log.split("\n"):
        if includer := _INCLUDER.match(line):
            includers += _below(includer["path"], includer["line"], folder)
            continue
        if not (message := _MESSAGE.match(line)):
            continue
        places = _below(message["path"], message["line"], folder)
        if message["kind"] == "note":
            uses += places if _USE.search(message["text"]) else ()
            continue
        if text:
            yield _diagnostic(text, (*own, *uses, *above))
        is_error = message["kind"].endswith("error")
        text, own, uses, above = message["text"] if is_error else "", places, [], includers[::-1]
        includers = []
    if text:
        yield _diagnostic(text, (*own, *uses, *above))


def _below(path: str, line: str, folder: str) -> tuple[TreePlace, ...]:
    """The place as one of the tree, or nothing."""
    whole = normpath(path)
    return ((whole[len(folder) + 1 :], int(line)),) if whole.startswith(f"{folder}/") else ()


def _diagnostic(text: str, places: tuple[TreePlace, ...]) -> Diagnostic:
    missing = _MISSING.search(text)
    return Diagnostic(text, tuple(dict.fromkeys(places)), missing["path"] if missing else "")
