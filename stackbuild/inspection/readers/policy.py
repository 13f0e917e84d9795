"""The manylinux policy that libraries really satisfy. The only module that imports auditwheel.

auditwheel's policies decide; it is given the symbol versions already read, so the wheel is not unpacked again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache

from auditwheel.architecture import Architecture
from auditwheel.libc import Libc
from auditwheel.policy import WheelPolicies

from stackbuild.inspection.facts import Library, Policy

_LINKER = "ld-linux"
_PERENNIAL = re.compile(r"manylinux_2_([0-9]{1,4})_x86_64")


@cache
def _policies() -> WheelPolicies:
    return WheelPolicies(libc=Libc.GLIBC, arch=Architecture.x86_64)


def satisfied_policy(libraries: Iterable[Library], claimed_tags: Iterable[str]) -> Policy | None:
    """The policy of x86-64 libraries together and how the `claimed_tags` tags fail, or None where there are no libraries."""
    hosts = [lib for lib in libraries if lib.machine == 62]
    if not hosts:
        return None
    policies = _policies()
    versions_by_path = {lib.path: {version for _, versions in lib.versions for version in versions} for lib in hosts}
    policy = policies.versioned_symbols_policy(versions_by_path)
    own = {lib.soname for lib in hosts} | {lib.path.rsplit("/", 1)[-1] for lib in hosts}
    needed_sonames = {name for lib in hosts for name in lib.needed}
    listed_libraries = policies.highest.whitelist | policies.lowest.whitelist
    external = sorted(n for n in needed_sonames - own - listed_libraries if _LINKER not in n)
    too_new = tuple((tag, *pair) for tag in sorted(set(claimed_tags)) for pair in _beyond(versions_by_path, tag))
    unjudged_libraries = tuple(
        tag for tag in sorted(set(claimed_tags)) if tag.startswith("manylinux") and _promised_versions(tag) is None
    )
    return Policy(policy.name, _deciding(versions_by_path, policy.name), too_new, tuple(external), unjudged_libraries)


def _beyond(versions_by_path: dict[str, set[str]], tag: str) -> list[tuple[str, str]]:
    """(library, symbol version) pairs that the policy of that platform tag does not promise."""
    lacking = _lacking(versions_by_path, _promised_versions(tag) or {})
    perennial = _PERENNIAL.fullmatch(tag)
    if perennial is None:
        return lacking
    newer = [
        (path, version)
        for path, versions in sorted(versions_by_path.items())
        for version in sorted(versions)
        if (glibc := re.fullmatch(r"GLIBC_2\.([0-9]{1,4})(\.[0-9]+)?", version)) and int(glibc[1]) > int(perennial[1])
    ]
    return sorted({*lacking, *newer})


def _promised_versions(tag: str) -> Mapping[str, frozenset[str]] | None:
    """The symbol versions that a platform tag promises, by kind; None where no policy known here can tell.

    PEP 600 allows a tag for each glibc, auditwheel has policies for some: one between two of them promises at most what the
    newer does.
    """
    policies = _policies()
    try:
        promised_versions: Mapping[str, frozenset[str]] = policies.get_policy_by_name(tag).symbol_versions
        return promised_versions
    except LookupError:
        perennial = _PERENNIAL.fullmatch(tag)
    by_minor = {int(match[1]): policy for policy in policies if (match := _PERENNIAL.fullmatch(policy.name))}
    newer = [number for number in by_minor if perennial and number > int(perennial[1])]
    return by_minor[min(newer)].symbol_versions if newer else None


def _lacking(
    versions_by_path: dict[str, set[str]], promised_versions: Mapping[str, frozenset[str]]
) -> list[tuple[str, str]]:
    allowed_versions = {f"{kind}_{version}" for kind, versions in promised_versions.items() for version in versions}
    return [
        (path, version)
        for path, versions in sorted(versions_by_path.items())
        for version in sorted(versions)
        if version.partition("_")[0] in promised_versions and version not in allowed_versions
    ]


def _deciding(versions_by_path: dict[str, set[str]], name: str) -> tuple[str, str] | None:
    """What rules out the policy just older than `name`: the first (library, symbol version) it lacks."""
    policy_order = list(_policies())  # linux first, then newest to oldest
    names = [policy.name for policy in policy_order]
    older = names.index(name) + 1
    if older >= len(policy_order):
        return None
    missing = _lacking(versions_by_path, policy_order[older].symbol_versions)
    return missing[0] if missing else None
