"""Host-side steps: what stackbuild does itself rather than in a session. One module an action, each with one function `do`.

`do(job)` fills `job.out` and returns notes for the record. The registry is a dict.
"""

from __future__ import annotations

from collections.abc import Callable

from stackbuild.actions import archive, debian, deps, git, image, package, snapshot, wheel, wheelhouse
from stackbuild.actions.job import Job

REGISTRY: dict[str, Callable[[Job], dict[str, str]]] = {
    "archive": archive.do,
    "debian": debian.do,
    "deps": deps.do,
    "git": git.do,
    "image": image.do,
    "package": package.do,
    "snapshot": snapshot.do,
    "wheel": wheel.do,
    "wheelhouse": wheelhouse.do,
}
"""Action to function."""

__all__ = ["REGISTRY", "Job"]
