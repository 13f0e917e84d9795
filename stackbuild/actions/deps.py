"""`deps`: archives that a source's own build would download, laid out as `HOST/PATH` of each URL."""

from __future__ import annotations

from stackbuild.actions.job import Job
from stackbuild.sources.http import DownloadRequest, fetch, in_mirror, place_in, place_inside


def do(job: Job) -> dict[str, str]:
    """Fetch all into `job.out`. Raises MachineLacks with all that a mirror lacks."""
    mirror = job.mirror
    if mirror and (places := tuple(place_inside(url, mirror) for url in job.params if in_mirror(url, mirror) is None)):
        raise mirror.lacks_all(places)
    for url, digest in job.params.items():
        fetch(DownloadRequest(url, digest), place_in(job.out, url), job.mirror, job.stopper)
    return {}
