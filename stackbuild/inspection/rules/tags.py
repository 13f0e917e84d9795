"""Rules about a wheel's tags: whether what it is for is what it holds."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from stackbuild.inspection.expectations import Expectations
from stackbuild.inspection.facts import Facts, Library, WheelMetadata
from stackbuild.inspection.rules.rule import ERROR, WARNING, SubjectEvidence, rule, some


@rule(
    "SB-TAG-MISMATCH", ERROR, "The file name and WHEEL claim different tags",
    why="pip decides by the file name, other tools by WHEEL. A renamed wheel claims a platform nobody checked.",
    fix="Never rename a wheel: `wheel tags` or `auditwheel repair --plat` changes both.",
    link="https://packaging.python.org/en/latest/specifications/binary-distribution-format/#file-contents",
)  # fmt: skip
def tag_mismatch(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """The tags of the file name are not the `Tag:` lines of WHEEL."""
    metadata = facts.wheel
    if metadata and metadata.filename_tags and metadata.filename_tags != metadata.wheel_tags:
        yield (
            metadata.filename,
            f"the file name says {some(metadata.filename_tags)}; WHEEL says {some(metadata.wheel_tags) or 'nothing'}",
        )


@rule(
    "SB-TAG-POLICY", ERROR, "The claimed manylinux policy does not hold",
    why="On a system as old as the tag promises the library fails to load with `version … not found`.",
    fix="Build on an older base, or claim the policy that holds: `auditwheel repair --plat`.",
    link="https://peps.python.org/pep-0600/",
)  # fmt: skip
def tag_policy(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """A library needs symbol versions newer than the policy of a claimed tag, versioned or (`__isoc23_*`) by name."""
    if facts.policy is None:
        return
    by_library: dict[tuple[str, str], list[str]] = defaultdict(list)
    for tag, path, version in facts.policy.too_new:
        by_library[path, tag].append(version)
    for (path, tag), versions in by_library.items():
        yield path, f"needs {some(versions)}, which {tag} does not have; {facts.policy.name} would hold"
    if facts.wheel:
        yield from _isoc23(facts, facts.wheel)


def _isoc23(facts: Facts, wheel: WheelMetadata) -> Iterator[SubjectEvidence]:
    """glibc 2.38 renamed strtol and friends for C23; unversioned references (static libraries) escape auditwheel."""
    claims = [
        int(m[1]) for tag in wheel.filename_tags + wheel.wheel_tags if (m := re.search(r"manylinux_2_(\d+)_", tag))
    ]
    if not claims or min(claims) >= 38:
        return
    for lib in facts.libraries:
        versioned = any("GLIBC_2.38" in versions for _, versions in lib.versions)
        renamed_symbols = [name for name in lib.undefined if name.startswith("__isoc23_")]
        if renamed_symbols and not versioned:
            yield lib.path, f"needs {some(renamed_symbols)}, which glibc has from 2.38; the tag claims 2.{min(claims)}"


@rule(
    "SB-TAG-PLATFORM", ERROR, "The libraries are for another system than the tag",
    why="The installer chooses the wheel by its tag, and no library in it can be loaded there.",
    fix="Build on the system of the tag, or correct the tag (`wheel tags`).",
    link="https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/",
)  # fmt: skip
def tag_platform(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """ELF libraries in a wheel for Windows, macOS or iOS. Libraries that need glibc under a tag of musl or of another system
    than Linux. Libraries that need musl under a manylinux tag."""
    for platform in _platforms(facts.wheel) if facts.wheel else ():
        if platform == "any" or platform.startswith("linux_"):
            continue
        needs, why = (
            (_always, "ELF, which its system does not load")
            if platform.startswith(("win", "macosx", "ios"))
            else (_needs_musl, "built for musl")
            if platform.startswith("manylinux")
            else (_needs_glibc, "built for glibc")
        )
        wrong = [lib.path for lib in facts.libraries if needs(lib)]
        if wrong:
            yield platform, f"{some(wrong)}: {why}"


def _always(lib: Library) -> bool:
    return True


def _platforms(wheel: WheelMetadata) -> list[str]:
    return sorted({tag.rsplit("-", 1)[-1] for tag in wheel.filename_tags + wheel.wheel_tags})


def _needs_glibc(lib: Library) -> bool:
    return "libc.so.6" in lib.needed or any(v.startswith("GLIBC_") for _, versions in lib.versions for v in versions)


def _needs_musl(lib: Library) -> bool:
    return any(re.fullmatch(r"libc\.musl-[\w-]+\.so\.1", name) for name in lib.needed)


@rule(
    "SB-TAG-UNKNOWN", WARNING, "A platform tag that cannot be judged here",
    why="Whether its libraries load where the tag says is not known, so nothing is claimed about it.",
    fix="Check it with the `auditwheel` of that platform; a tag newer than every glibc is a slip.",
    link="https://peps.python.org/pep-0600/",
)  # fmt: skip
def tag_unknown(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """A manylinux tag of another architecture than x86-64, or of a glibc newer than auditwheel has a policy for."""
    metadata = facts.wheel
    if metadata is None or not facts.libraries:
        return
    unjudged_tags = (
        facts.policy.unjudged if facts.policy else [p for p in _platforms(metadata) if p.startswith("manylinux")]
    )
    for platform in unjudged_tags:
        yield platform, "no policy for it is known here"


RULES = (tag_mismatch, tag_policy, tag_platform, tag_unknown)
