"""Names and versions of Python distributions: the one module that imports packaging."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from packaging import requirements, specifiers, tags, utils, version
from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
from packaging.metadata import parse_email
from packaging.requirements import InvalidRequirement
from packaging.specifiers import InvalidSpecifier
from packaging.tags import compatible_tags, cpython_tags, parse_tag
from packaging.utils import InvalidWheelFilename, NormalizedName
from packaging.version import InvalidVersion

from stackbuild.core.errors import UsageError

__all__ = [
    "Claim", "InvalidLicenseExpression", "InvalidRequirement", "InvalidSpecifier", "InvalidVersion", "InvalidWheelFilename", "Requirement", "SpecifierSet", "Version",
    "applies", "canonicalize_license_expression", "canonicalize_name", "distribution_of", "is_requirement", "parse_email", "parse_tag", "parse_wheel_filename",
    "version_of",
]  # fmt: skip


_LONG_NUMBER = re.compile("[0-9]{101}")
"""Python makes no number of more than 4,300 digits: the library's own error for one is a plain ValueError."""


def _refuse_long_numbers(text: str, what: str, error: type[ValueError]) -> None:
    if _LONG_NUMBER.search(text):
        raise error(f"{what} with a number of more than 100 digits: {text[:40]}…")


class Version(version.Version):
    """A version by PEP 440. Raises InvalidVersion, for a number of more than 100 digits too."""

    def __init__(self, version: str) -> None:
        _refuse_long_numbers(version, "a version", InvalidVersion)
        super().__init__(version)


@lru_cache(1 << 14)  # of the same few names, for each file of an index
def canonicalize_name(name: str) -> NormalizedName:
    """A project's name as PEP 503 normalises it."""
    return utils.canonicalize_name(name)


@lru_cache(1 << 14)  # the versions of an index are sorted for each of its pages
def version_of(text: str) -> Version:
    """The version of that text. Raises InvalidVersion."""
    return Version(text)


class SpecifierSet(specifiers.SpecifierSet):
    """A set of versions. Raises InvalidSpecifier, for a number of more than 100 digits too."""

    def __init__(self, specifiers: str = "") -> None:
        _refuse_long_numbers(specifiers, "a specifier", InvalidSpecifier)
        super().__init__(specifiers)


class Requirement(requirements.Requirement):
    """A `Requires-Dist`. Raises InvalidRequirement, for a number of more than 100 digits too."""

    def __init__(self, requirement_string: str) -> None:
        _refuse_long_numbers(requirement_string, "a requirement", InvalidRequirement)
        super().__init__(requirement_string)


def parse_wheel_filename(
    file_name: str,
) -> tuple[utils.NormalizedName, version.Version, utils.BuildTag, frozenset[tags.Tag]]:
    """Normalised name, version, build and tags of a wheel's file name. Raises InvalidWheelFilename."""
    _refuse_long_numbers(file_name, "a file name", InvalidWheelFilename)
    return utils.parse_wheel_filename(file_name)


_VARIANT = re.compile(r"(?P<plain>[^-]+-[^-]+(-[0-9][^-]*)?-[^-0-9][^-]*-[^-]+-[^-]+)-(?P<label>[0-9a-z_.]+)\.whl")


def split_label(file_name: str) -> tuple[str, str]:
    """A wheel's file name without the label of a variant (PEP 825, a draft), and that label; "" for a plain wheel."""
    match = _VARIANT.fullmatch(file_name)
    return (f"{match['plain']}.whl", match["label"]) if match else (file_name, "")


def is_requirement(text: str) -> bool:
    """Whether installers can read a `Requires-Dist` and compare what its marker compares."""
    try:
        applies(Requirement(text), {})
    except InvalidRequirement:
        return False
    return True


def applies(requirement: Requirement, environment: dict[str, str]) -> bool:
    """Whether a requirement counts without extras, in this Python's environment with those changes.

    Raises InvalidRequirement where its marker compares what has no such comparison (`os_name ~= "posix"`). A version of
    this machine that PEP 440 does not allow (`platform_release`) is not the requirement's fault: it counts then.
    """
    try:
        return not requirement.marker or requirement.marker.evaluate({"extra": "", **environment})
    except (UndefinedComparison, UndefinedEnvironmentName) as error:
        raise InvalidRequirement(str(error)) from None
    except InvalidVersion:
        return True


@lru_cache(1 << 14)  # an index asks it of each of its files, several times
@lru_cache(1 << 14)  # asked of each file of an index, several times
def distribution_of(file_name: str) -> tuple[str, str]:
    """Normalised project name and version of a wheel's file name, also of a variant's. Raises UsageError on another file."""
    try:
        project, version, _, _ = parse_wheel_filename(split_label(file_name)[0])
    except InvalidWheelFilename as error:
        raise UsageError(
            f"not a wheel's file name: {error}", where=file_name, next="give the path of a .whl file"
        ) from None
    return str(project), str(version)


@lru_cache(1 << 14)  # asked of each file of an index, too
def tags_of(file_name: str) -> frozenset[tags.Tag]:
    """The tags of a wheel's file name, also of a variant's. Raises InvalidWheelFilename."""
    return parse_wheel_filename(split_label(file_name)[0])[3]


def build_number_of(file_name: str) -> tuple[int, str] | tuple[()]:
    """The build number of a wheel's file name and what follows it, empty for none: installers prefer the highest.

    Raises InvalidWheelFilename.
    """
    return parse_wheel_filename(split_label(file_name)[0])[2]


def is_same_wheel(one: str, other: str) -> bool:
    """Whether two file names mean one wheel, however they are spelt. Raises InvalidWheelFilename."""
    (plain, label), (other_plain, other_label) = split_label(one), split_label(other)
    return label == other_label and parse_wheel_filename(plain) == parse_wheel_filename(other_plain)


@dataclass(frozen=True)
class Claim:
    """Where a wheel says it can be installed: its tags, such as `cp311-abi3-manylinux_2_28_x86_64`, and Requires-Python."""

    tags: tuple[str, ...]
    requires: str = ""

    @property
    def pythons(self) -> tuple[str, ...]:
        """The CPython versions that the tags name, "3.12", oldest first; for the stable ABI some newer ones too."""
        abi_versions = [(int(m[1]), m[2] == "abi3") for tag in self.tags if (m := re.match(r"cp3(\d+)-([^-]+)-", tag))]
        minors = {minor + more for minor, stable in abi_versions for more in range(_NEWER if stable else 1)}
        return tuple(f"3.{minor}" for minor in sorted(minors))

    def fits(self, python: str) -> bool:
        """Whether CPython of that version may install it, whatever the platform."""
        major, minor = (int(part) for part in python.split("."))
        claimed_abis = {(tag.interpreter, tag.abi) for each in self.tags for tag in parse_tag(each)}
        able = {
            (t.interpreter, t.abi)
            for t in (
                *cpython_tags((major, minor), platforms=["any"]),
                *compatible_tags((major, minor), f"cp{major}{minor}", ["any"]),
            )
        }
        return self._allows(python) and (not claimed_abis or not claimed_abis.isdisjoint(able))

    def _allows(self, python: str) -> bool:
        try:
            # a version without its micro is any of that minor: 3.11 meets both >=3.11.4 and <3.12
            return not self.requires or SpecifierSet(self.requires).contains(f"{python}.999")
        except InvalidSpecifier:
            return True

    def refuses(self, python: str, glibc: tuple[int, ...], machine: str, interpreter: str) -> str:
        """Why pip refuses it there, or ''."""
        if not self.fits(python):
            tag_list = ", ".join(sorted({tag.rsplit("-", 1)[0] for tag in self.tags}))
            return f"it is for {f'Python {self.requires}' if not self._allows(python) else tag_list}; {interpreter} has Python {python}"
        platforms = {tag.platform for each in self.tags for tag in parse_tag(each)}
        if not platforms or any(_installs(platform, glibc, machine) for platform in platforms):
            return ""
        return f"it is for {', '.join(sorted(platforms))}; {interpreter} is {machine} with glibc {'.'.join(map(str, glibc))}"


_NEWER = 8
"""Versions of CPython after the stable ABI's own that are looked for."""
_LEGACY = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17)}


def _installs(platform: str, glibc: tuple[int, ...], machine: str) -> bool:
    """Whether a Linux with that glibc takes a platform tag (PEP 600; a plain `linux` promises nothing and is taken)."""
    if platform in ("any", f"linux_{machine}"):
        return True
    if match := re.fullmatch(rf"manylinux_(\d+)_(\d+)_{re.escape(machine)}", platform):
        return (int(match[1]), int(match[2])) <= glibc
    legacy = platform.removesuffix(f"_{machine}")
    return legacy != platform and _LEGACY.get(legacy, (99,)) <= glibc
