"""What a build's log says that its exit code does not: options nobody read, code for the build machine only."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackbuild.inspect.facts import BuildLog
from stackbuild.inspect.readers.source import Source

_UNUSED = re.compile(
    rb"Manually-specified variables were not used by the project:\s*\n((?:[ \t]*\r?\n|[ \t]+[A-Za-z_][\w.-]*[ \t]*\r?\n)+)"
)
_SOURCE = re.compile(rb"([\w./+-]+\.(?:c|cc|cpp|cxx|cu|hip))\b")
_OVERLAP = 64 << 10


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
        for line in (window[m.start() : m.end()] for m in re.finditer(rb"[^\n]*-m(?:arch|cpu)=native\b[^\n]*", window)):
            named = _SOURCE.findall(line)
            native[named[-1].decode("utf-8", "replace")[-120:] if named else "a command without a source"] = None
    return BuildLog(tuple(unused), tuple(sorted(native)))


def _windows(source: Source) -> Iterator[bytes]:
    """Chunks that overlap, so that a message across two of them is seen."""
    tail = b""
    for chunk in source.chunks():
        window = tail + chunk
        yield window
        tail = window[-_OVERLAP:]
