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
from pathlib import Path

from stackbuild.actions.job import Job
from stackbuild.core import digest
from stackbuild.core.errors import MachineLacks, StepFailed
from stackbuild.sources import debian_archive
from stackbuild.sources.mirror import refuse_packages
from stackbuild.sources.stored_outputs import unpack_object
from stackbuild.sources.tree_archive import unpack_tree

POINTS = ("build", "deps", "out", "src", "ccache")
"""Folders every base has, so that sessions can mount onto them."""

_ALONE = ("unshare", "--mount", "--propagation=private", "--pid", "--fork", "--kill-child", "--mount-proc", "--")
"""As root, mmdebstrap mounts /proc, /sys and /dev where everyone sees them; in here they and its processes end with it."""


def do(job: Job) -> dict[str, str]:
    """Make the root file system in `job.out`. Notes: `packages`, canonical JSON of name to installed version."""
    if (notes := unpack_object(job.mirror, job.step.key, job.out)) is not None:
        return notes
    refuse_packages(job.mirror, f"the root file system of the step {job.step.name}, objects/{job.step.key}.tar")
    params = job.params
    pins = {name.removeprefix("package "): v for name, v in params.items() if name.startswith("package ")}
    preferences = job.scratch / "pins"
    preferences.write_text(
        debian_archive.preferences_text(pins) + debian_archive.suites_text(json.loads(params.get("pin", "{}")))
    )
    archive = job.scratch / "root.tar"
    extract = json.loads(params["extract"])
    words = [
        *debian_archive.mmdebstrap_words(json.loads(params["packages"]), json.loads(params["areas"])),
        *(
            f"--setup-hook={debian_archive.suite_hook(params['suite'], other)}"
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
    unpack_tree(archive, job.out)
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
        if debian_archive.OFFLINE.search(text) and "has no installation candidate" not in text:
            raise MachineLacks(
                "Debian's package archive cannot be reached",
                where=job.step.name,
                next=f"check the network (log: {job.log}); once the base is built, builds need none",
            ) from None
        raise failure


def _extract_hook(packages: list[str]) -> str:
    names = " ".join(map(shlex.quote, packages))
    return (
        f'd=$(mktemp -d) && cd "$d" && APT_CONFIG="$MMDEBSTRAP_APT_CONFIG" apt-get download -q {names} '
        '&& for p in ./*.deb; do dpkg-deb --extract "$p" "$1"; dpkg-deb -W "$p" >>"$1/var/lib/stackbuild-extracted"; done; '
        's=$?; rm -rf "$d"; exit $s'
    )


def _clean_hook() -> str:
    """A hook that removes what differs between two builds of the same packages, and makes the mount points."""
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
    extraction_folder = root / "var/lib/stackbuild-extracted"
    if extraction_folder.exists():
        versions |= dict(line.split("\t") for line in extraction_folder.read_text().splitlines())
    return versions
