"""The root that an image's files are taken from: the recipe's base, or a root of the packages behind the wheels."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path, PurePosixPath

from stackbuild.build.context import BuildContext
from stackbuild.build.schedule import Limits, schedule
from stackbuild.core import digest
from stackbuild.core.errors import StepFailed
from stackbuild.model.loaded_recipe import LoadedRecipe
from stackbuild.model.plan import Plan, Step, sorted_items
from stackbuild.pipeline.image_contents import ImageContents
from stackbuild.sources.dpkg import DpkgRoot
from stackbuild.tables.packages import packages_of


def _needed_packages(wheel_files: tuple[Path, ...], base: DpkgRoot) -> tuple[frozenset[str], tuple[str, ...]]:
    """The packages of the base that have the libraries which the wheels need and do not hold; the sonames that no package of
    it has."""
    from stackbuild.inspection import inspect

    libraries = [library for wheel in wheel_files for library in inspect(wheel).libraries]
    inside = {name for one in libraries for name in (one.soname, PurePosixPath(one.path).name)}
    owners, lacking = set(), []
    for soname in sorted({name for one in libraries for name in one.needed} - inside):
        place = base.library(soname)
        owner = base.owners.get(place, "") or (base.owners.get(_target(base, place), "") if place else "")
        owners.add(owner)
        lacking += [soname] if not owner else []
    return frozenset(owners - {""}), tuple(lacking)


def runtime_root(
    contents: ImageContents, loaded_recipe: LoadedRecipe, limits: Limits, context: BuildContext
) -> tuple[DpkgRoot, frozenset[str]]:
    """The root that the image's files are taken from, and the packages behind the wheels.

    It is the recipe's base; where that has the libraries without what they need themselves (`extract`), it is a root of the
    same suite and versions with just these packages. Raises StepFailed for a library whose package nobody knows.
    """
    base = DpkgRoot(contents.base)
    owners, lacking = _needed_packages((*contents.runtime, *contents.own), base)
    if not lacking:
        return base, owners
    package_names = {soname: packages_of(soname)[0] for soname in lacking}
    unknown_sonames = [soname for soname, package in package_names.items() if not package]
    if unknown_sonames or contents.step.action != "debian":
        raise StepFailed(
            f"no package of the base has {', '.join(unknown_sonames or lacking)}, which the wheels need",
            where=str(base.root),
            next="an image is made of packages; add the one with that library to the recipe's base",
        )
    names = frozenset((*owners, *package_names.values()))
    step = runtime_step(contents.step, names)
    outputs, failures = schedule(Plan(loaded_recipe.recipe.name, (step,), (step.name,)), context, limits)
    if failures:
        raise StepFailed(f"step `{step.name}` failed: {failures[0].what}", where=failures[0].log, next=failures[0].look)
    return DpkgRoot(context.store.tree(outputs[step.name].tree)), names


def runtime_step(base: Step, packages: Iterable[str]) -> Step:
    """The step that makes a root with these packages and Python, of the base's suite and at its locked versions."""
    params = dict(base.params)
    params |= {"extract": digest.canonical(()), "packages": digest.canonical(sorted({*packages, "python3"}))}
    return replace(base, name="runtime", params=sorted_items(params))


def _target(base: DpkgRoot, place: str) -> str:
    """What a link of the base leads to, inside the base."""
    link = base.root / place
    return base.place(str(PurePosixPath(place).parent / os.readlink(link))) if link.is_symlink() else place
