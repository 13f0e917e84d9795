"""The verb `patch new`: a patch file with its header, from an edited copy of a source."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from stackbuild.errors import UsageError
from stackbuild.patches import Patch, check, parse


@dataclass(frozen=True)
class Reason:
    """The three things a patch must say of itself."""

    why: str
    upstream: str
    remove_when: str


def new_patch(original: Path, edited: Path, series: Path, what: str, reason: Reason) -> Path:
    """Write the difference of two trees as the next patch of the folder `series`; its path. Raises UsageError."""
    for place in (original, edited):
        if not place.is_dir():
            raise UsageError("no such folder", where=str(place), next="give the source as it was, and the edited copy")
    number = 1 + max((int(p.name[:4]) for p in series.glob("[0-9][0-9][0-9][0-9]-*.patch")), default=0)
    slug = re.sub(r"[^a-z0-9]+", "-", what.lower()).strip("-") or "change"
    head = f"Why: {reason.why}\nUpstream: {reason.upstream}\nRemove-When: {reason.remove_when}\n\n"
    made: Patch = parse(f"{number:04}-{slug}.patch", head + _difference(original, edited))
    if mistakes := check(made, made.name):
        raise UsageError("; ".join(m.what for m in mistakes), where=made.name, next=mistakes[0].next)
    series.mkdir(parents=True, exist_ok=True)
    path = series / made.name
    path.write_text(made.text, "utf-8", "surrogateescape")
    return path


def _difference(original: Path, edited: Path) -> str:
    """`git diff` of two folders, with paths as inside the source. Raises UsageError where they are equal."""
    words = ["git", "-c", "core.autocrlf=false", "diff", "--no-index", "--no-color", "--no-ext-diff", "--src-prefix=a/"]
    done = subprocess.run(
        [*words, "--dst-prefix=b/", str(original), str(edited)], capture_output=True, text=True, errors="surrogateescape",
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1", "HOME": "/nonexistent"}, check=False,
    )  # fmt: skip
    if done.returncode == 0:
        raise UsageError("the two trees are equal", where=str(edited), next="edit the copy first")
    text = done.stdout
    for side, tree in (("a", original), ("b", edited)):
        text = text.replace(f"{side}{tree.absolute()}/", f"{side}/").replace(f"{side}/{tree}/", f"{side}/")
    return text
