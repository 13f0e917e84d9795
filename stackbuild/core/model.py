"""The base of every value that is read from a file: frozen, complete, unknown keys refused.

The only module that imports pydantic.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

__all__ = [
    "Field",
    "Model",
    "PathText",
    "TypeAdapter",
    "ValidationError",
    "ValidationInfo",
    "field_validator",
    "model_validator",
]

LONGEST_NAME, LONGEST_PATH = 255, 4095
"""Bytes that Linux takes (NAME_MAX and PATH_MAX of <linux/limits.h>, without the zero byte at a path's end)."""


def _fits(path: str) -> str:
    """The path as it is. Raises ValueError where no file can have it."""
    names = [name.encode("utf-8", "surrogatepass") for name in path.split("/")]
    if max(map(len, names)) > LONGEST_NAME or sum(map(len, names)) + len(names) - 1 > LONGEST_PATH:
        raise ValueError(f"it is too long for a path: at most {LONGEST_NAME} bytes a name and {LONGEST_PATH} in all")
    return path


PathText = Annotated[str, AfterValidator(_fits)]
"""A text that names a file or a folder."""


class Model(BaseModel):
    """A frozen pydantic model that refuses unknown keys. Its validator is built when it is first used."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)
