"""`image`: a root file system from a container image, extended by `Dockerfile.base`."""

from __future__ import annotations

import shutil
import subprocess

from stackbuild.actions.job import Job
from stackbuild.errors import LockError, MachineLacks
from stackbuild.mirror import unpacked


def do(job: Job) -> dict[str, str]:
    """Make the root file system in `job.out`."""
    if (notes := unpacked(job.step.key, job.out)) is not None:
        return notes
    if job.params["digest"] == "unlocked":
        raise LockError(
            f"the lock has no digest of the image {job.params['image']}",
            where=job.step.name,
            next="run `stackbuild lock` where the registry can be reached",
        )
    raise MachineLacks("bases from images are not built yet", where=job.step.name, next="use a `debian:` base")


def ask(name: str) -> str:
    """The digest of an image now, `sha256:…`; said in the name, or by its registry. Raises MachineLacks, StepFailed."""
    image, _, said = name.partition("@")
    if said:
        return said
    if not shutil.which("skopeo"):
        raise MachineLacks("`skopeo` is not installed", where="base.image", next="apt-get install skopeo")
    words = ["skopeo", "inspect", "--no-tags", "--format", "{{.Digest}}", f"docker://{image}"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise MachineLacks(
            f"the image {image} cannot be asked for: {done.stderr.strip()[-300:]}",
            where="base.image",
            next="check its name and the network, or write NAME@sha256:… into the recipe",
        )
    return done.stdout.strip()
