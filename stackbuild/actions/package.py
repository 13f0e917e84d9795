"""`package`: a source by name: a binary package of Debian's archive, or a source distribution of the package index."""

from __future__ import annotations

from stackbuild.actions.job import Job
from stackbuild.core import digest
from stackbuild.core.errors import LockError
from stackbuild.sources import debian_archive, python_index
from stackbuild.sources.archive import unpack
from stackbuild.sources.local import settle
from stackbuild.sources.mirror import refuse_packages
from stackbuild.sources.stored_outputs import unpack_object


def do(job: Job) -> dict[str, str]:
    """Fetch under the lock's digest and unpack into `job.out`."""
    if (notes := unpack_object(job.mirror, job.step.key, job.out)) is not None:
        return notes
    params = job.params
    again = "run `stackbuild lock`; Debian's archive keeps one version of a package"
    refuse_packages(job.mirror, f"{params.get('debian') or params.get('pypi')}, objects/{job.step.key}.tar")
    if "debian" in params:
        file = debian_archive.download_package(params["debian"], params["suite"], job.scratch, params["version"])
    else:
        file = python_index.download_sdist(params["pypi"], job.scratch, job.stopper)
    sha256 = digest.of_file(file)
    if sha256 != params["sha256"]:
        raise LockError(
            f"{file.name} has sha256 {sha256}, the lock has {params['sha256']}", where=str(file), next=again
        )
    if "debian" in params:
        job.call(["dpkg-deb", "--extract", str(file), str(job.out)], "dpkg")
    else:
        unpack(file, job.out)
    settle(job.out)
    return {"file": file.name}
