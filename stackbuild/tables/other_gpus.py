"""GPUs that no ROCm has binaries for, and the ONNX Runtime that runs there. other_gpus.toml has the names and sources."""

from __future__ import annotations

import fnmatch
import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

from stackbuild.tables.targets import plain_name

TABLE = Path(__file__).with_name("other_gpus.toml")


class OtherGpus(NamedTuple):
    """The GPUs of one maker, or of one age."""

    maker: str
    patterns: tuple[str, ...]
    """Patterns of the shell, of plain names."""
    next: str
    """What a user of one may do."""


@cache
def _rows() -> tuple[OtherGpus, ...]:
    table = tomllib.loads(TABLE.read_text("utf-8"))
    return tuple(OtherGpus(maker, tuple(row["names"]), row["next"]) for maker, row in table.items())


def other_gpus_of(name: str) -> OtherGpus | None:
    """The row that a name such as `RTX 4090` or `RX 580` belongs to, None where none does."""
    plain = plain_name(name)
    return next((row for row in _rows() if any(fnmatch.fnmatchcase(plain, p) for p in row.patterns)), None)
