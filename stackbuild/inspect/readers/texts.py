"""Telling text in host files: paths of the machine that built them, secrets, and ONNX Runtime's build information.

Device code is not searched. Patterns are matched on chunks that pass by, with an overlap, so a match is found once.
"""

from __future__ import annotations

import re
from collections import Counter

from stackbuild.inspect.facts import TextHit
from stackbuild.inspect.limits import CHUNK
from stackbuild.inspect.readers.source import Source

_OVERLAP = 512
_SAMPLES = 5

#: kind → (literals that must be there before the pattern is tried, pattern). The literals make the search fast.
_PATTERNS: tuple[tuple[str, tuple[bytes, ...], re.Pattern[bytes]], ...] = (
    ("home-path", (b"/home/", b"/root/", b"/Users/"),
     re.compile(rb"(?<![\w.-])/(?:home/[\w.-]{1,64}|root|Users/[\w.-]{1,64})/[\w.+@~-][\w./+@~-]{0,200}")),
    ("secret", (b"AKIA",), re.compile(rb"(?<![A-Za-z0-9+/])AKIA[0-9A-Z]{16}(?![A-Za-z0-9+/])")),
    ("secret", (b"ghp_", b"gho_", b"ghs_", b"ghu_", b"ghr_"), re.compile(rb"\bgh[opsur]_[A-Za-z0-9]{36}\b")),
    ("secret", (b"github_pat_",), re.compile(rb"\bgithub_pat_[A-Za-z0-9_]{60,}")),
    ("secret", (b"glpat-",), re.compile(rb"\bglpat-[A-Za-z0-9_-]{20,}")),
    ("secret", (b"pypi-AgEI",), re.compile(rb"\bpypi-AgEI[A-Za-z0-9_-]{50,}")),
    ("secret", (b"PRIVATE KEY-----",), re.compile(rb"-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----\s+[A-Za-z0-9+/=\r\n]{60,}")),
    ("secret", (b"://",), re.compile(rb"\bhttps?://[\w.%+-]{1,64}:[^\s/@:\"'<>{}$%\x00-\x1f]{6,128}@[\w-]{1,64}\.[\w.-]+")),
    ("numpy", (b"numpy",), re.compile(rb"\bnumpy\.(?:_?core)(?:\.[_a-z]{1,40})?\x00")),
    ("build-info", (b"git-commit-id=",), re.compile(rb"(?:git-branch=[\w./-]{1,100}, )?git-commit-id=[0-9a-f]{7,40}")),
)  # fmt: skip


class TextScan:
    """Feed it the host bytes of one file in order; `hits` then says what was in them."""

    def __init__(self) -> None:
        self._tail = b""
        self._found: dict[str, Counter[bytes]] = {}

    def push(self, chunk: bytes | memoryview) -> None:
        window = self._tail + bytes(chunk)
        self._search(window, len(self._tail), last=False)
        self._tail = window[-_OVERLAP:]

    def gap(self) -> None:
        """The next chunk does not follow the last one."""
        self._search(self._tail, len(self._tail), last=True)
        self._tail = b""

    def search(self, source: Source, spans: list[tuple[int, int]]) -> None:
        """Search stretches (offset, size) of a source."""
        for start, size in spans:
            self.gap()
            for at in range(start, start + size, CHUNK):
                self.push(source.read(at, min(CHUNK, start + size - at)))

    def hits(self, path: str) -> tuple[TextHit, ...]:
        """What was found in all that was pushed."""
        self.gap()
        return tuple(
            TextHit(
                path, kind, sum(found.values()), tuple(_sample(kind, text) for text, _ in found.most_common(_SAMPLES))
            )
            for kind, found in sorted(self._found.items())
        )

    def _search(self, window: bytes, fresh: int, *, last: bool) -> None:
        """Count the matches that end at `fresh` or after it. One that reaches the window's end waits for what follows."""
        for kind, literals, pattern in _PATTERNS:
            if not any(literal in window for literal in literals):
                continue
            for match in pattern.finditer(window):
                waits = match.end() == len(window) and match.start() > len(window) - _OVERLAP
                if match.end() >= fresh and (last or not waits):
                    self._found.setdefault(kind, Counter())[match.group()] += 1


def _sample(kind: str, text: bytes) -> str:
    """What may be shown: a secret never whole."""
    shown = text.decode("utf-8", "replace")
    return f"{shown[:8]}… ({len(shown)} characters)" if kind == "secret" else shown[:120]
