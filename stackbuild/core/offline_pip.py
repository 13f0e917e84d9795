"""pip as stackbuild runs it to install wheels: the pip beside stackbuild, without an index, and without building anything."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from stackbuild.core.errors import MachineLacks
from stackbuild.core.shell_words import shell_word


def install_words(arguments: Iterable[str | Path]) -> list[str]:
    """pip's words that install wheels and what they need from folders alone."""
    flags = ("--no-index", "--no-compile", "--disable-pip-version-check", "--quiet", "--only-binary", ":all:")
    return ["install", *flags, *map(str, arguments)]


def pip_folder() -> Path:
    """The folder of the pip beside stackbuild. Raises MachineLacks where there is none."""
    spec = find_spec("pip")
    if spec is None or spec.origin is None:
        raise MachineLacks("the Python that runs stackbuild has no pip", next=f"{shell_word(sys.executable)} -m ensurepip")
    return Path(spec.origin).parent
