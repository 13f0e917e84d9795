"""Branches of the preprocessor's by CUDA's compiler and version, which HIP would take otherwise than its own compiler's.

The fix `least-versions`: `#if CUDA_VERSION < 9000` whose branch is `#error` asks for a version that is new enough. HIP has no
such number, so the question is put where the macro is defined alone. Of the branches after it the one for the newest
version is taken without the macro.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackbuild.hipify.cpp.chains import ChainBranch, chains
from stackbuild.hipify.cpp.edits import Edit
from stackbuild.hipify.cpp.source_text import View

VERSIONS = ("CUDA_VERSION", "CUDART_VERSION", "CUB_VERSION", "__CUDACC_VER_MAJOR__", "__CUDACC_VER__")
_NAMES = "|".join(VERSIONS)
_LESS = re.compile(rf"\b({_NAMES})\s*<=?\s*\w+\b(?!\s*[-+*/])")
_NEWEST = re.compile(rf"\(?\s*({_NAMES})\s*>=?\s*\w+\s*\)?")
_ERROR_ALONE = re.compile(r"\s*#[ \t]*error\b[^\n]*\s*")
_HIP = re.compile(
    r"(!\s*(?:defined\s*)?\(?\s*)?\b(?:__HIP__|__HIPCC__|__HIP_PLATFORM_(?:AMD|HCC)__|__HIP_DEVICE_COMPILE__|__AMDGCN__)(?!\w)"
)
"""A macro of HIP's compiler; the group is what says that it is not there."""


def fix(view: View, by: str) -> Iterator[Edit]:
    """The edits that make a question for a least version one that HIP passes."""
    if view.words.isdisjoint(VERSIONS):
        return
    for macro, at, end in _questions(view):
        if end:
            yield Edit(at, at, f"(defined({macro}) && ", by)
            yield Edit(end, end, ")", by, closes=True)
        else:
            yield Edit(at, at, f"!defined({macro}) || ", by)


def passable_lines(view: View) -> frozenset[int]:
    """Where the lines begin whose questions for a version HIP answers as the newest after the fix."""
    if view.words.isdisjoint(VERSIONS):
        return frozenset()
    ladders = (chain for chain in chains(view.code) if any(_less(view, branch) for branch in chain))
    return frozenset(branch.line for chain in ladders for branch in chain)


def _questions(view: View) -> Iterator[tuple[str, int, int]]:
    """The questions to change: the macro, and from where to where it is compared; the end is 0 for the newest."""
    for chain in chains(view.code):
        macro = ""
        for branch in chain:
            less = _less(view, branch)
            if less:
                macro = less[1]
                yield macro, branch.condition_at + less.start(), branch.condition_at + less.end()
        if macro and chain[-1].word != "else":
            newest = next((b for b in reversed(chain) if (m := _NEWEST.fullmatch(b.condition.strip())) and m[1] == macro), None)
            if newest:
                at = newest.condition_at + len(newest.condition) - len(newest.condition.lstrip())
                yield macro, at, 0


def _less(view: View, branch: ChainBranch) -> re.Match[str] | None:
    """The comparison by which a branch refuses old versions, and nothing else."""
    if branch.word not in ("if", "elif") or ("defined" in branch.condition and _asks_for_version(branch.condition)):
        return None
    less = _LESS.search(branch.condition)
    if less is None or "!(" in "".join(branch.condition.split()):
        return None
    return less if _ERROR_ALONE.fullmatch(view.text, branch.start, branch.end) else None


def _asks_for_version(condition: str) -> bool:
    """Whether a condition asks already whether a version is defined."""
    return re.search(rf"defined\s*\(?\s*(?:{_NAMES})\b", condition) is not None


def own_branches(view: View) -> frozenset[int]:
    """Where the lines begin that ask for CUDA's compiler, and are followed by a branch for HIP's: they stay CUDA's."""
    lines: set[int] = set()
    for chain in chains(view.code) if "__CUDACC__" in view.words and "HIP" in view.word_lines else ():
        hip = [n for n, branch in enumerate(chain) if branch.word in ("elif", "elifdef") and _is_of_hip(branch.condition)]
        lines.update(branch.line for branch in chain[: hip[-1] if hip else 0] if not _is_of_hip(branch.condition))
    return frozenset(lines)


def _is_of_hip(condition: str) -> bool:
    """Whether a condition is one that HIP's compiler may meet, by one of its macros."""
    return any(not match[1] for match in _HIP.finditer(condition))
