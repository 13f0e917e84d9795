"""`wheelhouse`: the wheels of the environment that a result is proved in, fetched by pip under the lock's digests."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile

from stackbuild.actions.job import Job
from stackbuild.core.errors import MachineLacks, StepFailed
from stackbuild.model.lock import Pin
from stackbuild.sources.mirror import Mirror, refuse_packages

_OFFLINE = re.compile(
    r"Temporary failure in name resolution|NewConnectionError|Failed to establish|Network is unreachable|No route to host"
)


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
    words += _where(job.mirror)
    try:
        job.call([*words, "--progress-bar=off", "--dest", str(job.out), "-r", str(requirements)], "python3-pip")
    except StepFailed as failure:
        if _OFFLINE.search(job.log.read_text(errors="replace")):
            raise MachineLacks(
                "the package index cannot be reached", where=job.step.name, next=f"check the network (log: {job.log})"
            ) from None
        raise failure
    return {}


def _where(mirror: Mirror | None) -> list[str]:
    """pip's words for where to look: a mirror's `wheels/` alone, else what pip is set up to. Raises MachineLacks."""
    if mirror is None or not mirror.has_packages:
        return []
    if not (mirror.folder / "wheels").is_dir():
        refuse_packages(mirror, "wheels/")
    return ["--no-index", "--find-links", str(mirror.folder / "wheels")]


def ask(requirements: tuple[str, ...], python: str, mirror: Mirror | None) -> dict[str, Pin]:
    """What pip would install for that Python version now. Raises StepFailed, MachineLacks."""
    words = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--dry-run",
        "--quiet",
        "--ignore-installed",
        "--only-binary=:all:",
        *_where(mirror),
    ]
    with tempfile.TemporaryDirectory() as nowhere:
        words += ["--target", nowhere, "--python-version", python, "--report", "-", *requirements]
        process = subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if process.returncode != 0 and mirror is not None and mirror.has_packages:
        raise mirror.lacks(f"wheels of {', '.join(requirements)} for Python {python}")
    if process.returncode != 0 and _OFFLINE.search(process.stderr):
        raise MachineLacks(
            "the package index cannot be reached", where="verify.runtime", next="check the network", topic="network"
        )
    if process.returncode != 0:
        raise StepFailed(
            f"pip cannot resolve {', '.join(requirements)} for Python {python}:\n{process.stderr[-1500:]}",
            where="verify.runtime",
        )
    pins = {}
    for item in json.loads(process.stdout)["install"]:
        sha256 = item["download_info"]["archive_info"]["hashes"]["sha256"]
        pins[item["metadata"]["name"].lower().replace("_", "-")] = Pin(
            version=item["metadata"]["version"], sha256=(sha256,)
        )
    return pins
