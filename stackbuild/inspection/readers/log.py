"""What a build's log says that its exit code does not: options nobody read, code for the build machine only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from stackbuild.inspection.facts import BuildLog
from stackbuild.inspection.readers.source import ByteSource

_UNUSED_OPTIONS = b"Manually-specified variables were not used by the project:"
_NAME = re.compile(rb"[A-Za-z_][\w.-]{0,200}")
_COLOUR = re.compile(rb"\x1b\[[0-9;]{0,16}[A-Za-z]")
_MOST_LISTED = 1_000
_PREFIX = 512
_WORD = re.compile(rb"[^\w./+-]+")
_SOURCES = (b".c", b".cc", b".cpp", b".cxx", b".cu", b".hip")
_OVERLAP = 64 << 10
_LINE = 8 << 10


def is_log(name: str) -> bool:
    """Whether a file is read as a build log, by its name."""
    return name.endswith(".log") or name in ("compile_commands.json", "CMakeConfigureLog.yaml", "CMakeOutput.txt")


def build_log(source: ByteSource) -> BuildLog:
    """Read a log of any length in bounded memory. Raises MalformedError where the file ends early."""
    unused_options: dict[str, None] = {}
    native: dict[str, None] = {}
    for window in _windows(source):
        unused_options |= dict.fromkeys(_options(window))
        for line in _lines_with(window, (b"-march=native", b"-mcpu=native")):
            named_files = [word for word in _WORD.split(line) if word.endswith(_SOURCES)]
            if len(native) < _MOST_LISTED:
                native[
                    named_files[-1].decode("utf-8", "replace")[-120:] if named_files else "a command without a source"
                ] = None
    return BuildLog(tuple(islice(unused_options, _MOST_LISTED)), tuple(sorted(native)))


def _options(window: bytes) -> Iterator[str]:
    """The options that CMake says nothing used. Each line may have a prefix (a time, a service's name, a colour): as many words
    as stand before CMake's own text."""
    at = window.find(_UNUSED_OPTIONS)
    while at >= 0:
        start = max(0, at - _PREFIX)
        before = window[max(window.rfind(b"\n", start, at) + 1, start) : at]
        yield from _listed_names(_lines(window, at + len(_UNUSED_OPTIONS)), len(_COLOUR.sub(b"", before).split()))
        at = window.find(_UNUSED_OPTIONS, at + len(_UNUSED_OPTIONS))


def _listed_names(lines: Iterator[bytes], prefix: int) -> Iterator[str]:
    """The names at the start of lines that follow CMake's text, with that many words before each: up to the first other line."""
    listed = False
    for line in lines:
        plain = _COLOUR.sub(b"", line)
        words = plain.split()
        if len(words) <= prefix and not listed:
            continue
        if len(words) != prefix + 1 or not _NAME.fullmatch(words[-1]) or not (prefix or plain[:1].isspace()):
            return
        listed = True
        yield words[-1].decode()


def _lines(window: bytes, at: int) -> Iterator[bytes]:
    """The lines after the one that `at` is in, their beginnings."""
    end = window.find(b"\n", at, at + _LINE)
    while end >= 0:
        at, end = end + 1, window.find(b"\n", end + 1, end + 1 + _LINE)
        yield window[at : end if end >= 0 else at + _LINE]


def _lines_with(window: bytes, words: tuple[bytes, ...]) -> Iterator[bytes]:
    """The lines that hold one of some words: found by the word, since a pattern that starts at the line is quadratic."""
    for word in words:
        at = window.find(word)
        while at >= 0:
            first = max(0, at - _LINE)
            start, end = max(window.rfind(b"\n", first, at) + 1, first), window.find(b"\n", at, at + _LINE)
            end = end if end >= 0 else min(at + _LINE, len(window))
            yield window[start:end]
            at = window.find(word, end)


def _windows(source: ByteSource) -> Iterator[bytes]:
    """Chunks that overlap, so that a message across two of them is seen."""
    tail = b""
    for chunk in source.chunks():
        window = tail + chunk
        yield window
        tail = window[-_OVERLAP:]
