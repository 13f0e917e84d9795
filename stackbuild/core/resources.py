"""Where the data beside the code lies: recipes, patches, hipify rules, templates, kernels.

In a checkout they are the folders next to `stackbuild/`; in an installed wheel they are `stackbuild/_data/`.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def folder(name: str) -> Path:
    """The data folder or file of that name, such as `recipes`. Raises FileNotFoundError where it did not ship."""
    for root in (_PACKAGE / "_data", _PACKAGE.parent):
        if (root / name).exists():
            return root / name
    raise FileNotFoundError(f"stackbuild was installed without its data folder {name!r}")
