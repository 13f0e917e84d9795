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
from stackbuild.core.packaging import canonicalize_name, distribution_of, tags_of
from stackbuild.publishing.catalog import Catalog, CatalogFile
from stackbuild.publishing.closure import ROUNDS, is_needed_on, own_requirements
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

    It gets a file if it gets one of each project of the index that the file requires, too. Raises VerificationFailed where
    one gets no file, MachineLacks without pip, OSError.
    """
    by_version: dict[tuple[str, str], list[CatalogFile]] = {}
    for plan in plans if pythons else ():
        if not plan.row.variant:
            by_version.setdefault((plan.wheel.project, plan.wheel.version), []).append(plan.row)
    checks: list[InstallCheck] = []
    with tempfile.TemporaryDirectory(prefix="stackbuild-index-") as folder:
        pages = _Pages(Path(folder), index, catalog, plans)
        for (project, version), files in by_version.items():
            machines = sorted({machine_of(file.name) for file in files} - {""}) or [DEFAULT_MACHINE]
            checks += [
                _install_check(pages, project, version, machine, python, _platforms(files, machine))
                for machine in machines
                for python in pythons
            ]
    if failures := [check for check in checks if not check.file]:
        raise VerificationFailed(
            "\n".join([f"nothing is published: {len(failures)} of {len(checks)} get no file", *map(str, checks)]),
            where=str(index),
            next="give a wheel for each of these Pythons, or name only those in `--check-install` that the release is for",
        )
    return tuple(checks)


@dataclass(frozen=True)
class _Pages:
    """The projects as they would be on the index, in a folder that pip is asked about."""

    folder: Path
    index: Path
    catalog: Catalog
    plans: Sequence[Placement]

    def add(self, project: str) -> None:
        """The project's page, and links to its wheels."""
        if not (self.folder / project).exists():
            _write_project(self.folder, project, self.index, self.catalog, self.plans)

    def file(self, project: str, name: str) -> CatalogFile:
        return self.catalog.projects[project].files[name]


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


def _platforms(wheels: Sequence[CatalogFile], machine: str) -> frozenset[str]:
    """The platforms of one machine that any of the wheels is for."""
    platforms = {tag.platform for wheel in wheels for tag in tags_of(wheel.name)}
    return frozenset({platform for platform in platforms if platform.endswith(f"_{machine}")} or {f"linux_{machine}"})


def _install_check(
    pages: _Pages, project: str, version: str, machine: str, python: str, platforms: frozenset[str]
) -> InstallCheck:
    """What that Python gets. pip is asked again, as long as the files that it names require more of this index."""
    requirers: dict[str, str] = {f"{project}=={version}": ""}  # each requirement, and the file that has it
    extras: dict[str, set[str]] = {}
    pages.add(project)
    file = ""
    for _ in range(ROUNDS):
        files, reason = _files_of_pip(pages.folder, tuple(requirers), python, platforms)
        if not files:
            by = next((by for text, by in requirers.items() if by and text in reason), "")
            return InstallCheck(
                project, version, python, "", f"{reason}, which {by} requires" if by else reason, machine
            )
        file = files[project]
        size = len(requirers), sum(map(len, extras.values()))
        for name, one in files.items():
            own_extras = extras.get(name, set())
            for requirement in own_requirements(pages.catalog, pages.file(name, one), own_extras):
                if is_needed_on(python, machine, requirement, own_extras):
                    own = str(canonicalize_name(requirement.name))
                    pages.add(own)
                    platforms |= _platforms(pages.catalog.projects[own].current_files, machine)
                    extras.setdefault(own, set()).update(requirement.extras)
                    requirers.setdefault(f"{own}{requirement.specifier}", one)
        if size == (len(requirers), sum(map(len, extras.values()))):
            break
    return InstallCheck(project, version, python, file, "", machine)


def _files_of_pip(
    folder: Path, requirements: Sequence[str], python: str, platforms: frozenset[str]
) -> tuple[dict[str, str], str]:
    """The file of each project that pip would install, without what these require; none, and why."""
    newest_first = sorted(platforms, key=lambda platform: [int(n) for n in re.findall(r"\d+", platform)], reverse=True)
    with tempfile.TemporaryDirectory(prefix="stackbuild-install-") as target:
        report = Path(target) / "report.json"
        words = [sys.executable, "-m", "pip", "install", "--isolated", "--disable-pip-version-check", "--quiet"]
        words += ["--dry-run", "--ignore-installed", "--no-deps", "--only-binary=:all:", "--target", target]
        words += ["--python-version", python, *(word for platform in newest_first for word in ("--platform", platform))]
        words += ["--index-url", folder.as_uri(), "--report", str(report)]
        process = subprocess.run(
            [*words, *requirements], capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"}
        )
        if process.returncode == 0:
            urls = [one["download_info"]["url"] for one in json.loads(report.read_text("utf-8"))["install"]]
            names = [unquote(url.rpartition("/")[2]) for url in urls]
            return {distribution_of(name)[0]: name for name in names}, ""
    if "No module named pip" in process.stderr:
        raise MachineLacks(
            "--check-install asks pip, which this Python does not have; nothing is published",
            where=sys.executable,
            next="install pip into that environment, or leave --check-install out",
        )
    errors = [line for line in process.stderr.splitlines() if line.startswith("ERROR")]
    return {}, errors[-1].removeprefix("ERROR: ") if errors else f"pip ended with {process.returncode}"
