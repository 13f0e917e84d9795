"""`recipe check --sources`: the patches of a recipe checked against its sources at the locked commits.

Each source with patches is fetched; what upstream has taken is named, and what no longer applies is an error before a build.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from stackbuild.core.cancel import Stopper
from stackbuild.core.errors import MachineLacks, Mistake, RecipeError
from stackbuild.model.findings import Finding, RuleDescription, Severity, SourceLocation
from stackbuild.model.loaded_recipe import LoadedRecipe
from stackbuild.model.lock import Lock
from stackbuild.model.recipe import Source
from stackbuild.recipe import recipe_rules
from stackbuild.sources import git
from stackbuild.sources.archive import unpack
from stackbuild.sources.http import DownloadRequest, fetch
from stackbuild.sources.mirror import Mirror
from stackbuild.sources.patches import Patch, PatchSeries, apply, is_taken, series, try_one


def patch_findings(
    loaded_recipe: LoadedRecipe, lock: Lock | None, ask: bool, mirror: Mirror | None
) -> tuple[Finding, ...]:
    """What there is to say of the recipe's patches; they are checked against the sources, from the mirror or their servers, where `ask` is true.

    Raises StepFailed and LockError where a source is not the locked one.
    """
    findings: list[Finding] = []
    for name, source in loaded_recipe.recipe.sources.items():
        try:
            patch_series = series(loaded_recipe.patch_folder(source.patches)) if source.patches else None
        except RecipeError as error:
            findings += [mistake_finding(recipe_rules.PATCH, f"sources.{name}", mistake) for mistake in error.mistakes]
            continue
        if patch_series is None or not patch_series.patches:
            continue
        if not ask or lock is None:
            note = f"{len(patch_series.patches)} patches were not checked against the source"
            findings.append(_trial_note(name, note, "`recipe check --sources` asks"))
            continue
        findings += _check_against(name, source, patch_series, lock, mirror)
    return tuple(findings)


def _check_against(
    name: str, source: Source, patch_series: PatchSeries, lock: Lock, mirror: Mirror | None
) -> Iterator[Finding]:
    with tempfile.TemporaryDirectory(prefix="stackbuild-patches-") as folder:
        tree = Path(folder) / "tree"
        tree.mkdir()
        try:
            _fetch(source, lock.commits.get(name, ""), tree, mirror)
        except MachineLacks as lacks:
            yield _trial_note(name, f"the source cannot be fetched: {lacks.what}", lacks.next)
            return
        for patch in patch_series.patches:
            if is_taken(tree, patch):
                yield _taken_upstream(name, patch)
            elif misfits := try_one(tree, patch):
                yield recipe_rules.PATCH_MISFIT.finding(f"sources.{name}", str(misfits[0]))
            else:
                apply(tree, PatchSeries(patch_series.folder, (patch,)))


def _taken_upstream(name: str, patch: Patch) -> Finding:
    evidence = f"{patch.name}: upstream has taken it"
    why = f"its header says it can go when: {patch.of('Remove-When')}"
    link = patch.of("Upstream")
    return recipe_rules.PATCH_TAKEN.finding(f"sources.{name}", evidence, why=why, link=link if link != "none" else "")


def _trial_note(name: str, evidence: str, fix: str) -> Finding:
    why = "upstream may have taken them"
    return recipe_rules.PATCH.finding(f"sources.{name}", evidence, why=why, fix=fix, severity=Severity.NOTE)


def _fetch(source: Source, commit: str, tree: Path, mirror: Mirror | None) -> None:
    if source.git is not None:
        git.checkout(git.Revision(source.git, source.ref or "", commit, mirror, source.exclude), tree, submodules=False)
        return
    archive = tree.parent / "archive"
    fetch(DownloadRequest(source.archive or "", f"sha256:{source.sha256}"), archive, mirror, Stopper())
    unpack(archive, tree)


def mistake_finding(rule: RuleDescription, subject: str, mistake: Mistake) -> Finding:
    """A mistake in a file that the recipe names as a finding, at its place `file:line:column`."""
    parts = mistake.place.rsplit(":", 2)
    place = (
        SourceLocation(parts[0], int(parts[1]), int(parts[2]))
        if len(parts) == 3 and parts[1].isdigit() and parts[2].isdigit()
        else None
    )
    return rule.finding(subject, f"{mistake.place}: {mistake.what}", fix=mistake.next, place=place)
