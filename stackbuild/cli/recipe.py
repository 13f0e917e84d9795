"""`recipe list|show|check|schema|new`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from stackbuild.cli.app import AllowPath, JsonOption, RecipeName, argument, group, leave, option
from stackbuild.cli.completion import recipes
from stackbuild.core.shell_words import shell_word

recipe = group("recipe", "List, show, check and write recipes. Example: stackbuild recipe list")


@recipe.command("list")
def list_(json: JsonOption = False) -> None:
    """List the bundled recipes and what of each ran here. Example: stackbuild recipe list"""
    from stackbuild.recipe.load import bundled_recipes, load
    from stackbuild.tables.proofs import proofs
    from stackbuild.views.console import print_json
    from stackbuild.views.recipe import draw_list

    recipes, ran = tuple(load(name).recipe for name in bundled_recipes()), proofs()
    print_json({"recipes": recipes, "ran": ran}, "stackbuild.recipes/1") if json else draw_list(recipes, ran)


@recipe.command()
def show(
    name: Annotated[str, argument(help="A bundled recipe's name or a path.", autocompletion=recipes)] = "",
    recipe_name: Annotated[
        str, option("--recipe", "-r", metavar="R", help="The same, as other commands take it.", autocompletion=recipes)
    ] = "",
    json: JsonOption = False,
) -> None:
    """Print a recipe as it was written, or as data. Example: stackbuild recipe show rocm-6.4"""
    from stackbuild.core.errors import UsageError
    from stackbuild.recipe.load import load
    from stackbuild.views.console import print_json
    from stackbuild.views.recipe import draw_text

    if bool(name) == bool(recipe_name):
        raise UsageError(
            "one recipe is shown", next="`stackbuild recipe show NAME`; `stackbuild recipe list` names the bundled ones"
        )
    name = name or recipe_name
    loaded_recipe = load(name)
    print_json({"recipe": loaded_recipe.recipe}, "stackbuild.recipe/1") if json else draw_text(loaded_recipe.text)


@recipe.command()
def check(
    name: RecipeName,
    sources: Annotated[
        bool, option("--sources", help="Fetch sources that are patched; say which patches upstream has taken.")
    ] = False,
    allow_path: AllowPath = None,
    json: JsonOption = False,
) -> None:
    """Say what of a recipe cannot work or nobody confirmed.

    And what its lock leaves open. Exit 2 where the recipe cannot be read, 3 where a finding is an error. Warnings, such
    as a missing lock, exit 0.

    Example: stackbuild recipe check --recipe rocm-7.2
    """
    from stackbuild.checks.hipify import hipify_findings
    from stackbuild.checks.patches import patch_findings
    from stackbuild.checks.recipe import CheckInput, check_recipe
    from stackbuild.core.errors import LockError
    from stackbuild.model.findings import Severity
    from stackbuild.recipe.load import load
    from stackbuild.recipe.lock_file import read_lock
    from stackbuild.recipe.references import refuse_mistakes, with_places
    from stackbuild.sources.local import refuse_outside
    from stackbuild.sources.mirror import mirror_of
    from stackbuild.tables.compatibility import table
    from stackbuild.views.console import print_json
    from stackbuild.views.recipe import draw_findings

    loaded_recipe = load(name, allow_path or ())
    refuse_mistakes(loaded_recipe)
    refuse_outside(loaded_recipe)
    try:
        lock = read_lock(loaded_recipe)
    except LockError:
        lock = None
    path = loaded_recipe.lock_path.name.replace(".lock", "")
    findings = check_recipe(
        CheckInput(loaded_recipe.recipe, lock, loaded_recipe.text, path, table(), loaded_recipe.given_name)
    )
    findings = (
        *patch_findings(loaded_recipe, lock, sources, mirror_of(None, os.environ) if sources else None),
        *hipify_findings(loaded_recipe),
        *findings,
    )
    findings = tuple(sorted(with_places(findings, loaded_recipe), key=lambda f: list(Severity).index(f.severity)))
    if json:
        print_json({"recipe": loaded_recipe.recipe.name, "findings": findings}, "stackbuild.check/1")
    else:
        draw_findings(loaded_recipe.recipe.name, findings)
    if any(f.severity is Severity.ERROR for f in findings):
        leave(3)


@recipe.command("outdated")
def outdated_sources(
    name: RecipeName,
    mirror: Annotated[
        Path | None, option("--mirror", metavar="DIR", help="Read the tags of the repositories in this folder.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Name newer upstream tags than those that a recipe builds.

    Release tags that are written as the recipe's are compared; a commit counts as the release that it was tagged with. One that
    was not has no place among them, and the highest tag is shown. Exit 10 where one is newer, 7 where a server could not be
    asked and none is.

    Example: stackbuild recipe outdated --recipe rocm-7.2
    """
    from stackbuild.checks.source_tags import newer_tags
    from stackbuild.recipe.load import load
    from stackbuild.sources.mirror import mirror_of
    from stackbuild.views.console import print_json
    from stackbuild.views.recipe import draw_outdated

    rows = newer_tags(load(name).recipe, mirror_of(mirror, os.environ))
    print_json({"recipe": name, "sources": rows}, "stackbuild.outdated/1") if json else draw_outdated(rows)
    if any(row.is_outdated for row in rows):
        leave(10)
    if any(row.unreachable for row in rows):
        leave(7)


@recipe.command()
def schema() -> None:
    """Print the JSON schema of recipes, for editors. Example: stackbuild recipe schema > recipe.schema.json"""
    from stackbuild.model.recipe import recipe_schema
    from stackbuild.views.recipe import draw_schema

    draw_schema(recipe_schema())


@recipe.command()
def new(
    rocm: Annotated[str, option("--rocm", help="The ROCm version: 7.1 or 7.1.1.")],
    out: Annotated[Path | None, option("--out", "-o", help="The new file; stdout where left out.")] = None,
) -> None:
    """Write a recipe for a ROCm version from the compatibility table. Example: stackbuild recipe new --rocm 7.1 -o my.yaml"""
    from stackbuild.checks.new_recipe import new_recipe
    from stackbuild.core.errors import UsageError
    from stackbuild.views.console import err
    from stackbuild.views.recipe import draw_text

    text = new_recipe(rocm)
    if out is None:
        draw_text(text)
        return
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"cannot write it: {error.strerror}", where=str(out), next="name a new file") from None
    err().print(f"wrote {out}; then `stackbuild lock --recipe {shell_word(out)}`", markup=False)
