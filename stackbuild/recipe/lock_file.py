"""The lock beside a recipe: read, checked against the recipe, and written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from stackbuild.core import yaml
from stackbuild.core.errors import LockError, RecipeError
from stackbuild.core.model import ValidationError
from stackbuild.core.model_mistakes import first_mistake
from stackbuild.core.plain_file import read_regular
from stackbuild.core.shell_words import shell_word
from stackbuild.model.loaded_recipe import LoadedRecipe
from stackbuild.model.lock import Lock, questions_digest
from stackbuild.store import atomic

HEADER = """\
# What the world answered to {file}. Written by `stackbuild lock --recipe {recipe}`; commit it beside the recipe.
"""


def write_lock(lock: Lock, loaded_recipe: LoadedRecipe) -> None:
    """Write the lock beside its recipe, whole or not at all. Raises OSError."""
    header = HEADER.format(file=_recipe_file(loaded_recipe), recipe=shell_word(loaded_recipe.given_name))
    text = header + lock_text(lock)
    atomic.write_whole(loaded_recipe.lock_path, text, loaded_recipe.lock_path.parent)


def lock_text(lock: Lock) -> str:
    """A lock as YAML, without a header."""
    return "".join(_lines(lock.model_dump(mode="json", by_alias=True), 0))


def _recipe_file(loaded_recipe: LoadedRecipe) -> str:
    """The name of the recipe's file: that of its lock without `.lock`."""
    return loaded_recipe.lock_path.name.removesuffix(".lock.yaml") + ".yaml"


def _lines(data: Mapping[str, object], depth: int) -> list[str]:
    """Block-style YAML of nested mappings with JSON scalars: diffs of a lock are read by people."""
    lines = []
    for name, value in sorted(
        data.items(), key=lambda item: (item[0] not in ("schema", "asked", "questions"), item[0])
    ):
        lead = "  " * depth + (name if name.replace("-", "").replace("_", "").isalpha() else json.dumps(name))
        if isinstance(value, dict) and value:
            lines += [f"{lead}:\n", *_lines(value, depth + 1)]
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            lines += [f"{lead}:\n", *(f"{'  ' * (depth + 1)}- {json.dumps(row)}\n" for row in value)]
        else:
            lines.append(f"{lead}: {json.dumps(value)}\n")
    return lines


def read_lock(loaded_recipe: LoadedRecipe) -> Lock:
    """The lock beside the recipe. Raises LockError where there is none, it is broken, or it answers other questions."""
    lock = parse_lock(loaded_recipe)
    if lock.asked != questions_digest(loaded_recipe.recipe):
        raise LockError(
            "the lock is stale: the recipe asks for other things now",
            where=str(loaded_recipe.lock_path),
            next=_command(loaded_recipe),
        )
    return lock


def _command(loaded_recipe: LoadedRecipe) -> str:
    return f"run `stackbuild lock --recipe {shell_word(loaded_recipe.given_name)}`"


def _text(path: Path) -> str:
    """The text of the lock: a checkout may have a link to a device in its place. Raises LockError, UnicodeDecodeError, OSError."""
    path.stat()
    if (data := read_regular(path, yaml.MAX_BYTES + 1)) is None:
        raise LockError(
            "the lock is not a file that can be read", where=str(path), next="remove it, or check its permissions"
        )
    return data.decode("utf-8")


def parse_lock(loaded_recipe: LoadedRecipe) -> Lock:
    """The lock beside the recipe, stale or not. Raises LockError where there is none or it is broken."""
    again = _command(loaded_recipe)
    try:
        return Lock.from_text(_text(loaded_recipe.lock_path), str(loaded_recipe.lock_path))
    except FileNotFoundError:
        raise LockError("the recipe has no lock", where=str(loaded_recipe.lock_path), next=again) from None
    except ValidationError as error:
        message = f"the lock is broken: {first_mistake(error)}"
        raise LockError(message, where=str(loaded_recipe.lock_path), next=again) from None
    except (RecipeError, UnicodeDecodeError) as error:
        first = str(error.mistakes[0]).split("\n")[0] if isinstance(error, RecipeError) else "it is not UTF-8"
        raise LockError(f"the lock is broken: {first}", where=str(loaded_recipe.lock_path), next=again) from None
