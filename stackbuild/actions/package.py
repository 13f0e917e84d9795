"""`package`: a source by name: a binary package of Debian's archive, or a source distribution of the package index."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from stackbuild import digest
from stackbuild.actions.job import Job
from stackbuild.actions.snapshot import settle
from stackbuild.errors import LockError, MachineLacks, StepFailed
from stackbuild.lock import File
from stackbuild.mirror import unpacked
from stackbuild.recipe import Source
from stackbuild.unpack import unpack

_OFFLINE = re.compile(
    r"Temporary failure|Could not resolve|Could not connect|Failed to establish|Network is unreachable"
)


def do(job: Job) -> dict[str, str]:
    """Fetch under the lock's digest and unpack into `job.out`."""
    if (notes := unpacked(job.step.key, job.out)) is not None:
        return notes
    params = job.params
    again = "run `stackbuild lock`; Debian's archive keeps one version of a package"
    if params["sha256"] == "unlocked":
        raise LockError("the lock has no version and digest of it", where=job.step.name, next=again)
    if "debian" in params:
        file = _deb(params["debian"], params["suite"], job.scratch, params["version"])
    else:
        file = _sdist(params["pypi"], job.scratch)
    found = digest.of_file(file)
    if found != params["sha256"]:
        raise LockError(f"{file.name} has sha256 {found}, the lock has {params['sha256']}", where=str(file), next=again)
    if "debian" in params:
        job.call(["dpkg-deb", "--extract", str(file), str(job.out)], "dpkg")
    else:
        unpack(file, job.out)
    settle(job.out)
    return {"file": file.name}


def ask(source: Source) -> File:
    """The version and digest a name has now: `stackbuild lock`. Raises MachineLacks, StepFailed."""
    with tempfile.TemporaryDirectory(prefix="stackbuild-package-") as folder:
        if source.debian is not None:
            file = _deb(source.debian, source.suite or "", Path(folder))
            version = _call(["dpkg-deb", "--field", str(file), "Version"], "dpkg", Path(folder)).strip()
        else:
            file = _sdist(source.pypi or "", Path(folder))
            version = (source.pypi or "").partition("==")[2]
        return File(version=version, sha256=digest.of_file(file))


def _deb(name: str, suite: str, folder: Path, version: str = "") -> Path:
    """Download a package through mmdebstrap's apt, which knows that suite alone and this machine's keys for Debian."""
    wanted = shlex.quote(f"{name}={version}" if version else name)
    hook = (
        f'sed -i "s/ sid / {suite} /" "$1/etc/apt/sources.list" && cd {shlex.quote(str(folder))} && '
        f'export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG" && apt-get update -q && apt-get download -q {wanted}'
    )
    mode = "root" if os.geteuid() == 0 else "unshare"
    words = [
        "mmdebstrap",
        "--quiet",
        "--variant=custom",
        f"--mode={mode}",
        "--format=null",
        "--components=main contrib",
    ]
    words += ['--aptopt=Acquire::Check-Valid-Until "false"', '--aptopt=Acquire::Retries "3"']
    _call([*words, f"--customize-hook={hook}", "sid", "/dev/null"], "mmdebstrap", folder)
    return next(folder.glob("*.deb"))


def _sdist(requirement: str, folder: Path) -> Path:
    """Download a source distribution; nothing of it is run."""
    words = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary=:all:", "--no-build-isolation"]
    _call([*words, "--progress-bar=off", "--dest", str(folder), requirement], "python3-pip", folder)
    return next(p for p in folder.iterdir() if p.name.endswith((".tar.gz", ".zip")))


def _call(words: list[str], package: str, folder: Path) -> str:
    if not shutil.which(words[0]):
        raise MachineLacks(f"`{words[0]}` is not installed", next=f"apt-get install {package}")
    env = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder, env=env)
    if done.returncode == 0:
        return done.stdout
    said = (done.stderr or done.stdout).strip()
    if _OFFLINE.search(said):
        raise MachineLacks(f"the archive cannot be reached: {said[-300:]}", next="check the network")
    raise StepFailed(f"`{' '.join(words[:2])}` failed: {said[-400:]}", next="check the name, the version and the suite")
