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
from urllib.parse import unquote, urljoin

from stackbuild.actions.job import Job
from stackbuild.core import digest
from stackbuild.core.cancel import Stopper
from stackbuild.core.errors import LockError, MachineLacks, StepFailed
from stackbuild.model.lock import File
from stackbuild.model.recipe import Source
from stackbuild.sources.archive import unpack
from stackbuild.sources.http import DownloadRequest, TransferLimits, fetch
from stackbuild.sources.local import settle
from stackbuild.sources.mirror import Mirror, refuse_packages
from stackbuild.sources.stored_outputs import unpack_object

_OFFLINE = re.compile(
    r"Temporary failure|Could not resolve|Could not connect|Failed to establish|Network is unreachable"
)

MOST_OF_PAGE = TransferLimits(most=64 << 20)
"""A project's page on the index: its links take some 300 bytes each."""

_DEFAULT = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"


def do(job: Job) -> dict[str, str]:
    """Fetch under the lock's digest and unpack into `job.out`."""
    if (notes := unpack_object(job.mirror, job.step.key, job.out)) is not None:
        return notes
    params = job.params
    again = "run `stackbuild lock`; Debian's archive keeps one version of a package"
    refuse_packages(job.mirror, f"{params.get('debian') or params.get('pypi')}, objects/{job.step.key}.tar")
    if "debian" in params:
        file = _deb(params["debian"], params["suite"], job.scratch, params["version"])
    else:
        file = _sdist(params["pypi"], job.scratch, job.stopper)
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


def ask(source: Source, mirror: Mirror | None) -> File:
    """The version and digest a name has now: `stackbuild lock`. Raises MachineLacks, StepFailed."""
    refuse_packages(mirror, f"the package archive that has {source.debian or source.pypi}")
    with tempfile.TemporaryDirectory(prefix="stackbuild-package-") as folder:
        if source.debian is not None:
            file = _deb(source.debian, source.suite or "", Path(folder))
            version = _call(["dpkg-deb", "--field", str(file), "Version"], "dpkg", Path(folder)).strip()
        else:
            file = _sdist(source.pypi or "", Path(folder), Stopper())
            version = (source.pypi or "").partition("==")[2]
        return File(version=version, sha256=digest.of_file(file))


def _deb(name: str, suite: str, folder: Path, version: str = "") -> Path:
    """Download a package through mmdebstrap's apt, which knows that suite alone and this machine's keys for Debian."""
    requirement = shlex.quote(f"{name}={version}" if version else name)
    hook = (
        f'sed -i "s/ sid / {suite} /" "$1/etc/apt/sources.list" && mkdir "$1/debs" && cd "$1/debs" && '
        f'export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG" && apt-get update -q && apt-get download -q {requirement}'
    )
    hooks = [f"--customize-hook={hook}", f"--customize-hook=sync-out /debs {shlex.quote(str(folder))}"]
    # Without root the hook runs as a mapped user, who may not enter a folder of ours: mmdebstrap itself copies out.
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
    _call([*words, *hooks, "sid", "/dev/null"], "mmdebstrap", folder)
    return next(folder.glob("*.deb"))


def _sdist(requirement: str, folder: Path, stopper: Stopper) -> Path:
    """Fetch a source distribution by its page on the index. pip would run its build backend to do that; nothing is run here."""
    name, _, version = requirement.partition("==")
    page = folder / "page.html"
    index = _index()
    project = re.sub(r"[-_.]+", "-", name).lower()
    fetch(DownloadRequest(f"{index}/{project}/"), page, None, stopper, MOST_OF_PAGE)
    links = re.findall(r'href="([^"#\[\]]+)#sha256=([0-9a-f]{64})"', page.read_text("utf-8", "replace"))
    file_names = {
        f"{n}-{version}.{end}" for n in (name, project, project.replace("-", "_")) for end in ("tar.gz", "zip")
    }
    for link, sha256 in links:
        file = unquote(link.rpartition("/")[2])
        if file in file_names:
            fetch(
                DownloadRequest(urljoin(f"{index}/{project}/", link), f"sha256:{sha256}"), folder / file, None, stopper
            )
            return folder / file
    raise StepFailed(f"the index has no source distribution of {requirement}", next="check the name and the version")


def _index() -> str:
    """The simple index that pip would ask, without its last slash: of its environment, its settings, or its own."""
    words = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    problem = (
        os.environ.get("PIP_INDEX_URL")
        or subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
    )
    return (problem or _call([sys.executable, "-c", _DEFAULT], "python3-pip", Path("/"))).strip().rstrip("/")


def _call(words: list[str], package: str, folder: Path) -> str:
    if not shutil.which(words[0]):
        raise MachineLacks(f"`{words[0]}` is not installed", next=f"apt-get install {package}")
    env = {**os.environ, "LC_ALL": "C"}
    process = subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder, env=env)
    if process.returncode == 0:
        return process.stdout
    message = (process.stderr or process.stdout).strip()
    if _OFFLINE.search(message):
        raise MachineLacks(
            f"the archive cannot be reached: {message[-300:]}", next="check the network", topic="network"
        )
    raise StepFailed(
        f"`{' '.join(words[:2])}` failed: {message[-400:]}", next="check the name, the version and the suite"
    )
