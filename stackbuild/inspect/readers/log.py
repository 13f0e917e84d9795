"""What a build's log says that its exit code does not: options nobody read, code for the build machine only."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackbuild.inspect.facts import BuildLog
from stackbuild.inspect.readers.source import Source

_UNUSED = re.compile(
    rb"Manually-specified variables were not used by the project:\s*\n((?:[ \t]*\r?\n|[ \t]+[A-Za-z_][\w.-]*[ \t]*\r?\n)+)"
)
_SOURCE = re.compile(rb"([\w./+-]{1,300}\.(?:c|cc|cpp|cxx|cu|hip))(?![\w.])")
_OVERLAP = 64 << 10
_LINE = 8 << 10


def is_log(name: str) -> bool:
    """Whether a file is read as a build log, by its name."""
    return name.endswith(".log") or name in ("compile_commands.json", "CMakeConfigureLog.yaml", "CMakeOutput.txt")


def build_log(source: Source) -> BuildLog:
    """Read a log of any length in bounded memory. Raises Broken where the file ends early."""
    unused: dict[str, None] = {}
    native: dict[str, None] = {}
    for window in _windows(source):
        for match in _UNUSED.finditer(window):
            unused |= dict.fromkeys(name.decode() for name in match[1].split())
        for line in _lines_with(window, (b"-march=native", b"-mcpu=native")):
            named = _SOURCE.findall(line)
            native[named[-1].decode("utf-8", "replace")[-120:] if named else "a command without a source"] = None
    return BuildLog(tuple(unused), tuple(sorted(native)))


def _lines_with(window: bytes, words: tuple[bytes, ...]) -> Iterator[bytes]:
    """The lines that hold one of some words: found by the word, since a pattern that starts at the line is quadratic."""
    for word in words:
        at = window.find(word)
        while at >= 0:
            start, end = window.rfind(b"\n", 0, at) + 1, window.find(b"\n", at)
            line = window[max(start, at - _LINE) : end if 0 <= end < at + _LINE else at + _LINE]
            yield line
            at = window.find(word, max(at + len(word), end))


def _windows(source: Source) -> Iterator[bytes]:
    """Chunks that overlap, so that a message across two of them is seen."""
    tail = b""
    for chunk in source.chunks():
        window = tail + chunk
        yield window
        tail = window[-_OVERLAP:]
