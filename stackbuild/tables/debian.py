"""The suites of Debian's archive, and Ubuntu's releases, which are not suites of Debian.

Source: https://www.debian.org/releases/ and https://releases.ubuntu.com/.
"""

from __future__ import annotations

from stackbuild.tables.near_words import nearest

DEBIAN_RELEASES = {"11": "bullseye", "12": "bookworm", "13": "trixie", "14": "forky", "15": "duke"}
"""Debian's releases by number; 14 and 15 are to come."""
SUITES = (
    *DEBIAN_RELEASES.values(), "sid", "experimental", "unstable", "testing", "stable", "oldstable", "oldoldstable",
)  # fmt: skip
"""Every suite that the archive has now, by code name or by its part in the cycle."""
UBUNTU = ("bionic", "focal", "jammy", "noble", "oracular", "plucky", "questing", "resolute")


def refused_suite(suite: str) -> str:
    """What is wrong with the name of a suite, and after `; ` the next step; "" where the archive has it."""
    if suite in SUITES:
        return ""
    if suite in UBUNTU:
        return (
            f"{suite!r} is a release of Ubuntu, and `suite` is one of Debian; write `suite: trixie`, or take `image:`"
        )
    near, label = nearest(suite[:40], list(SUITES)), suite if len(suite) <= 40 else f"{suite[:40]}…"
    return f"Debian's archive has no suite {label!r}; " + (
        f"did you mean `{near}`?" if near else f"it has {', '.join(SUITES)}"
    )
