"""Which file of an index does pip install for a Python? Asked of pip itself, which installs nothing.

It is asked before a release is on its index: of a folder with the pages that the release would have, and links to the
wheels. A Python that no wheel is for gets none, and that is an error. Where another index is asked as well, pip would take that
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
from urllib.parse import unquote

from stackbuild.core.errors import MachineLacks, UsageError, VerificationFailed
from stackbuild.core.packaging import tags_of
from stackbuild.publishing.catalog import Catalog, CatalogFile
from stackbuild.publishing.install_line import machine_of
from stackbuild.publishing.pages import project_page
from stackbuild.publishing.placement import Placement

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

    def __str__(self) -> str:
        return f"Python {self.python} on {self.machine}: {self.project} {self.version} → {self.file or f'no file: {self.reason}'}"


def python_versions(text: str) -> tuple[str, ...]:
    """`3.10..3.12,3.14` → 3.10, 3.11, 3.12, 3.14. Raises UsageError."""
    versions: list[str] = []
    for word in filter(None, text.split(",")):
        match = _RANGE.fullmatch(word)
        if not match or int(match[2] or match[1]) < int(match[1]):
            raise UsageError(f"{word!r} is not a Python version", next="write 3.11, or 3.10..3.14")
        versions += [f"3.{minor}" for minor in range(int(match[1]), int(match[2] or match[1]) + 1)]
    return tuple(versions)


def check_installs(
    index: Path, catalog: Catalog, plans: Sequence[Placement], pythons: Sequence[str]
) -> tuple[InstallCheck, ...]:
    """What each Python would get of each project that is to be published, on each machine that a wheel of it is for, from that catalog.

    Raises VerificationFailed where one gets no file, MachineLacks without pip, OSError.
    """
    by_version: dict[tuple[str, str], list[CatalogFile]] = {}
    for plan in plans if pythons else ():
        if not plan.row.variant:
            by_version.setdefault((plan.wheel.project, plan.wheel.version), []).append(plan.row)
    checks: list[InstallCheck] = []
    with tempfile.TemporaryDirectory(prefix="stackbuild-index-") as folder:
        for (project, version), files in by_version.items():
            _write_project(Path(folder), project, index, catalog, plans)
            machines = sorted({machine_of(file.name) for file in files} - {""}) or [DEFAULT_MACHINE]
            for machine in machines:
                words = [word for platform in _platforms(files, machine) for word in ("--platform", platform)]
                checks += [_install_check(folder, project, version, machine, python, words) for python in pythons]
    if failures := [check for check in checks if not check.file]:
        raise VerificationFailed(
            "\n".join([f"nothing is published: {len(failures)} of {len(checks)} get no file", *map(str, checks)]),
            where=str(index),
            next="give a wheel for each of these Pythons, or name only those in `--check-install` that the release is for",
        )
    return tuple(checks)


def _write_project(folder: Path, project: str, index: Path, catalog: Catalog, plans: Sequence[Placement]) -> None:
    """A project as it would be on the index, in that folder: its page, and links to its wheels."""
    by_name = {plan.row.name: plan for plan in plans}
    page = folder / project / "index.html"
    page.parent.mkdir(exist_ok=True)
    page.write_bytes(project_page(project, catalog))
    for row in catalog.projects[project].current_files:
        link = page.parent / row.path
        link.parent.mkdir(exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(
                (by_name[row.name].wheel.path if row.name in by_name else index / project / row.path).resolve()
            )
        metadata = link.with_name(f"{link.name}.metadata")
        if row.name in by_name:
            metadata.write_bytes(by_name[row.name].wheel.metadata)
        elif not metadata.is_symlink():
            metadata.symlink_to((index / project / row.beside(metadata.name)).resolve())


def _platforms(wheels: Sequence[CatalogFile], machine: str) -> list[str]:
    """The platforms of one machine that any of the wheels is for, the newest first, as pip prefers them."""
    platforms = {tag.platform for wheel in wheels for tag in tags_of(wheel.name)}
    of_machine = {platform for platform in platforms if platform.endswith(f"_{machine}")} or {f"linux_{machine}"}
    return sorted(of_machine, key=lambda platform: [int(n) for n in re.findall(r"\d+", platform)], reverse=True)


def _install_check(
    index: str, project: str, version: str, machine: str, python: str, platforms: Sequence[str]
) -> InstallCheck:
    with tempfile.TemporaryDirectory(prefix="stackbuild-install-") as folder:
        report = Path(folder) / "report.json"
        words = [sys.executable, "-m", "pip", "install", "--isolated", "--disable-pip-version-check", "--quiet"]
        words += ["--dry-run", "--ignore-installed", "--no-deps", "--only-binary=:all:", "--target", folder]
        words += ["--python-version", python, *platforms]
        words += ["--index-url", Path(index).as_uri(), "--report", str(report)]
        process = subprocess.run(
            [*words, f"{project}=={version}"],
            capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip
        if process.returncode == 0:
            file_name = json.loads(report.read_text("utf-8"))["install"][0]["download_info"]["url"].rpartition("/")[2]
            return InstallCheck(project, version, python, unquote(file_name), "", machine)
    if "No module named pip" in process.stderr:
        raise MachineLacks(
            "--check-install asks pip, which this Python does not have; nothing is published",
            where=sys.executable,
            next="install pip into that environment, or leave --check-install out",
        )
    errors = [line for line in process.stderr.splitlines() if line.startswith("ERROR")]
    reason = errors[-1].removeprefix("ERROR: ") if errors else f"pip ended with {process.returncode}"
    return InstallCheck(project, version, python, "", reason, machine)
