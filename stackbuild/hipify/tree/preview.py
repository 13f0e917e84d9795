"""Conversions that leave no output folder: what a run would make (`preview`), and sources changed where they lie (`convert_in_place`)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stackbuild.core.errors import UsageError
from stackbuild.core.shell_words import shell_word
from stackbuild.hipify.engines import Engine
from stackbuild.hipify.model import Report
from stackbuild.hipify.tree.files import SourceSelection
from stackbuild.hipify.tree.tree import hipify_tree

BACKUP = ".prehip"
"""What hipify-perl calls its copies, too."""


@dataclass(frozen=True)
class Preview:
    """What a run would make: its report, and for each file that would change its name, its source and its two texts.

    `support` are the support headers that the converted files include, by name; `new_support` those that are not at the
    root of the source already.
    """

    report: Report
    changes: tuple[Change, ...]
    support: Mapping[str, bytes]
    new_support: Mapping[str, bytes]


@dataclass(frozen=True)
class Change:
    """A file that a conversion changes: its name in the report, where it lies, its bytes before and after."""

    name: str
    source: Path
    before: bytes
    after: bytes


def preview(selection: SourceSelection, engine: Engine, workers: int = 1) -> Preview:
    """Convert into a folder that is removed again. Nothing of the sources or of `selection.out` is touched.

    Outputs of earlier runs into `selection.out` are left out as in a real run. Raises what `hipify_tree` raises.
    """
    with tempfile.TemporaryDirectory(prefix="stackbuild-hipify-") as folder:
        is_file = len(selection.sources) == 1 and selection.sources[0].is_file()
        out = Path(folder) / "out"
        report = hipify_tree(replace(selection, out=out, is_folder=True), engine, workers=workers)
        changes = []
        for file in report.files:
            before, after = Path(file.source).read_bytes(), Path(file.output).read_bytes()
            if before != after:
                changes.append(Change(os.path.relpath(file.output, out), Path(file.source), before, after))
        needed_shims = {name: (out / name).read_bytes() for name in engine.rules.shims if (out / name).is_file()}
        roots = [source if source.is_dir() else source.parent for source in selection.sources]
        new = {name: text for name, text in needed_shims.items() if not any((root / name).is_file() for root in roots)}
        real = selection.out if not is_file or selection.is_folder else selection.out.parent
        files = tuple(replace(f, output=str(real / os.path.relpath(f.output, out))) for f in report.files)
        return Preview(replace(report, files=files, changed_outputs=0), tuple(changes), needed_shims, new)


def convert_in_place(selection: SourceSelection, engine: Engine, force: bool = False, workers: int = 1) -> Report:
    """Replace each source by its HIP text, with the original kept beside it as `NAME.prehip`.

    A backup that is there already is the original and stays. Support headers go to the root of the source. Each file is
    replaced in one rename, after all backups are made. Raises UsageError where rules would rename a file, where a support header's place
    is taken by something else (unless `force`), and where a file or a folder cannot be written.
    """
    if len(selection.sources) != 1:
        raise UsageError(
            "several sources have no one place for support headers", where="--in-place", next="convert one at a time"
        )
    source = selection.sources[0]
    root = source if source.is_dir() else source.parent
    report = preview(selection, engine, workers)
    moved_files = [change for change in report.changes if change.name != _below(change.source, root)]
    if moved_files:
        raise UsageError(
            f"a path rule makes {moved_files[0].name} of {moved_files[0].source}",
            where="--in-place",
            next="give -o OUT: rules rename files",
        )
    for name, text in report.support.items():
        place = root / name
        if place.exists() and place.read_bytes() != text and not force:
            raise UsageError(
                "there is another file in a support header's place",
                where=str(place),
                next="move it away, or give --force",
            )
    _refuse_read_only([change.source for change in report.changes] + [root / name for name in report.support])
    try:
        for change in report.changes:
            backup = change.source.with_name(change.source.name + BACKUP)
            if not backup.exists():
                _write(backup, change.before, change.source)
        for name, text in report.support.items():
            _write(root / name, text, None)
        for change in report.changes:
            _write(change.source, change.after, change.source)
    except OSError as error:
        raise UsageError(
            f"cannot be written: {error.strerror}", where=str(error.filename), next=f"originals are in *{BACKUP}"
        ) from error
    return replace(
        report.report,
        files=tuple(replace(f, output=f.source) for f in report.report.files),
        changed_outputs=len(report.changes) + len(report.support),
    )


def _refuse_read_only(paths: Sequence[Path]) -> None:
    """Raises UsageError where files are to be made in a folder that cannot be written, before anything is changed."""
    for folder in dict.fromkeys(path.parent for path in paths):
        if not os.access(folder, os.W_OK | os.X_OK):
            raise UsageError(
                "nothing can be written in this folder, and nothing was changed",
                where=str(folder),
                next=f"make it writable (`chmod u+w {shell_word(folder)}`), or convert into another one: -o OUT",
            )


def _below(path: Path, root: Path) -> str:
    return os.path.relpath(path, root)


def _write(path: Path, data: bytes, like: Path | None) -> None:
    """Write a file in one rename, with the mode of another."""
    new = path.with_name(path.name + ".stackbuild-new")
    new.write_bytes(data)
    if like is not None:
        new.chmod(like.stat().st_mode & 0o7777)
    new.replace(path)
