"""`recipe check`: the rule sets and patches that a recipe's conversions use, read before a build is begun."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from stackbuild.checks.patches import mistake_finding
from stackbuild.core.errors import RecipeError, UsageError
from stackbuild.hipify.rules.rules import glob
from stackbuild.hipify.stage import rules_of
from stackbuild.model.components import Hipify
from stackbuild.model.findings import Finding
from stackbuild.model.loaded_recipe import LoadedRecipe
from stackbuild.recipe import recipe_rules
from stackbuild.recipe.near_path import near_path
from stackbuild.sources.patches import series


def hipify_findings(loaded_recipe: LoadedRecipe) -> tuple[Finding, ...]:
    """Every mistake in rule sets, in their support headers and in patches after the conversion."""
    findings: list[Finding] = []
    for name, conversion in loaded_recipe.recipe.conversions.items():
        subject = f"components.{name}.hipify"
        findings += [*_rules(loaded_recipe, subject, conversion), *_patches(loaded_recipe, subject, conversion)]
        findings += _globs(loaded_recipe, name, conversion)
    return tuple(findings)


def _rules(loaded_recipe: LoadedRecipe, subject: str, conversion: Hipify) -> Iterator[Finding]:
    try:
        rules_of(conversion.rules, loaded_recipe.folder)
    except RecipeError as error:
        yield from (
            mistake_finding(recipe_rules.HIPIFY_RULES, f"{subject}.rules", mistake) for mistake in error.mistakes
        )
    except UsageError as error:
        where, at = (f"{error.where}: " if error.where else ""), f"{subject}.rules"
        item = next(
            (i for i, name in enumerate(conversion.rules) if f"{name!r}" in error.what or name == error.where), None
        )
        subject = at if item is None else f"{at}.{item}"
        near = near_path(error.where, loaded_recipe.folder) if error.where else ""
        fix = f"write `{near}`, which is there" if near else error.next
        yield recipe_rules.HIPIFY_RULES.finding(subject, where + error.what, fix=fix)


def _globs(loaded_recipe: LoadedRecipe, name: str, conversion: Hipify) -> Iterator[Finding]:
    """Globs that match no file of a source that is a folder beside the recipe; what is fetched is not there to look at."""
    source = loaded_recipe.recipe.sources.get(getattr(loaded_recipe.recipe.components[name], "source", None) or "")
    folder = loaded_recipe.folder / source.path if source and source.path else None
    if not folder or not folder.is_dir():
        return
    files = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    for i, pattern in enumerate(conversion.include):
        if not any(glob(pattern).fullmatch(file) for file in files):
            endings = sorted({Path(file).suffix for file in files if Path(file).suffix})[:8]
            deeper = f"**/{pattern.removeprefix('./').rpartition('/')[2]}"
            fix = f"`**/` stands for any folders; its files end with {', '.join(endings) or 'nothing'}"
            if deeper != pattern and any(glob(deeper).fullmatch(file) for file in files):
                fix = f'write `"{deeper}"`: `**/` stands for any folders'
            yield recipe_rules.HIPIFY_INCLUDE.finding(
                f"components.{name}.hipify.include.{i}", f"{pattern!r} matches no file of {folder.name}", fix=fix
            )


def _patches(loaded_recipe: LoadedRecipe, subject: str, conversion: Hipify) -> Iterator[Finding]:
    if conversion.patches is None:
        return
    folder = loaded_recipe.patch_folder(conversion.patches)
    try:
        patches = series(folder)
    except RecipeError as error:
        yield from (mistake_finding(recipe_rules.PATCH, f"{subject}.patches", mistake) for mistake in error.mistakes)
        return
    if not patches.patches:
        what = "there is no such folder" if not folder.is_dir() else "there is no patch in it"
        near = near_path(f"patches/{conversion.patches}", loaded_recipe.folder).removeprefix("patches/")
        evidence, fix = f"patches/{conversion.patches}: {what}", "make the folder, or remove `patches:`"
        fix = f"did you mean `{near}`?" if near else fix
        yield recipe_rules.PATCH.finding(f"{subject}.patches", evidence, fix=fix)
