"""`debian`: a root file system from Debian's package archive, made by mmdebstrap.

The locked versions are pinned; where the archive no longer has one, apt takes what there is, and the notes say what was
really installed: the caller compares.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

from stackbuild.actions.job import Job
from stackbuild.core import digest
from stackbuild.core.errors import MachineLacks, StepFailed
from stackbuild.model.recipe import Debian
from stackbuild.sources.mirror import Mirror, refuse_packages
from stackbuild.sources.stored_outputs import unpack_object

POINTS = ("build", "deps", "out", "src", "ccache")
"""Folders every base has, so that sessions can mount onto them."""

_ALONE = ("unshare", "--mount", "--propagation=private", "--pid", "--fork", "--kill-child", "--mount-proc", "--")
"""As root, mmdebstrap mounts /proc, /sys and /dev where everyone sees them; in here they and its processes end with it."""

_INSTALL = re.compile(r"^Inst (\S+) \((\S+) ", re.MULTILINE)
_OFFLINE = re.compile(
    r"Temporary failure resolving|Could not connect|Failed to fetch|Unable to connect|Could not resolve"
)


def do(job: Job) -> dict[str, str]:
    """Make the root file system in `job.out`. Notes: `packages`, canonical JSON of name to installed version."""
    if (notes := unpack_object(job.mirror, job.step.key, job.out)) is not None:
        return notes
    refuse_packages(job.mirror, f"the base of {job.step.name}, objects/{job.step.key}.tar")
    params = job.params
    pins = {name.removeprefix("package "): v for name, v in params.items() if name.startswith("package ")}
    preferences = job.scratch / "pins"
    preferences.write_text(preferences_text(pins) + suites_text(json.loads(params.get("pin", "{}"))))
    archive = job.scratch / "root.tar"
    extract = json.loads(params["extract"])
    words = [
        *_words(json.loads(params["packages"]), json.loads(params["areas"])),
        *(
            f"--setup-hook={_suite_hook(params['suite'], other)}"
            for other in sorted(json.loads(params.get("pin", "{}")))
        ),
        '--setup-hook=mkdir -p "$1/etc/apt/preferences.d"',
        # A shell of a hook is a mapped user, whom a home of mode 0700 keeps out; `upload` reads as the caller.
        f"--setup-hook=upload {shlex.quote(str(preferences))} /etc/apt/preferences.d/stackbuild",
        *(f"--customize-hook={_extract_hook(extract)}" for _ in extract[:1]),
        f"--customize-hook={_clean_hook()}",
        params["suite"],
        str(archive),
    ]
    _mmdebstrap(job, words)
    job.call(
        ["tar", "--extract", f"--file={archive}", f"--directory={job.out}", "--no-same-owner", "--exclude=./dev/*"],
        "tar",
    )
    archive.unlink()
    return {"packages": digest.canonical(_installed_versions(job.out))}


def _mmdebstrap(job: Job, words: list[str]) -> None:
    if not shutil.which(words[0]):
        raise MachineLacks(f"`{words[0]}` is not installed", next=f"apt-get install {words[0]}")
    root = os.geteuid() == 0
    scratch = {"TMPDIR": str(job.scratch)} if root else {}  # without root it would lie out of reach of the mapped users
    try:
        job.call([*(_ALONE if root else ()), *words], "util-linux", SOURCE_DATE_EPOCH="1700000000", **scratch)
    except StepFailed as failure:
        text = job.log.read_text(errors="replace")
        if "No space left on device" in text:
            raise OSError(28, "No space left on device", str(job.out)) from None
        if _OFFLINE.search(text) and "has no installation candidate" not in text:
            raise MachineLacks(
                "Debian's package archive cannot be reached",
                where=job.step.name,
                next=f"check the network (log: {job.log}); once the base is built, builds need none",
            ) from None
        raise failure


def _words(packages: list[str], areas: list[str]) -> list[str]:
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


def _suite_hook(suite: str, other: str) -> str:
    """Shell that adds another suite of the archive that the base's suite comes from."""
    listed = '"$1/etc/apt/sources.list"'
    return f"sed -n 's/ {suite} / {other} /p' {listed} >\"$1/etc/apt/sources.list.d/{other}.list\""


def _extract_hook(packages: list[str]) -> str:
    names = " ".join(map(shlex.quote, packages))
    return (
        f'd=$(mktemp -d) && cd "$d" && APT_CONFIG="$MMDEBSTRAP_APT_CONFIG" apt-get download -q {names} '
        '&& for p in ./*.deb; do dpkg-deb --extract "$p" "$1"; dpkg-deb -W "$p" >>"$1/var/lib/stackbuild-extracted"; done; '
        's=$?; rm -rf "$d"; exit $s'
    )


def _clean_hook() -> str:
    """What differs between two builds of the same packages goes; mount points come."""
    points = " ".join(f'"$1/{p}"' for p in POINTS)
    return (
        'rm -rf "$1/etc/apt/preferences.d/stackbuild" "$1"/var/log/* "$1"/var/cache/ldconfig "$1"/var/cache/apt/*.bin '
        f'"$1/etc/machine-id" "$1/etc/hostname" "$1/etc/resolv.conf"; mkdir -p {points}'
    )


def _installed_versions(root: Path) -> dict[str, str]:
    """Versions from dpkg's status and of what was only extracted."""
    status = (root / "var/lib/dpkg/status").read_text()
    fields = re.compile(r"^(Package|Version): (.*)$", re.MULTILINE)
    versions = {}
    for stanza in status.split("\n\n"):
        row = dict(fields.findall(stanza))
        if row:
            versions[row["Package"]] = row["Version"]
    extracted = root / "var/lib/stackbuild-extracted"
    if extracted.exists():
        versions |= dict(line.split("\t") for line in extracted.read_text().splitlines())
    return versions


def ask(debian: Debian, mirror: Mirror | None) -> dict[str, str]:
    """What the archive would install now, name to version: `stackbuild lock`. Raises MachineLacks, StepFailed."""
    refuse_packages(mirror, "Debian's package archive")
    versions = _simulate(debian, debian.packages)
    if debian.extract:
        alone = _simulate(debian, debian.extract)
        versions |= {name: alone[name] for name in debian.extract}
    return versions


def _asking(debian: Debian, packages: tuple[str, ...]) -> list[str]:
    """mmdebstrap's words that name what would be installed. Its own simulation runs no hook, so where another suite has to
    be added apt is asked by a hook, in a root file system of which nothing is unpacked."""
    if not debian.pin:
        return [*_words(list(packages), list(debian.areas)), "--simulate", "--verbose", debian.suite, "/dev/null"]
    words = [w for w in _words([], list(debian.areas)) if not w.startswith(("--variant=", "--include="))]
    quoted_names = " ".join(shlex.quote(p) for p in packages)
    pins = shlex.quote(suites_text({suite: list(names) for suite, names in debian.pin.items()}))
    apt = 'APT_CONFIG="$MMDEBSTRAP_APT_CONFIG" apt-get --simulate --yes --no-install-recommends install'
    return [
        *(words[0], "--variant=custom", *words[1:]),
        *(f"--setup-hook={_suite_hook(debian.suite, other)}" for other in sorted(debian.pin)),
        f'--setup-hook=mkdir -p "$1/etc/apt/preferences.d" && printf %s {pins} >"$1/etc/apt/preferences.d/stackbuild"',
        f"--customize-hook={apt} '?essential' apt {quoted_names}",
        *(debian.suite, "/dev/null"),
    ]


def _simulate(debian: Debian, packages: tuple[str, ...]) -> dict[str, str]:
    words = _asking(debian, packages)
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
    if _OFFLINE.search(output):
        raise MachineLacks(
            "Debian's package archive cannot be reached", where="base.debian", next="check the network", topic="network"
        )
    raise StepFailed(f"mmdebstrap --simulate failed:\n{output[-2000:]}", where="base.debian")
