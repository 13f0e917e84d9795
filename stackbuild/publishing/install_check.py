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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stackbuild.core.errors import UsageError
from stackbuild.core.packaging import tags_of
from stackbuild.publishing.install_line import machine_of
from stackbuild.publishing.publication import PublishedWheel, Receipt

DEFAULT_MACHINE = "x86_64"
"""Where a wheel is for any machine."""
_RANGE = re.compile(r"3\.([0-9]+)(?:\.\.3\.([0-9]+))?")


@dataclass(frozen=True)
class InstallCheck:
    """What a Python on a machine (`x86_64`) gets of a project's version: the file, or "" and why."""

    project: str
    version: str
    python: str
    file: str
    reason: str
    machine: str


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
    """What each Python gets of each published project, on each machine that a wheel of it is for. Raises OSError."""
    by_version: dict[tuple[str, str], list[PublishedWheel]] = {}
    for wheel in receipt.wheels:
        if not wheel.label:
            by_version.setdefault((wheel.project, wheel.version), []).append(wheel)
    checks = []
    for wheels in by_version.values():
        machines = sorted({machine_of(wheel.file) for wheel in wheels} - {""}) or [DEFAULT_MACHINE]
        checks += [_install_check(receipt.index, wheels, machine, python) for machine in machines for python in pythons]
    return tuple(checks)


def _platforms(wheels: Sequence[PublishedWheel], machine: str) -> list[str]:
    """The platforms of one machine that any of the wheels is for, the newest first, as pip prefers them."""
    platforms = {tag.platform for wheel in wheels for tag in tags_of(wheel.file)}
    of_machine = {platform for platform in platforms if platform.endswith(f"_{machine}")} or {f"linux_{machine}"}
    return sorted(of_machine, key=lambda platform: [int(n) for n in re.findall(r"\d+", platform)], reverse=True)


def _install_check(index: str, wheels: Sequence[PublishedWheel], machine: str, python: str) -> InstallCheck:
    wheel, platforms = wheels[0], _platforms(wheels, machine)
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
            return InstallCheck(wheel.project, wheel.version, python, file_name, "", machine)
    errors = [line for line in process.stderr.splitlines() if line.startswith("ERROR")]
    reason = errors[-1].removeprefix("ERROR: ") if errors else f"pip ended with {process.returncode}"
    return InstallCheck(wheel.project, wheel.version, python, "", reason, machine)
