"""Findings that the compiler refutes: they say that a line does not compile, and it read the line without an error."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from dataclasses import replace

from stackbuild.hipify.compilation.compiled_words import INCLUDE
from stackbuild.hipify.compilation.diagnostics import TreePlace
from stackbuild.hipify.lint.catalogue import DECIDED_BY_COMPILER
from stackbuild.hipify.model import FileReport
from stackbuild.model.findings import Finding, Severity

_WORD = re.compile(r"\w+")
_INCLUDE = re.compile(r"\s*#\s*include\b")
DecidableLine = tuple[TreePlace, frozenset[str]]
"""A line of the output, and the words that the compiler must have decided there."""


def claims_of(path: str, file: FileReport, source: str, output: str) -> dict[Finding, tuple[DecidableLine, ...]]:
    """The file's findings that a compiler can refute, each with the output's lines that it is about."""
    claims = [finding for finding in file.findings if is_decidable(finding)]
    if not claims:
        return {}
    source_lines, output_lines = source.split("\n"), output.split("\n")
    numbers: dict[int, list[int]] = {}
    for number in range(1, len(output_lines) + 1):
        numbers.setdefault(file.lines.original(number), []).append(number)
    by_finding: dict[Finding, tuple[DecidableLine, ...]] = {}
    for finding in claims:
        place = finding.place
        if place is None or place.line > len(source_lines):
            continue
        line = source_lines[place.line - 1]
        word = _WORD.match(line, place.column - 1)
        by_finding[finding] = tuple(
            ((path, number), words_there)
            for number in numbers.get(place.line, ())
            if (words_there := _wanted_words(word.group() if word else "", line, output_lines[number - 1]))
        )
    return by_finding


def as_note(finding: Finding, sides: str) -> Finding:
    """The finding as a note."""
    return replace(
        finding,
        severity=Severity.NOTE,
        why=f"hipcc takes this line without an error ({sides}), so it compiles; the tables say: {finding.why}",
        fix="see what it is linked with, which is not checked",
    )


def is_refuted(claims: tuple[DecidableLine, ...], words: Mapping[TreePlace, Set[str]], errors: Set[TreePlace]) -> bool:
    """Whether the compiler decided the words of a finding, in a line without errors."""
    lines = [(place, words_there) for place, words_there in claims if place in words]
    return any(words_there <= words[place] for place, words_there in lines) and not any(place in errors for place, _ in claims)


def is_decidable(finding: Finding) -> bool:
    """Whether the compiler can refute a finding that counts."""
    return finding.rule in DECIDED_BY_COMPILER and finding.severity is not Severity.NOTE


def _wanted_words(word: str, source: str, output: str) -> frozenset[str]:
    """The word that the finding is at where it is still there, else what came in place of the line's words."""
    if _INCLUDE.match(output):
        return frozenset((INCLUDE,))
    words = frozenset(_WORD.findall(output))
    return frozenset((word,)) if word in words else words - frozenset(_WORD.findall(source))
