"""The fix `register`: C++17 has no `register`, which clang refuses and nvcc does not; it means nothing to either.

A variable of a machine's register (`register int x asm("…")`) keeps it, and so does a file that has nothing of CUDA: it may be C.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackbuild.hipify.cpp.edits import Edit
from stackbuild.hipify.cpp.source_text import View

_DEVICE = frozenset(("__global__", "__device__", "__shared__", "threadIdx", "blockIdx"))
_BLANKS = re.compile(r"[ \t]*")
_ASM = re.compile(r"[^;{}]*\b(?:asm|__asm__|__asm)\b")


def fix(view: View, by: str) -> Iterator[Edit]:
    """The edits that leave out the word, with the blanks after it."""
    if "register" not in view.words or not (view.is_cuda or view.words & _DEVICE):
        return
    for at in view.own("register"):
        end = at + len("register")
        if not _ASM.match(view.code, end):
            blanks = _BLANKS.match(view.code, end)
            yield Edit(at, blanks.end() if blanks else end, "", by)
