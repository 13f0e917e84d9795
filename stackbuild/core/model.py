"""The base of every value that is read from a file: frozen, complete, unknown keys refused.

The only module that imports pydantic.
"""

from __future__ import annotations

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

__all__ = ["Field", "Model", "TypeAdapter", "ValidationError", "ValidationInfo", "field_validator", "model_validator"]


class Model(BaseModel):
    """A frozen pydantic model that refuses unknown keys. Its validator is built when it is first used."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)
