"""Words of a command that a person copies into a shell."""

from __future__ import annotations

import shlex
from collections.abc import Iterable


def shell_word(value: object) -> str:
    """A value as one word of a command in a message: in quotes where a shell would split it or expand it."""
    return shlex.quote(str(value))


def shell_words(values: Iterable[object]) -> str:
    """Several values as the words of such a command."""
    return shlex.join(map(str, values))
