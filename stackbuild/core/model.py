"""The base of every value that is read from a file: frozen, complete, unknown keys refused.

The only module that imports pydantic. Plugins of pydantic are off, unless the environment says otherwise: what a file
means does not depend on what else is installed, and pydantic looks for them in every installed distribution.
"""

from __future__ import annotations

import os
from typing import Annotated

from pydantic import (
    AfterValidator,
    AwareDatetime,
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
    "NAME_MAX",
    "AfterValidator",
    "AwareDatetime",
    "Field",
    "Model",
    "PathText",
    "TypeAdapter",
    "ValidationError",
    "ValidationInfo",
    "field_validator",
    "model_validator",
]

os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # read when the first model is built

NAME_MAX, PATH_MAX = 255, 4095
"""Bytes that Linux takes (<linux/limits.h>; PATH_MAX without the zero byte at a path's end)."""


def _fits(path: str) -> str:
    """The path as it is. Raises ValueError where no file can have it."""
    data = path.encode("utf-8", "surrogatepass")
    if len(data) > PATH_MAX or max(map(len, data.split(b"/"))) > NAME_MAX:
        raise ValueError(f"it is too long for a path: at most {NAME_MAX} bytes a name and {PATH_MAX} in all")
    return path


PathText = Annotated[str, AfterValidator(_fits)]
"""A text that names a file or a folder."""


class Model(BaseModel):
    """A frozen pydantic model that refuses unknown keys. Its validator is built when it is first used."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)
