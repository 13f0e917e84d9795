"""The Python package index, as pip is set up to ask it: wheels that it resolves to, and source distributions."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import unquote, urljoin

from stackbuild.core import digest
from stackbuild.core.cancel import Stopper
from stackbuild.core.errors import MachineLacks, StepFailed
from stackbuild.core.project_names import normal_name
from stackbuild.model.lock import File, Pin
from stackbuild.sources.http import DownloadRequest, TransferLimits, fetch
from stackbuild.sources.mirror import Mirror, refuse_packages
from stackbuild.sources.tool_output import run_tool, tool_output

OFFLINE = re.compile(
    r"Temporary failure in name resolution|NewConnectionError|Failed to establish|Network is unreachable|No route to host"
)

MOST_OF_PAGE = TransferLimits(most=64 << 20)
"""A project's page on the index: its links take some 300 bytes each."""

_DEFAULT = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"


def pip_words(mirror: Mirror | None) -> list[str]:
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
        *pip_words(mirror),
    ]
    with tempfile.TemporaryDirectory() as nowhere:
        words += ["--target", nowhere, "--python-version", python, "--report", "-", *requirements]
        process = run_tool(words)
    if process.returncode != 0 and mirror is not None and mirror.has_packages:
        raise mirror.lacks(
            f"wheels of {', '.join(requirements)} for Python {python}", f"put them into {mirror.folder / 'wheels'}"
        )
    if process.returncode != 0 and OFFLINE.search(process.stderr):
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


def ask_sdist(requirement: str, mirror: Mirror | None) -> File:
    """The digest of a source distribution, `NAME==VERSION`, now. Raises MachineLacks, StepFailed."""
    refuse_packages(mirror, f"the package archive that has {requirement}")
    with tempfile.TemporaryDirectory(prefix="stackbuild-package-") as folder:
        file = download_sdist(requirement, Path(folder), Stopper())
        return File(version=requirement.partition("==")[2], sha256=digest.of_file(file))


def download_sdist(requirement: str, folder: Path, stopper: Stopper) -> Path:
    """Fetch a source distribution by its page on the index. pip would run its build backend to do that; nothing is run here."""
    name, _, version = requirement.partition("==")
    page = folder / "page.html"
    index = _index()
    project = normal_name(name)
    fetch(DownloadRequest(f"{index}/{project}/"), page, None, stopper, MOST_OF_PAGE)
    links = re.findall(r'href="([^"#\[\]]+)#sha256=([0-9a-f]{64})"', page.read_text("utf-8", "replace"))
    file_names = {
        f"{n}-{version}.{end}" for n in (name, project, project.replace("-", "_")) for end in ("tar.gz", "zip")
    }
    for link, sha256 in links:
        file = unquote(link.rpartition("/")[2])
        if file in file_names:
            try:
                url = urljoin(f"{index}/{project}/", link)
            except ValueError as error:  # such as a host of characters that only look like a slash
                raise StepFailed(
                    f"the page of {project} has a link that is not a URL: {error}",
                    where=index,
                    next="ask another index",
                ) from None
            fetch(DownloadRequest(url, f"sha256:{sha256}"), folder / file, None, stopper)
            return folder / file
    raise StepFailed(f"the index has no source distribution of {requirement}", next="check the name and the version")


def index_variables() -> dict[str, str]:
    """The variable of the environment that says to pip which index to ask, where it is set."""
    return {name: value for name, value in os.environ.items() if name == "PIP_INDEX_URL"}


def _index() -> str:
    """The simple index that pip would ask, without its last slash: of its environment, its settings, or its own."""
    words = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    index_url = (
        index_variables().get("PIP_INDEX_URL")
        or subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
    )
    return (index_url or tool_output([sys.executable, "-c", _DEFAULT], "python3-pip", Path("/"))).strip().rstrip("/")
