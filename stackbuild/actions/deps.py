"""`deps`: archives that a source's own build would download, laid out as `HOST/PATH` of each URL."""

from __future__ import annotations

from stackbuild.actions.job import Job
from stackbuild.sources.http import DownloadRequest, fetch, place_in


def do(job: Job) -> dict[str, str]:
    """Fetch all into `job.out`."""
    for url, digest in job.params.items():
        fetch(DownloadRequest(url, digest), place_in(job.out, url), job.mirror, job.stopper)
    return {}
