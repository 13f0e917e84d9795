"""What one installation takes from an index: the files that are asked for, and those of its own projects that they require.

A requirement that a command leaves to the installer is looked for on the installer's default index, where anybody may
offer that name. So the command names every file of this index that it needs, by place and digest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import quote

from stackbuild.core.packaging import Claim, InvalidRequirement, Requirement, Version, canonicalize_name, tags_of
from stackbuild.publishing.catalog import Catalog, CatalogFile
from stackbuild.publishing.install_line import markers_of

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_MINORS = range(8, 20)
"""Minor versions of Python 3 that a requirement's marker is asked for."""
ROUNDS = 20
"""So often versions are chosen anew, as those chosen before require others."""

ALWAYS: frozenset[str] = frozenset()
"""A condition without a marker."""


class NoClosureError(ValueError):
    """No set of files of the index meets all requirements on it."""


@dataclass
class ProjectNeed:
    """What the files of an installation require of a project.

    `specifiers` are sets of versions, each with the file that requires it. `conditions` are sets of markers: the project is
    needed where all markers of one set hold. `extras` are those that are asked for.
    """

    specifiers: dict[str, str] = field(default_factory=dict)
    conditions: set[frozenset[str]] = field(default_factory=set)
    extras: set[str] = field(default_factory=set)

    def add(self, requirement: Requirement, file: CatalogFile, condition: frozenset[str]) -> bool:
        """Whether the requirement adds a condition or an extra."""
        self.specifiers.setdefault(str(requirement.specifier), file.name)
        extras = requirement.extras - self.extras
        new = not any(one <= condition for one in self.conditions)
        self.extras |= extras
        if new:
            self.conditions = {one for one in self.conditions if not condition <= one} | {condition}
        return new or bool(extras)

    @property
    def marker(self) -> str:
        """Where the project is needed, "" for everywhere."""
        if ALWAYS in self.conditions:
            return ""
        parts = sorted(" and ".join(sorted(one)) for one in self.conditions)
        return parts[0] if len(parts) == 1 else " or ".join(f"({part})" for part in parts)


def direct_requirement(project: str, file: CatalogFile, url: str) -> str:
    """The requirement that names these bytes and no other: PEP 508's `NAME @ URL#sha256=…`."""
    return f"{project} @ {url.rstrip('/')}/{project}/{quote(file.path)}#sha256={file.sha256}"


@dataclass(frozen=True)
class InstallWords:
    """The requirements of a command, in double quotes, and the projects that the files named there leave to the
    installer's default index."""

    requirements: tuple[str, ...] = ()
    from_default_index: tuple[str, ...] = ()


def install_words(catalog: Catalog, roots: Mapping[str, Sequence[CatalogFile]], url: str) -> InstallWords:
    """The files of `roots` by project, then what they require of the index. Raises NoClosureError.

    `url` is where the index is served.
    """
    words = []
    needs, choice = _closure(catalog, roots)
    default_names = {
        str(canonicalize_name(requirement.name))
        for project in {**roots, **needs}
        for file in choice[project]
        for requirement in _requirements(file, needs[project].extras if project in needs else ())
    }
    for project, files in (*roots.items(), *((name, choice[name]) for name in sorted(needs.keys() - roots.keys()))):
        condition = needs[project].marker if project not in roots else ""
        by_name = {file.name: file for file in files}
        for name, marker in markers_of(tuple(by_name)).items():
            both = " and ".join(f"({one})" if " or " in one else one for one in (condition, marker) if one)
            words.append(f'"{direct_requirement(project, by_name[name], url)}{f" ; {both}" if both else ""}"')
    return InstallWords(tuple(words), tuple(sorted(default_names - catalog.projects.keys())))


def _closure(
    catalog: Catalog, roots: Mapping[str, Sequence[CatalogFile]]
) -> tuple[dict[str, ProjectNeed], dict[str, Sequence[CatalogFile]]]:
    """What is required of each project of the index, and the files that are taken of it. Raises NoClosureError."""
    choice: dict[str, Sequence[CatalogFile]] = dict(roots)
    for _ in range(ROUNDS):
        before = dict(choice)
        needs = _needs(catalog, roots, choice)
        for project, need in needs.items():
            choice[project] = _chosen_files(catalog, project, need, roots.get(project))
        if choice == before:
            return needs, choice
    raise NoClosureError("the versions that are required of each other do not come to an end")


def _needs(
    catalog: Catalog, roots: Mapping[str, Sequence[CatalogFile]], choice: dict[str, Sequence[CatalogFile]]
) -> dict[str, ProjectNeed]:
    """What the files require. A project that is required for the first time is chosen by what is known by then."""
    needs: dict[str, ProjectNeed] = {}
    waiting: list[tuple[str, frozenset[str]]] = [(project, ALWAYS) for project in roots]
    while waiting:
        project, condition = waiting.pop()
        extras = needs[project].extras if project in needs else set()
        for file in choice[project]:
            for requirement in own_requirements(catalog, file, extras):
                name = str(canonicalize_name(requirement.name))
                need = needs.setdefault(name, ProjectNeed())
                own = condition | _marker_of(requirement)
                if not need.add(requirement, file, own):
                    continue
                choice.setdefault(name, _chosen_files(catalog, name, need, None))
                waiting += [(name, one) for one in ([ALWAYS] if name in roots else need.conditions)]
    return needs


def _marker_of(requirement: Requirement) -> frozenset[str]:
    """The marker of a requirement, as it stands between double quotes of a shell.

    None, which stands for everywhere, is that of one which asks for an extra, or compares with what a shell would read.
    """
    text = str(requirement.marker or "")
    if not text or re.search(r"\bextra\b|['$`\\!]", text):
        return ALWAYS
    text = text.replace('"', "'")
    return frozenset((f"({text})" if " or " in text else text,))


def _chosen_files(
    catalog: Catalog, project: str, need: ProjectNeed, root: Sequence[CatalogFile] | None
) -> Sequence[CatalogFile]:
    """The files of the highest version that meets the need, or those of `root`. Raises NoClosureError."""
    files = root or [
        file for file in catalog.projects[project].current_files if file.yanked is None and not file.variant
    ]
    fitting = {file.name: version for file in files if _meets(version := Version(file.version), need)}
    finals = [version for version in fitting.values() if not version.is_prerelease]
    highest = max(finals or fitting.values(), default=None)
    if highest is None or (root and len(fitting) < len(root)):
        specifiers = {text: by for text, by in need.specifiers.items() if text} or need.specifiers
        words = sorted(f"{by} requires {project}{text}" for text, by in specifiers.items())
        meets = (
            "which no file that may be installed meets"
            if len(words) == 1
            else "no file that may be installed meets all"
        )
        raise NoClosureError(f"{' and '.join(words)}{', ' if len(words) == 1 else '; '}{meets}")
    return root or tuple(file for file in files if fitting.get(file.name) == highest)


def _meets(version: Version, need: ProjectNeed) -> bool:
    specifiers = (Requirement(f"any{text}").specifier for text in need.specifiers)
    return all(specifier.contains(version, prereleases=True) for specifier in specifiers)


def own_requirements(catalog: Catalog, file: CatalogFile, extras: Iterable[str] = ()) -> Iterator[Requirement]:
    """What a file requires of other projects of its index, in an installation with those extras."""
    for text in file.requires:
        match = _NAME.match(text)
        if match is not None and str(canonicalize_name(match[0])) in catalog.projects:
            yield from _needed_requirement(text, file, extras)


def _requirements(file: CatalogFile, extras: Iterable[str]) -> Iterator[Requirement]:
    """What a file requires by name, of whatever index, in an installation with those extras."""
    for text in file.requires:
        yield from _needed_requirement(text, file, extras)


def _needed_requirement(text: str, file: CatalogFile, extras: Iterable[str]) -> Iterator[Requirement]:
    requirement = _parse(text)
    if requirement is None:  # `publish` refuses it; of an older catalog no installer reads it
        return
    if not requirement.url and is_needed(requirement, file, extras):
        yield requirement


@lru_cache(1 << 14)  # the versions of a project mostly require the same
def _parse(text: str) -> Requirement | None:
    """The requirement in a text, None where it is not a requirement."""
    try:
        return Requirement(text)
    except InvalidRequirement:
        return None


def is_needed(requirement: Requirement, file: CatalogFile, extras: Iterable[str] = ()) -> bool:
    """Whether an installation with those extras needs it, on Linux with a CPython that the file is for."""
    if requirement.marker is None:
        return True
    tags = tuple(map(str, tags_of(file.name)))
    claim = Claim(tags, file.requires_python)
    every = [f"3.{minor}" for minor in _MINORS]
    pythons = [python for python in every if claim.fits(python)] or every
    machines = [machine for machine in ("x86_64", "aarch64") if any(t.endswith((machine, "-any")) for t in tags)]
    return any(is_needed_on(python, machine, requirement, extras) for python in pythons for machine in machines)


def is_needed_on(python: str, machine: str, requirement: Requirement, extras: Iterable[str] = ()) -> bool:
    """Whether an installation with those extras needs it, on Linux with that CPython (`3.11`) and machine (`x86_64`)."""
    if requirement.marker is None:
        return True
    environment = {"os_name": "posix", "sys_platform": "linux", "platform_system": "Linux"}
    environment |= {"platform_python_implementation": "CPython", "implementation_name": "cpython"}
    return any(
        requirement.marker.evaluate(
            {
                **environment,
                "extra": extra,
                "python_version": python,
                "python_full_version": f"{python}.0",
                "platform_machine": machine,
            }
        )
        for extra in ("", *extras)
    )
