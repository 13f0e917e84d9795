"""Debian's package archive, through mmdebstrap: its words, and what the archive has now. Nothing of it is installed here."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
from pathlib import Path

from stackbuild.core import digest
from stackbuild.core.errors import MachineLacks, StepFailed
from stackbuild.model.lock import File
from stackbuild.model.recipe import Debian
from stackbuild.sources.mirror import Mirror, refuse_packages
from stackbuild.sources.tool_output import tool_output

_INSTALL = re.compile(r"^Inst (\S+) \((\S+) ", re.MULTILINE)
OFFLINE = re.compile(
    r"Temporary failure resolving|Could not connect|Failed to fetch|Unable to connect|Could not resolve"
)


def mmdebstrap_words(packages: list[str], areas: list[str]) -> list[str]:
    """mmdebstrap's words that locking and building share: old suites' Release files are past their date."""
    mode = ["--mode=root"] if os.geteuid() == 0 else ["--mode=unshare"]
    return [
        *("mmdebstrap", "--variant=minbase", *mode, "--format=tar", f"--components={' '.join(areas)}"),
        '--aptopt=Acquire::Check-Valid-Until "false"',
        '--aptopt=Acquire::Retries "3"',
        "--dpkgopt=path-exclude=/usr/share/man/*",
        "--dpkgopt=path-exclude=/usr/share/locale/*",
        "--dpkgopt=path-exclude=/usr/share/doc/*",
        "--dpkgopt=path-include=/usr/share/doc/*/copyright",
        f"--include={','.join(packages)}",
    ]


def preferences_text(pins: dict[str, str]) -> str:
    """apt_preferences(5) that pin each package to its version, above everything else."""
    return "".join(
        f"Package: {name}\nPin: version {version}\nPin-Priority: 1001\n\n" for name, version in sorted(pins.items())
    )


def suites_text(pins: dict[str, list[str]]) -> str:
    """apt_preferences(5) that take packages from another suite: 990 wins over the base's suite (500) and not over a
    package's locked version (1001)."""
    return "".join(
        f"Package: {' '.join(patterns)}\nPin: release a={suite}\nPin-Priority: 990\n\n"
        for suite, patterns in sorted(pins.items())
    )


def suite_hook(suite: str, other: str) -> str:
    """Shell that adds another suite of the archive that the base's suite comes from."""
    list_file = '"$1/etc/apt/sources.list"'
    return f"sed -n 's/ {suite} / {other} /p' {list_file} >\"$1/etc/apt/sources.list.d/{other}.list\""


def ask(debian: Debian, mirror: Mirror | None) -> dict[str, str]:
    """What the archive would install now, name to version: `stackbuild lock`. Raises MachineLacks, StepFailed."""
    refuse_packages(mirror, "Debian's package archive")
    versions = _simulate(debian, debian.packages)
    if debian.extract:
        alone = _simulate(debian, debian.extract)
        versions |= {name: alone[name] for name in debian.extract}
    return versions


def simulation_words(debian: Debian, packages: tuple[str, ...]) -> list[str]:
    """mmdebstrap's words that name what would be installed. Its own simulation runs no hook, so where another suite has to
    be added apt is asked by a hook, in a root file system of which nothing is unpacked."""
    if not debian.pin:
        return [
            *mmdebstrap_words(list(packages), list(debian.areas)),
            "--simulate",
            "--verbose",
            debian.suite,
            "/dev/null",
        ]
    words = [w for w in mmdebstrap_words([], list(debian.areas)) if not w.startswith(("--variant=", "--include="))]
    quoted_names = " ".join(shlex.quote(p) for p in packages)
    pins = shlex.quote(suites_text({suite: list(names) for suite, names in debian.pin.items()}))
    apt = 'APT_CONFIG="$MMDEBSTRAP_APT_CONFIG" apt-get --simulate --yes --no-install-recommends install'
    return [
        *(words[0], "--variant=custom", *words[1:]),
        *(f"--setup-hook={suite_hook(debian.suite, other)}" for other in sorted(debian.pin)),
        f'--setup-hook=mkdir -p "$1/etc/apt/preferences.d" && printf %s {pins} >"$1/etc/apt/preferences.d/stackbuild"',
        f"--customize-hook={apt} '?essential' apt {quoted_names}",
        *(debian.suite, "/dev/null"),
    ]


def _simulate(debian: Debian, packages: tuple[str, ...]) -> dict[str, str]:
    words = simulation_words(debian, packages)
    try:
        process = subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        raise MachineLacks("`mmdebstrap` is not installed", next="apt-get install mmdebstrap") from None
    output = process.stdout + process.stderr
    if process.returncode == 0:
        return dict(_INSTALL.findall(output))
    if missing := re.findall(
        r"Unable to locate package (\S+)|Package '?(\S+?)'? has no installation candidate", output
    ):
        names = ", ".join(sorted({a or b for a, b in missing}))
        raise StepFailed(
            f"{debian.suite} has no package {names}", where="base.debian", next="check the name and the suite"
        )
    if OFFLINE.search(output):
        raise MachineLacks(
            "Debian's package archive cannot be reached", where="base.debian", next="check the network", topic="network"
        )
    raise StepFailed(f"mmdebstrap --simulate failed:\n{output[-2000:]}", where="base.debian")


def ask_package(name: str, suite: str, mirror: Mirror | None) -> File:
    """The version and digest that a binary package has now. Raises MachineLacks, StepFailed."""
    refuse_packages(mirror, f"the package archive that has {name}")
    with tempfile.TemporaryDirectory(prefix="stackbuild-package-") as folder:
        file = download_package(name, suite, Path(folder))
        version = tool_output(["dpkg-deb", "--field", str(file), "Version"], "dpkg", Path(folder)).strip()
        return File(version=version, sha256=digest.of_file(file))


def download_package(name: str, suite: str, folder: Path, version: str = "") -> Path:
    """Download a package through mmdebstrap's apt, which knows that suite alone and this machine's keys for Debian."""
    requirement = shlex.quote(f"{name}={version}" if version else name)
    hook = (
        f'sed -i "s/ sid / {suite} /" "$1/etc/apt/sources.list" && mkdir "$1/debs" && cd "$1/debs" && '
        f'export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG" && apt-get update -q && apt-get download -q {requirement}'
    )
    hooks = [f"--customize-hook={hook}", f"--customize-hook=sync-out /debs {shlex.quote(str(folder))}"]
    # Without root the hook runs as a mapped user, who may not enter a folder of ours: mmdebstrap itself copies out.
    mode = "root" if os.geteuid() == 0 else "unshare"
    words = [
        "mmdebstrap",
        "--quiet",
        "--variant=custom",
        f"--mode={mode}",
        "--format=null",
        "--components=main contrib",
    ]
    words += ['--aptopt=Acquire::Check-Valid-Until "false"', '--aptopt=Acquire::Retries "3"']
    tool_output([*words, *hooks, "sid", "/dev/null"], "mmdebstrap", folder)
    return next(folder.glob("*.deb"))
