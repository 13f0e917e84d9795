"""`wheelhouse`: the wheels of the environment that a result is proved in, fetched by pip under the lock's digests."""

from __future__ import annotations

import sys

from stackbuild.actions.job import Job
from stackbuild.core.errors import MachineLacks, StepFailed
from stackbuild.sources import python_index


def do(job: Job) -> dict[str, str]:
    """Download the locked wheels into `job.out`; pip refuses any file with another digest."""
    rows = [(name.removeprefix("wheel "), v) for name, v in job.params.items() if name.startswith("wheel ")]
    lines = []
    for name, value in rows:
        version, *digests = value.split()
        lines.append(f"{name}=={version} {' '.join(f'--hash=sha256:{d}' for d in digests)}\n")
    requirements = job.scratch / "requirements.txt"
    requirements.write_text("".join(lines))
    python = ["--python-version", job.params["python"]]
    words = [sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes", "--only-binary=:all:", *python]
    words += python_index.pip_words(job.mirror)
    try:
        job.call([*words, "--progress-bar=off", "--dest", str(job.out), "-r", str(requirements)], "python3-pip")
    except StepFailed as failure:
        if python_index.OFFLINE.search(job.log.read_text(errors="replace")):
            raise MachineLacks(
                "the package index cannot be reached", where=job.step.name, next=f"check the network (log: {job.log})"
            ) from None
        raise failure
    return {}
