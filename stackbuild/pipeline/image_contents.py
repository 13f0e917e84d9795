"""The wheels of an image: built, fetched with what they run with, and installed by the base's own Python."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from stackbuild.build.build import build, wheels
from stackbuild.build.context import BuildContext
from stackbuild.build.order import Order
from stackbuild.core.errors import LockError, MachineLacks, StepFailed, UsageError
from stackbuild.core.offline_pip import install_words, pip_folder
from stackbuild.core.shell_words import shell_word
from stackbuild.core.versions import series
from stackbuild.model.loaded_recipe import LoadedRecipe
from stackbuild.model.plan import Step
from stackbuild.pipeline.image_sandbox import sandbox_of
from stackbuild.recipe.prepare import PreparedRecipe
from stackbuild.recipe.wheels import narrow, wheels_of
from stackbuild.sources.dpkg import DpkgRoot


@dataclass(frozen=True)
class ImageContents:
    """What the image is made of.

    `base` is the root of the recipe's base, `step` the step that made it and `python` its Python. `own` are the recipe's wheels,
    `runtime` those that they run with, `packages` the import packages that are loaded as a proof.
    """

    base: Path
    step: Step
    python: str
    own: tuple[Path, ...]
    runtime: tuple[Path, ...]
    packages: tuple[str, ...]


def refuse_unsuited(prepared_recipe: PreparedRecipe) -> None:
    """Before hours of a build: the recipe makes wheels, and the lock's packages have a Python that they are for. Raises
    UsageError, LockError, MachineLacks. Of a base that is an image the lock knows no packages."""
    loaded_recipe = prepared_recipe.loaded_recipe
    recipe = loaded_recipe.recipe
    packed_wheels = tuple(wheels_of(recipe))
    if not packed_wheels:
        raise UsageError(
            "the recipe makes no wheel, and an image is made of wheels",
            where=loaded_recipe.given_name,
            next="add a component of kind `wheel` to the recipe",
        )
    packages = prepared_recipe.lock.packages
    if packages:
        python = _series(packages.get("python3"))
        if not any(each.wheel.abi != "cpython" or python in recipe.python for each in packed_wheels):
            raise _no_wheel_for(python)
        _refuse_unlisted(python, loaded_recipe)


def contents_of(prepared_recipe: PreparedRecipe, order: Order, context: BuildContext) -> ImageContents:
    """Build the wheels, and fetch those that they run with for the base's Python."""
    loaded_recipe = prepared_recipe.loaded_recipe
    outputs = build(prepared_recipe, order, context)
    step = next((s for s in outputs.plan.steps if s.action in ("debian", "image")), None)
    record = context.store.find(step.key) if step else None
    if step is None or record is None:
        raise MachineLacks(
            "the recipe's base is not in the store", next=f"stackbuild build -r {shell_word(loaded_recipe.given_name)}"
        )
    base = context.store.tree(record.tree)
    python = _python(base)
    own = tuple(w for w in wheels(outputs, context.store) if fits_python(w, python))
    if not own:
        raise _no_wheel_for(python)
    runtime: tuple[Path, ...] = ()
    if loaded_recipe.recipe.verify and loaded_recipe.recipe.verify.runtime:
        _refuse_unlisted(python, loaded_recipe)
        house = f"wheelhouse.{python}"
        choice = replace(order.choice, python=(python,), until=house)
        house_order = replace(order, choice=choice)
        fetched_outputs = build(replace(prepared_recipe, choice=choice), house_order, context)
        runtime = tuple(p for b in fetched_outputs.outputs for p in sorted(context.store.tree(b.tree).glob("*.whl")))
    return ImageContents(base, step, python, own, without_replaced(runtime, own), _packages(prepared_recipe))


def _no_wheel_for(python: str) -> UsageError:
    return UsageError("the recipe makes no wheel for its base's Python", where=f"Python {python}")


def _refuse_unlisted(python: str, loaded_recipe: LoadedRecipe) -> None:
    """The wheels that the recipe's own run with are locked for the Pythons that it lists. Raises LockError."""
    recipe = loaded_recipe.recipe
    if recipe.verify and recipe.verify.runtime and python not in recipe.python:
        raise LockError(
            f"the recipe does not list Python {python}, which its base has",
            where="python",
            next=f"add it and run `stackbuild lock -r {shell_word(loaded_recipe.given_name)}`",
        )


def _python(base: Path) -> str:
    """The Python of the base, such as `3.13`."""
    status = DpkgRoot(base).packages.get("python3")
    version = re.search(r"^Version: (\S+)", status.stanza, re.MULTILINE) if status else None
    return _series(version[1] if version else None)


def _series(version: str | None) -> str:
    """The Python of that version of Debian's package python3. Raises MachineLacks where there is none."""
    if version is None:
        raise MachineLacks("the base has no package python3", next="add python3 to the recipe's base")
    return series(version)


def fits_python(wheel: Path, python: str) -> bool:
    """Whether that Python, such as `3.13`, can install the wheel: by the Python tag of its file name."""
    tag = wheel.stem.split("-")[-3]
    return tag.startswith("py") or tag == f"cp{python.replace('.', '')}"


def without_replaced(runtime: tuple[Path, ...], own: tuple[Path, ...]) -> tuple[Path, ...]:
    """The wheels of a runtime but for distributions that the recipe makes itself. One `onnxruntime` is enough."""
    mine = {w.name.partition("-")[0].lower() for w in own}
    replacement = (
        {"onnxruntime"} if any(name.startswith("onnxruntime_") and "_ep_" not in name for name in mine) else set()
    )
    return tuple(w for w in runtime if w.name.partition("-")[0].lower() not in mine | replacement)


def _packages(prepared_recipe: PreparedRecipe) -> tuple[str, ...]:
    """The import packages of the recipe's wheels, those that are loaded to prove the image."""
    recipe, _ = narrow(prepared_recipe.loaded_recipe.recipe, prepared_recipe.choice.gfx)
    return tuple(
        dict.fromkeys(p for c in recipe.components.values() for p in getattr(c, "packages", ()) if "/" not in p)
    )


def install_wheels(contents: ImageContents, scratch: Path) -> Mapping[str, Path]:
    """Each wheel's files where the base's own Python puts them: `own` or `runtime` to the folder. pip runs in the base."""
    folders = {}
    for kind, wheel_files in (("runtime", contents.runtime), ("own", contents.own)):
        target, wheel_folder = scratch / kind, scratch / f"{kind}-wheels"
        target.mkdir()
        wheel_folder.mkdir()
        for wheel in wheel_files:
            shutil.copy(wheel, wheel_folder)
        if wheel_files:
            _pip(contents.base, target, wheel_folder)
        folders[kind] = target
    return folders


def _pip(root: Path, target: Path, wheels_folder: Path) -> None:
    names = [f"/tmp/wheels/{p.name}" for p in sorted(wheels_folder.iterdir())]
    sandbox = sandbox_of(
        root,
        (
            *("--dir", "/tmp/pip", "--ro-bind", str(pip_folder()), "/tmp/pip/pip"),
            *("--ro-bind", str(wheels_folder), "/tmp/wheels", "--bind", str(target), "/tmp/target"),
        ),
        (("PYTHONPATH", "/tmp/pip"), ("PIP_CONFIG_FILE", "/dev/null"), ("PIP_ROOT_USER_ACTION", "ignore")),
    )
    words = install_words(["--no-deps", "--no-cache-dir", "--target", "/tmp/target", *names])
    code, output = sandbox.run("python3", "-m", "pip", *words)
    if code:
        raise StepFailed(f"pip cannot install the wheels in the base: {output.strip()[-800:]}", where=str(root))
