"""`archive`: a tar or zip archive, fetched under its digest and unpacked."""

from __future__ import annotations

from stackbuild.actions.job import Job
from stackbuild.actions.patching import apply_patches
from stackbuild.sources.archive import unpack
from stackbuild.sources.http import DownloadRequest, fetch, named_digest
from stackbuild.sources.local import settle


def do(job: Job) -> dict[str, str]:
    """Fetch and unpack into `job.out`. Notes: `sha256` of the archive, and those of `patched`."""
    url, sha256 = job.params["url"], job.params["sha256"]
    archive = job.scratch / "archive"  # what a URL ends in may be no name, or too long
    download = fetch(DownloadRequest(url, named_digest(sha256)), archive, job.mirror, job.stopper)
    unpack(archive, job.out, url)
    notes = apply_patches(job)
    settle(job.out)
    return {"sha256": download, **notes}
