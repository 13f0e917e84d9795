"""YAML files as values of a model, with the place of every mistake."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from stackbuild.core import yaml
from stackbuild.core.errors import Mistake, RecipeError, UsageError
from stackbuild.core.model import Model, ValidationError
from stackbuild.core.plain_file import read_bounded

ModelT = TypeVar("ModelT", bound=Model)


def read_yaml(path: Path, shape: type[ModelT], help: str) -> ModelT:
    """A YAML file as that model. `help` is the next step of a mistake that names none itself.

    RecipeError names file, line and column of each mistake; UsageError where the file cannot be read.
    """
    try:
        text = read_bounded(path, yaml.MAX_BYTES).decode("utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(
            f"cannot read it: {error}", where=str(path), next="check the path and its permissions"
        ) from None
    data, places = yaml.compose(text, str(path))
    try:
        return shape.model_validate(data)
    except ValidationError as error:
        errors = error.errors(include_url=False)
        raise RecipeError(tuple(_mistake(dict(d), places, shape, help) for d in errors)) from None


def _mistake(detail: dict[str, object], places: yaml.Places, shape: type[Model], help: str) -> Mistake:
    loc = detail["loc"]
    path = tuple(part for part in loc if isinstance(part, str | int)) if isinstance(loc, tuple) else ()
    key_path = tuple(p for n, p in enumerate(path) if (*path[:n], p) in places.values or n == len(path) - 1)
    what, _, hint = str(detail["msg"]).removeprefix("Value error, ").partition("; ")
    where = ".".join(map(str, key_path)) or shape.__name__.lower()
    place = places.of_key(key_path) if detail["type"] in ("extra_forbidden", "missing") else places.of_value(key_path)
    return Mistake(place, f"`{where}`: {what}", hint or help)
