"""The verb `ci render`: a pipeline for a CI provider, from the recipes' own matrix through `templates/ci/`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from stackbuild.errors import UsageError
from stackbuild.recipe import Recipe
from stackbuild.render import render
from stackbuild.version import __version__

TEMPLATES = {"github": "ci/github.yml.j2", "gitlab": "ci/gitlab.yml.j2", "jenkins": "ci/jenkins.groovy.j2"}
PLACES = {"github": ".github/workflows/rocm-wheels.yml", "gitlab": ".gitlab-ci.yml", "jenkins": "Jenkinsfile"}
ACTIONS = {
    "checkout": "actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683 # v4.2.2",
    "cache": "actions/cache@5a3ec84eff668545956fd18022155c47e93e2684 # v4.2.3",
    "upload": "actions/upload-artifact@ea165f8d65b6e75b540449e92b4886f43607fa02 # v4.6.2",
    "download": "actions/download-artifact@d3f86a106a0bac45b974a628896c90dbdf5c8093 # v4.3.0",
}


@dataclass(frozen=True)
class GpuJob:
    """One proof on one kind of GPU."""

    id: str
    recipe: str
    gfx: str
    bench: bool


def pipeline(provider: str, recipes: tuple[Recipe, ...], gfx: tuple[str, ...]) -> str:
    """The pipeline's text. `gfx` names the GPUs that there are runners for. Raises UsageError."""
    if provider not in TEMPLATES:
        raise UsageError(f"no provider {provider!r}", where="--provider", next=f"one of: {', '.join(TEMPLATES)}")
    offered = {target for recipe in recipes for target in recipe.gfx}
    for target in gfx:
        if target not in offered:
            raise UsageError(
                f"no recipe builds for {target}", where="--gpu", next=f"they build for {', '.join(sorted(offered))}"
            )
    jobs = tuple(
        GpuJob(re.sub(r"[^a-z0-9]+", "-", f"{r.name}-{target}"), r.name, target.partition(":")[0], r.bench is not None)
        for r in recipes
        for target in gfx
        if target in r.gfx
    )
    return render(TEMPLATES[provider], recipes=recipes, gpu_jobs=jobs, actions=ACTIONS, version=__version__)
