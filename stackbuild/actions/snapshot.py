"""`snapshot`: a local source copied into the store, so that later edits cannot slip into a build under way."""

from __future__ import annotations

import fnmatch
import os
import shutil
from pathlib import Path

from stackbuild.actions.job import Job, Local
from stackbuild.core import digest
from stackbuild.core.errors import StepFailed, UsageError

ALWAYS_OUT = ("__pycache__", ".git", ".pytest_cache", ".mypy_cache", ".ruff_cache", "*.pyc")
TIME = 1_700_000_000
"""mtime of every copied file, so that compiler caches see the same tree (see steps.context.SOURCE_DATE_EPOCH)."""


def do(job: Job) -> dict[str, str]:
    """Copy the files that the plan saw. Raises StepFailed when they changed since."""
    name = job.step.name.removeprefix("source.")
    local = job.locals[name]
    for path in files(local):
        target = job.out / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(local.folder / path, target, follow_symlinks=False)
        if not target.is_symlink():
            shutil.copymode(local.folder / path, target)
            os.utime(target, (TIME, TIME))
    if content(Local(job.out)) != job.params["tree"]:
        raise StepFailed(
            "the source changed while it was copied", where=str(local.folder), next="run the same command again"
        )
    return {}


def settle(root: Path) -> None:
    """Give every file of a fetched tree the one time and a plain mode, so that equal sources are equal trees."""
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder) / name
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
                os.utime(path, (TIME, TIME))


def files(local: Local) -> list[str]:
    """Relative paths of a local source's files, sorted. Raises UsageError where the folder is not there."""
    if not local.folder.is_dir():
        raise UsageError("the source's folder is not there", where=str(local.folder), next="mend `path` in the recipe")
    found = []
    for root, folders, names in os.walk(local.folder):
        inside = Path(root).relative_to(local.folder)
        links = [d for d in folders if (Path(root) / d).is_symlink()]  # kept as links, never followed
        folders[:] = sorted(d for d in folders if d not in links and not _out(inside / d, local.exclude))
        found += [str(inside / n) for n in (*names, *links) if not _out(inside / n, local.exclude)]
    return sorted(found)


def _out(path: Path, exclude: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(path.name, p) for p in ALWAYS_OUT) or any(
        fnmatch.fnmatchcase(str(path), p) for p in exclude
    )


def content(local: Local) -> str:
    """Digest of a local source: what `survey` finds."""
    return digest.of_value(survey(local))


def survey(local: Local) -> list[tuple[str, str, str]]:
    """Each file of a local source: path, whether executable, digest of the content; links by their target. Raises UsageError."""
    rows = []
    for path in files(local):
        place = local.folder / path
        if place.is_symlink():
            rows.append((path, "link", str(place.readlink())))
        elif not place.is_file():
            raise UsageError(
                f"the source has {path}, which is no file",
                where=str(local.folder),
                next="remove it, or list it under `exclude`",
            )
        else:
            rows.append((path, "x" if os.access(place, os.X_OK) else "-", digest.of_file(place)))
    return rows
