"""Telling text in host files: paths of the machine that built them, secrets, and ONNX Runtime's build information.

Device code is not searched. Patterns are matched on chunks that pass by, with an overlap, so a match is found once.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from stackbuild.inspection.facts import TextHit
from stackbuild.inspection.limits import CHUNK, DISTINCT, Cost
from stackbuild.inspection.readers.budget import ReadBudget
from stackbuild.inspection.readers.source import ByteSource

_OVERLAP = 1_024  # more than any match is long
_BACK = 128
_SAMPLES = 5
_OTHERS = b""  # counted together: what there are too many of to tell apart

_DIGIT = rb"(?=[^\s\"'@/]{0,40}\d)"


class _Pattern(NamedTuple):
    """A pattern is tried at each `literal`, and before that at a `head` at most 128 bytes ahead of it: finding literals is
    what makes the search fast."""

    kind: str
    literal: bytes
    head: bytes
    pattern: re.Pattern[bytes]


def _patterns(*rows: tuple[str, tuple[bytes, ...], bytes, bytes]) -> tuple[_Pattern, ...]:
    return tuple(
        _Pattern(kind, each, head, re.compile(form)) for kind, literals, head, form in rows for each in literals
    )


#: Searched for everywhere.
_ANYWHERE = _patterns(
    ("home-path", (b"/home/", b"/root/", b"/Users/"), b"",
     rb"(?<![\w.-])/(?:home/[\w.-]{1,64}|root|Users/[\w.-]{1,64})/[\w.+@~-][\w./+@~-]{0,200}"),
    ("secret", (b"AKIA", b"ASIA"), b"", rb"(?<![A-Za-z0-9+/])A[KS]IA[0-9A-Z]{16}(?![A-Za-z0-9+/])"),
    ("secret", (b"ghp_", b"gho_", b"ghs_", b"ghu_", b"ghr_"), b"", rb"\bgh[opsur]_[A-Za-z0-9]{36}\b"),
    ("secret", (b"github_pat_",), b"", rb"\bgithub_pat_[A-Za-z0-9_]{60,255}"),
    ("secret", (b"glpat-",), b"", rb"\bglpat-[A-Za-z0-9_-]{20,255}"),
    ("secret", (b"pypi-AgEI",), b"", rb"\bpypi-AgEI[A-Za-z0-9_-]{50,255}"),
    ("secret", (b"PRIVATE KEY-----",), b"-----BEGIN ", rb"-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----\s{1,9}[A-Za-z0-9+/=\r\n]{60,255}"),
    ("secret", (b"://",), b"http",
     rb"\bhttps?://(?:[\w.%+-]{1,64}:[^\s/@:\"'<>{}$%\x00-\x1f]{6,128}|" + _DIGIT + rb"[A-Za-z0-9_-]{12,255})@[\w-]{1,64}\.[\w.-]{1,99}"),
    ("numpy", (b"numpy.",), b"", rb"\bnumpy\.(?:_?core)(?:\.[_a-z]{1,40})?\x00"),
    ("build-info", (b"git-commit-id=",), b"git-branch=", rb"(?:git-branch=[\w./-]{1,100}, )?git-commit-id=[0-9a-f]{7,40}"),
)  # fmt: skip
#: Searched for in what is text: stretches without a zero byte.
_IN_TEXT = _patterns(
    ("secret", (b"aws_secret_access_key", b"AWS_SECRET_ACCESS_KEY"), b"",
     rb"(?i:aws_secret_access_key)[\"']?\s{0,9}[=:]\s{0,9}[\"']?[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])"),
    ("secret", (b"npm_",), b"", rb"\bnpm_[A-Za-z0-9]{36}\b"),
    ("secret", (b"hf_",), b"", rb"\bhf_[A-Za-z0-9]{34}\b"),
    ("secret", (b"xox",), b"", rb"\bxox[abeoprs]-" + _DIGIT + rb"[0-9A-Za-z-]{20,255}"),
    ("secret", (b"AIzaSy",), b"", rb"\bAIzaSy[0-9A-Za-z_-]{33,40}(?![\w-])"),
    ("secret", (b"sk-",), b"", rb"(?<![\w-])sk-(?:(?:proj|svcacct|admin|ant-\w{1,9})-[\w-]{32,255}|[A-Za-z0-9]{48}(?![\w-]))"),
    ("secret", (b"sk_live_", b"rk_live_"), b"", rb"\b[sr]k_live_[A-Za-z0-9]{20,255}"),
    ("secret", (b"AccountKey=",), b"", rb"\bAccountKey=[A-Za-z0-9+/]{80,100}={0,2}"),
    ("secret", (b"eyJ",), b"", rb"\beyJ[\w-]{10,200}\.eyJ[\w-]{10,400}\.[\w-]{16,255}"),
    ("secret", (b"Bearer ",), b"", rb"\bBearer " + _DIGIT + rb"[\w.~+/-]{20,255}"),
    ("secret", (b"machine ",), b"", rb"\bmachine\s{1,9}[\w.-]{1,99}\s{1,9}login\s{1,9}\S{1,99}\s{1,9}password\s{1,9}\S{6,99}"),
)  # fmt: skip
_EVERYWHERE = _ANYWHERE + _IN_TEXT


class TextScan:
    """Feed it the host bytes of one file in order; `hits` then says what was in them."""

    def __init__(self, budget: ReadBudget | None = None) -> None:
        self._budget = budget or ReadBudget()
        self._tail = b""
        self._counts: dict[str, Counter[bytes]] = {}

    def push(self, chunk: bytes | memoryview) -> None:
        window = self._tail + bytes(chunk)
        self._search(window, len(self._tail), last=False)
        self._tail = window[-_OVERLAP:]

    def gap(self) -> None:
        """The next chunk does not follow the last one."""
        self._search(self._tail, len(self._tail), last=True)
        self._tail = b""

    def search(self, source: ByteSource, spans: list[tuple[int, int]]) -> None:
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
                path,
                kind,
                sum(counts.values()),
                tuple(_sample(kind, text) for text, _ in counts.most_common(_SAMPLES + 1) if text)[:_SAMPLES],
            )
            for kind, counts in sorted(self._counts.items())
        )

    def _search(self, window: bytes, fresh: int, *, last: bool) -> None:
        """Count the matches that end at `fresh` or after it. One that reaches the window's end waits for what follows."""
        for kind, literal, head, pattern in _ANYWHERE if b"\0" in window else _EVERYWHERE:
            at, end, tries = window.find(literal), 0, 0
            while at >= 0:
                start = window.rfind(head, max(end, at - _BACK), at) if head else -1
                match = (start >= 0 and pattern.match(window, start)) or pattern.match(window, at)
                end = max(at + len(literal), match.end()) if match else at + len(literal)
                if match and end >= fresh and (last or end < len(window) or at <= len(window) - _OVERLAP):
                    self._count(kind, match.group())
                at = window.find(literal, end)
                tries += 1
            if tries:
                self._budget.spend(Cost.TEXTS, tries)

    def _count(self, kind: str, text: bytes) -> None:
        counts = self._counts.setdefault(kind, Counter())
        counts[text if text in counts or len(counts) < DISTINCT else _OTHERS] += 1


def _sample(kind: str, text: bytes) -> str:
    """What may be shown: a secret never whole."""
    sample = text.decode("utf-8", "replace")
    return f"{sample[:8]}… ({len(sample)} characters)" if kind == "secret" else sample[:120]
