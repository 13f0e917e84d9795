"""The base of every value that is read from a file: frozen, complete, unknown keys refused.

The only module that imports pydantic.
"""

from __future__ import annotations

import os

os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
# Before the first model: plugins of other packages would change how recipes are read, and pydantic looks for them in the
# metadata of every installed package, which takes a tenth of a small command's time.

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

__all__ = ["Field", "Model", "TypeAdapter", "ValidationError", "field_validator", "model_validator"]


class Model(BaseModel):
    """A frozen pydantic model that refuses unknown keys. Its validator is built when it is first used."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)
