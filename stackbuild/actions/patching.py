"""Applies a source's patches to it, under the digest that the plan saw."""

from __future__ import annotations

import json

from stackbuild.actions.job import Job
from stackbuild.core.errors import StepFailed
from stackbuild.model.lock import patches_of
from stackbuild.sources.local import LocalSource, content, survey
from stackbuild.sources.patches import PatchSeries, apply, series


def apply_patches(job: Job) -> dict[str, str]:
    """Patch `job.out`, where the source has patches; each is checked before it is applied. Raises PlanError, StepFailed.

    Notes: those of `noted`.
    """
    patches = patch_series(job)
    if patches is None:
        return {}
    for name in apply(job.out, patches):
        with job.log.open("a") as log:
            log.write(f"applied {name}\n")
    return patch_notes(job)


def patch_notes(job: Job) -> dict[str, str]:
    """Notes: `patches`, the files there were, so that `explain` can tell which of them has changed; none without patches."""
    return {"patches": json.dumps(survey(_folder(job)))} if "patches" in job.params else {}


def patch_series(job: Job) -> PatchSeries | None:
    """The patches of the job's step as the plan saw them, None where it has none. Raises StepFailed, RecipeError."""
    if "patches" not in job.params:
        return None
    local = _folder(job)
    if content(local) != job.params["patches"]:
        raise StepFailed("the patches changed since the plan was made", where=str(local.folder), next="run it again")
    return series(local.folder)


def _folder(job: Job) -> LocalSource:
    return job.locals[patches_of(job.step.name.removeprefix("source."))]
