"""Which file of an index does pip install for a Python? Asked of pip itself, which installs nothing.

A Python that no wheel is for gets none, and that is an error. Where another index is asked as well, pip would take that
one's wheel without a word (https://github.com/vllm-project/vllm/issues/44660).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from stackbuild.core.errors import UsageError
from stackbuild.core.packaging import tags_of
from stackbuild.publishing.publication import PublishedWheel, Receipt

_RANGE = re.compile(r"3\.([0-9]+)(?:\.\.3\.([0-9]+))?")


@dataclass(frozen=True)
class InstallCheck:
    """What a Python gets of a project's version: the file, or "" and why."""

    project: str
    version: str
    python: str
    file: str
    reason: str


def python_versions(text: str) -> tuple[str, ...]:
    """`3.10..3.12,3.14` → 3.10, 3.11, 3.12, 3.14. Raises UsageError."""
    versions: list[str] = []
    for word in filter(None, text.split(",")):
        match = _RANGE.fullmatch(word)
        if not match or int(match[2] or match[1]) < int(match[1]):
            raise UsageError(f"{word!r} is not a Python version", next="write 3.11, or 3.10..3.14")
        versions += [f"3.{minor}" for minor in range(int(match[1]), int(match[2] or match[1]) + 1)]
    return tuple(versions)


def check_installs(receipt: Receipt, pythons: tuple[str, ...]) -> tuple[InstallCheck, ...]:
    """What each Python gets of each published project. Raises OSError."""
    names = {(wheel.project, wheel.version): wheel for wheel in receipt.wheels if not wheel.label}
    return tuple(_install_check(receipt.index, wheel, python) for wheel in names.values() for python in pythons)


def _install_check(index: str, wheel: PublishedWheel, python: str) -> InstallCheck:
    tags = tags_of(wheel.file)
    platforms = sorted({tag.platform for tag in tags} - {"any"}) or ["linux_x86_64"]
    with tempfile.TemporaryDirectory(prefix="stackbuild-install-") as folder:
        report = Path(folder) / "report.json"
        words = [sys.executable, "-m", "pip", "install", "--isolated", "--disable-pip-version-check", "--quiet"]
        words += ["--dry-run", "--ignore-installed", "--no-deps", "--only-binary=:all:", "--target", folder]
        words += ["--python-version", python, *(w for platform in platforms for w in ("--platform", platform))]
        words += ["--index-url", Path(index).resolve().as_uri(), "--report", str(report)]
        process = subprocess.run(
            [*words, f"{wheel.project}=={wheel.version}"],
            capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip
        if process.returncode == 0:
            file_name = json.loads(report.read_text("utf-8"))["install"][0]["download_info"]["url"].rpartition("/")[2]
            return InstallCheck(wheel.project, wheel.version, python, file_name, "")
    errors = [line for line in process.stderr.splitlines() if line.startswith("ERROR")]
    reason = errors[-1].removeprefix("ERROR: ") if errors else f"pip ended with {process.returncode}"
    return InstallCheck(wheel.project, wheel.version, python, "", reason)
