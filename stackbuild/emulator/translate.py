"""A code object → a folder of compiled kernels.

FOLDER/<sha256 of the code object>-<options>/ has kernels.json (for Python), kernels.txt (the same for executor.c),
image.bin (the loaded segments), operations.so and a library for each translated kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def translate(
    code_object: bytes,
    target: str,
    folder: Path,
    *,
    sanitize: bool,
    counters: bool,
    kernels: Sequence[str] | None,
) -> Path:
    """Translate kernels of a code object and return the folder below `folder` that holds them.

    `kernels` are mangled names; None for all. Kernels that lie there already are not translated again.
    """
    raise NotImplementedError
