"""What one recipe needs of this machine, before its first byte is fetched: `doctor --recipe`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from stackbuild.core.errors import MachineLacks, RecipeError, Stop
from stackbuild.core.shell_words import shell_word
from stackbuild.core.sizes import size_of
from stackbuild.machine.host import machine_memory
from stackbuild.model.findings import Rung, Status
from stackbuild.model.loaded_recipe import LoadedRecipe
from stackbuild.model.lock import missing_entries
from stackbuild.model.recipe import Recipe
from stackbuild.plan.estimates import hours_in_words, step_hours
from stackbuild.recipe.compatibility import refuse_impossible
from stackbuild.recipe.lock_file import read_lock
from stackbuild.recipe.references import refuse_mistakes
from stackbuild.runners.engine import find_engine
from stackbuild.store.store import default_root

GIB = 1 << 30
DISK = {"rocmlir": 30 * GIB, "migraphx": 12 * GIB, "onnxruntime": 8 * GIB}
"""Bytes that a component's source, build tree and output may take. Guesses, rocMLIR's from LLVM's size; ONNX Runtime's and
MIGraphX's build trees were seen to stay below them here."""
DISK_BASE = {"debian": 5 * GIB, "image": 30 * GIB}
"""Bytes of a base: AMD's `-complete` images have more than 20 GB unpacked."""


def needs(loaded_recipe: LoadedRecipe) -> tuple[Rung, ...]:
    """Every need with whether this machine meets it. A failed one stops the build; skipped is what only may."""
    checks: tuple[tuple[str, Callable[[LoadedRecipe], tuple[Status, str]]], ...] = (
        *(
            ("recipe", _mistakes),
            ("lock", _lock),
            ("recipe tools", _tools),
            ("recipe disk", _disk),
            ("recipe memory", _memory),
        ),
        ("hours", _hours),
    )
    return tuple(Rung(name, *check(loaded_recipe), 0.0) for name, check in checks)


def _mistakes(loaded_recipe: LoadedRecipe) -> tuple[Status, str]:
    try:
        refuse_mistakes(loaded_recipe)
    except RecipeError as error:
        first = error.mistakes[0]
        more = f", and {len(error.mistakes) - 1} more" if len(error.mistakes) > 1 else ""
        return (
            Status.FAILED,
            f"{first.place}: {first.what}{more}: stackbuild recipe check --recipe {shell_word(loaded_recipe.given_name)}",
        )
    return Status.PASSED, "names nothing that is not there"


def _lock(loaded_recipe: LoadedRecipe) -> tuple[Status, str]:
    try:
        lock = read_lock(loaded_recipe)
        refuse_impossible(loaded_recipe, lock)
    except Stop as stop:
        return Status.FAILED, f"{stop.what}: {stop.next}"
    if open_ := missing_entries(loaded_recipe.recipe, lock):
        more = f", and {len(open_) - 1} more" if len(open_) > 1 else ""
        return Status.FAILED, f"{open_[0]}{more}: stackbuild lock --recipe {shell_word(loaded_recipe.given_name)}"
    return Status.PASSED, "answers every question"


TOOLS = {"git": ("git", "git"), "debian": ("mmdebstrap", "mmdebstrap"), "image": ("skopeo", "skopeo")}
"""The program that a step's action runs on the host, and the Debian package that has it."""


def lacking_packages(actions: Iterable[str]) -> list[str]:
    """The Debian packages of those actions' programs that are not installed. An image needs no skopeo where a Docker engine
    answers, which pulls it."""
    lacking = {a: TOOLS[a][1] for a in actions if a in TOOLS and not shutil.which(TOOLS[a][0])}
    if "image" in lacking and find_engine() is not None:
        del lacking["image"]
    return sorted(lacking.values())


def refuse_missing_tools(actions: Iterable[str]) -> None:
    """Before the first step: the programs of those actions are installed. Raises MachineLacks with all that are not."""
    lacking = lacking_packages(actions)
    if lacking:
        message = f"{' and '.join(f'`{name}`' for name in lacking)} {'is' if len(lacking) == 1 else 'are'} not installed, which this build runs"
        engine = ", or start a Docker engine, which pulls the image too" if "skopeo" in lacking else ""
        raise MachineLacks(message, next=f"apt-get install {' '.join(lacking)}{engine}")


def disk_warning(loaded_recipe: LoadedRecipe) -> str:
    """What to say before a build that may not fit on the disk, by a guess; "" where it fits."""
    status, message = _disk(loaded_recipe)
    return "" if status is Status.PASSED else message


def _tools(loaded_recipe: LoadedRecipe) -> tuple[Status, str]:
    recipe = loaded_recipe.recipe
    actions = ["git"] if any(s.git for s in recipe.sources.values()) else []
    actions.append("debian" if recipe.base.debian else "image")
    if lacking := lacking_packages(actions):
        return Status.FAILED, f"apt-get install {' '.join(lacking)}"
    if recipe.base.extend and os.geteuid() != 0:
        return Status.FAILED, "extending the image needs root: run as root, or take the base from a bundle (--mirror)"
    names = [TOOLS[action][0] for action in actions if shutil.which(TOOLS[action][0])]
    return Status.PASSED, f"{', '.join(names) or 'none beside the sandbox'}: there"


def disk_wanted(recipe: Recipe) -> int:
    """Bytes of disk that a build from nothing may take: a guess."""
    base = DISK_BASE["debian" if recipe.base.debian else "image"]
    return base + sum(DISK.get(c.kind, GIB) for c in recipe.components.values())


def _disk(loaded_recipe: LoadedRecipe) -> tuple[Status, str]:
    space = disk_wanted(loaded_recipe.recipe)
    place = default_root()
    there = next(p for p in (place, *place.parents) if Path(p).exists())
    free = shutil.disk_usage(there).free
    message = f"{free // GIB} GiB free at {there}, about {space // GIB} may be wanted (a guess)"
    return (
        (Status.PASSED, message)
        if free >= space
        else (Status.FAILED, f"{message}: set STACKBUILD_STORE to a larger disk")
    )


def _memory(loaded_recipe: LoadedRecipe) -> tuple[Status, str]:
    name, largest = max(
        ((n, size_of(c.memory)) for n, c in loaded_recipe.recipe.components.items()), key=lambda item: item[1]
    )
    have = machine_memory()
    message = f"{have // GIB} GiB; {name} declares {largest // GIB or 1}"
    return (
        (Status.PASSED, message) if have >= largest else (Status.SKIPPED, f"{message}: it runs alone, with fewer jobs")
    )


def _hours(loaded_recipe: LoadedRecipe) -> tuple[Status, str]:
    cores = len(os.sched_getaffinity(0))
    return Status.PASSED, f"from nothing {hours_in_words(step_hours(loaded_recipe.recipe))}; {cores} cores here"
