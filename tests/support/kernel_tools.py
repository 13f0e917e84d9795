"""The modules of kernels/ within the tests' process: they are no package, and scripts put their folder on sys.path."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from support.paths import ROOT

KERNELS = ROOT / "kernels"
_FOLDERS = {"tools", "attention", "batch_norm", "conv", "group_norm", "leaky_relu"}


@contextmanager
def kernels_on_path() -> Iterator[None]:
    """Within, they can be imported; afterwards none of what was imported is left."""
    sys.path.insert(0, str(KERNELS))
    before = set(sys.modules)
    try:
        yield
    finally:
        sys.path.remove(str(KERNELS))
        for name in set(sys.modules) - before:
            if name.split(".")[0] in _FOLDERS:
                del sys.modules[name]
