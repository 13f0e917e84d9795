"""Which files of a source tree a run converts, and where each goes in the output."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stackbuild.core.errors import UsageError
from stackbuild.core.folder_walk import is_folder
from stackbuild.hipify.model import NOT_CONVERTED
from stackbuild.hipify.rules.rules import glob
from stackbuild.hipify.tree.state import STATE, made_in
from stackbuild.model.findings import Finding, Severity

SUFFIXES = frozenset(
    ".cu .cuh .c .cc .cpp .cxx .c++ .h .hh .hpp .hxx .h++ .inl .inc .ipp .tpp .txx .cppm .hip".split()  # noqa: SIM905
)
MAX_BYTES = 64 << 20
SKIPPED_FOLDERS = frozenset((".git", ".hg", ".svn", "__pycache__"))
_LOOKED_AT = 32 << 10
"""Bytes of a file without a suffix that are looked at: more than any licence at its top."""
_COMMENTS = re.compile(rb"(?:\s|//[^\n]*\n|/\*.*?\*/)*", re.S)
_HEADER = re.compile(
    rb"#[ \t]*(?:pragma[ \t]+once\b|include[ \t]*[<\"][^>\"\n]+[>\"]"
    rb"|if(?:ndef[ \t]+|[ \t]*![ \t]*defined[ \t]*\(?[ \t]*)(\w+)[^\n]*\n(?:\s|//[^\n]*\n|/\*.*?\*/)*#[ \t]*define[ \t]+\1\b)",
    re.S,
)
_MAKEFILE = re.compile(r"(?:GNU)?make(?:file)?(?:[.-][\w.-]*)?\.inc", re.I)
"""A part of a makefile under a suffix of C++'s."""
_KINDS = {
    stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a character device", stat.S_IFBLK: "a block device",
    stat.S_IFDIR: "a folder",
}  # fmt: skip


@dataclass(frozen=True)
class SourceSelection:
    """What a run converts and where to: files and folders, the globs that choose among their files, and the output.

    `is_folder` says that `out` is written as a folder, such as `hip/`. `has_rest`: everything else below a folder is copied too, so
    that the output builds as the source does.
    """

    sources: tuple[Path, ...]
    out: Path
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    is_folder: bool = False
    has_rest: bool = False

    def has(self, name: str) -> bool:
        """Whether the globs choose a file, by its name in rules and in the report."""
        if self.include and not any(glob(g).fullmatch(name) for g in self.include):
            return False
        return not any(glob(g).fullmatch(name) for g in self.exclude)


@dataclass(frozen=True)
class ConversionJob:
    """One file: where it is, what it is called in the report and in rules, and where it goes.

    `root` is which of the sources it came from, `below` its path in that, "" where that is the file itself. What `is_rest` is copied
    as it is.
    """

    source: Path
    name: str
    output: Path
    root: Path
    below: str = ""
    is_rest: bool = False


@dataclass(frozen=True)
class Walk:
    """The files of a run into `out`, and a finding for each entry that is named like a source but is not a file."""

    jobs: list[ConversionJob]
    skipped_files: tuple[Finding, ...]
    out: Path


def walk(selection: SourceSelection) -> Walk:
    """The files of a selection in order of their names. Outputs of this and of other runs are never read.

    A single file goes to `out` itself, unless that is a folder, is written as one or has no suffix. The files of a single
    folder keep their places below `out`. Of several sources each goes below its own name. A source that is given twice
    counts once. Raises UsageError.
    """
    out = selection.out
    sources = list({_check(source, out): source for source in selection.sources}.values())
    if len(sources) == 1 and sources[0].is_file():
        return Walk([_single(sources[0], out, selection.is_folder)], (), out)
    skipped_files: dict[str, Finding] = {}
    roots = tuple((source if source.is_dir() else source.parent).resolve() for source in sources)
    jobs = [
        job
        for source in sources
        for job in _below(source, selection, len(sources) > 1, skipped_files)
        if not _leads_out(job, roots, skipped_files)
    ]
    jobs_to_run = [job for job in jobs if not job.is_rest and selection.has(job.name)]
    findings = tuple(f for name, f in sorted(skipped_files.items()) if selection.has(name))
    if not jobs_to_run and not findings:
        what = (
            f"none of its {len(jobs)} C, C++ and CUDA files is picked"
            if jobs
            else f"there is no C, C++ or CUDA file in it beside {out} and what other runs of hipify wrote"
        )
        advice = (
            "fix the globs of what to include and exclude"
            if jobs
            else "give the folder of the CUDA sources, and an OUT beside it"
        )
        raise UsageError(what, where=", ".join(map(str, sources)), next=advice)
    if selection.has_rest:
        converted_names = {job.name for job in jobs_to_run}
        jobs_to_run += [replace(job, is_rest=True) for job in jobs if job.name not in converted_names]
    refuse_collisions(jobs_to_run)
    _refuse_overwriting(jobs_to_run)
    return Walk(sorted(jobs_to_run, key=lambda job: job.name), findings, out)


def _check(source: Path, out: Path) -> Path:
    """The source's real path. Raises UsageError for one that cannot be a source, or lies in the output."""
    try:
        mode = source.stat().st_mode
        inner, outer = source.resolve(), out.resolve()
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: a loop of links
        if isinstance(error, FileNotFoundError):
            what = "the link leads nowhere" if source.is_symlink() else "there is no such file or folder"
            raise UsageError(what, where=str(source), next="check the path") from error
        raise UsageError(f"cannot be read: {error}", where=str(source), next="check the path") from error
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        kind = _KINDS.get(stat.S_IFMT(mode), "no file")
        raise UsageError(f"it is {kind}", where=str(source), next="name CUDA or C++ sources, or their folder")
    if inner == outer or (stat.S_ISDIR(mode) and outer in inner.parents):
        raise UsageError(
            f"the output {out} would overwrite the source", where=str(source), next="give a folder beside or below it"
        )
    return inner


def _single(source: Path, out: Path, is_folder: bool) -> ConversionJob:
    is_folder = is_folder or out.is_dir() or not out.suffix
    job = ConversionJob(source, source.name, out / source.name if is_folder else out, source)
    _refuse_overwriting([job])
    return job


def _refuse_overwriting(jobs_to_run: list[ConversionJob]) -> None:
    """Raises UsageError where an output would be one of the sources that were given."""
    sources = {job.source.resolve() for job in jobs_to_run if not job.below}
    for job in jobs_to_run if sources else ():
        if job.output.resolve() in sources:
            what = f"the output {job.output} would overwrite the source"
            raise UsageError(what, where=str(job.source), next="give another folder")


def _below(
    source: Path, selection: SourceSelection, several: bool, skipped_files: dict[str, Finding]
) -> Iterator[ConversionJob]:
    out = selection.out
    if source.is_file():
        yield ConversionJob(source, source.name, out / source.name, source)
        return
    prefix = f"{source.resolve().name}/" if several else ""
    output_folder = out.resolve()
    folders = [""]
    outputs: set[str] = set()
    while folders:
        below = folders.pop()
        here = source / below
        try:
            entries = sorted(os.scandir(here), key=lambda entry: entry.name)
        except OSError as error:
            name = prefix + below
            skipped_files[name] = _unreadable(name.rstrip("/") or str(source), error)
            continue
        if any(entry.name == STATE for entry in entries):
            outputs.update(below + path for path in made_in(here, only_beside=not below))
        names, inner = _sort_entries(entries, below, prefix, skipped_files)
        folders += [f"{below}{name}/" for name in reversed(inner) if _is_walked(source / below / name, output_folder)]
        for name in names:
            if below + name not in outputs:
                relative = prefix + below + name
                yield ConversionJob(here / name, relative, out / relative, source, below + name)
        for name in _others(entries, names) if selection.has_rest else ():
            if below + name not in outputs:
                relative = prefix + below + name
                yield ConversionJob(here / name, relative, out / relative, source, below + name, is_rest=True)


LEADS_OUT = "it is a link that leads out of SRC"


def _leads_out(job: ConversionJob, roots: tuple[Path, ...], skipped_files: dict[str, Finding]) -> bool:
    """Whether a file below a source is a link out of every source: it could lead to anything on this machine."""
    if not job.below or not job.source.is_symlink():
        return False
    place = job.source.resolve()
    if any(place.is_relative_to(root) for root in roots):
        return False
    skipped_files[job.name] = not_converted(job.name, LEADS_OUT, "what lies there is not part of the source")
    return True


def _others(entries: list[os.DirEntry[str]], sources: list[str]) -> list[str]:
    """The names of a folder's other files: build files, data, scripts; links to files too, and none of hipify's own."""
    own = (STATE, *(f"{STATE}{suffix}" for suffix in (".lock", ".new")))
    return [entry.name for entry in entries if entry.name not in {*sources, *own} and entry.is_file()]


def _is_walked(folder: Path, output_folder: Path) -> bool:
    """Whether a folder is one of sources: not the output."""
    return folder.name not in SKIPPED_FOLDERS and (
        folder.name != output_folder.name or folder.resolve() != output_folder
    )


def _sort_entries(
    entries: list[os.DirEntry[str]], below: str, prefix: str, skipped_files: dict[str, Finding]
) -> tuple[list[str], list[str]]:
    """The names of a folder's sources and of the folders in it. Other entries named like a source go to `skipped_files`."""
    files: list[str] = []
    folders: list[str] = []
    for entry in entries:
        name = prefix + below + entry.name
        if entry.is_dir(follow_symlinks=False):
            folders.append(entry.name)
            continue
        suffix = os.path.splitext(entry.name)[1].lower()  # noqa: PTH122 (a thousand files: Path costs)
        if suffix not in SUFFIXES or _MAKEFILE.fullmatch(entry.name):
            if entry.is_symlink() and is_folder(entry):
                skipped_files[name] = _link(name)
            elif not suffix and _is_header(entry):
                files.append(entry.name)
            continue
        if entry.is_file(follow_symlinks=False):
            files.append(entry.name)
            continue
        try:
            mode = entry.stat().st_mode
        except OSError as error:
            skipped_files[name] = _unreadable(name, error, dangling=entry.is_symlink())
            continue
        if stat.S_ISREG(mode):
            files.append(entry.name)
        else:
            skipped_files[name] = _no_file(name, mode)
    return files, folders


def _is_header(entry: os.DirEntry[str]) -> bool:
    """Whether a file without a suffix begins as a header does, after comments: such as Eigen's `Core`."""
    try:
        if not entry.is_file():
            return False
        with open(entry.path, "rb") as file:  # noqa: PTH123
            head = file.read(_LOOKED_AT)
    except OSError:
        return False
    comments = _COMMENTS.match(head)
    return b"\0" not in head and _HEADER.match(head, comments.end() if comments else 0) is not None


def _unreadable(name: str, error: OSError, dangling: bool = False) -> Finding:
    what = (
        "the link leads nowhere"
        if dangling and isinstance(error, FileNotFoundError)
        else f"cannot be read: {error.strerror}"
    )
    severity = Severity.WARNING if dangling else Severity.ERROR
    return not_converted(name, what, "it was left out of the output", severity)


def _no_file(name: str, mode: int) -> Finding:
    return not_converted(name, f"it is {_KINDS.get(stat.S_IFMT(mode), 'no file')}", "only files are converted")


def _link(name: str) -> Finding:
    what = "a link to a folder is not followed"
    return not_converted(name, what, "what it leads to is converted where it lies, if that is below SRC", Severity.NOTE)


def not_converted(name: str, message: str, why: str, severity: Severity = Severity.WARNING) -> Finding:
    """A finding for an entry of a source that no output is made of."""
    return Finding(NOT_CONVERTED, severity, name, message, why, "fix it, or leave it out with --exclude")


def origins(jobs: Sequence[ConversionJob], folder: Path) -> Mapping[Path, str]:
    """Each root's real path relative to that of the output folder: what tells one source's outputs from another's."""
    real = folder.resolve()
    return {root: os.path.relpath(root.resolve(), real) for root in dict.fromkeys(job.root for job in jobs)}


def refuse_collisions(jobs: list[ConversionJob]) -> None:
    """Raises UsageError where two sources would become one output."""
    by_output: dict[Path, ConversionJob] = {}
    for job in jobs:
        other = by_output.setdefault(job.output, job)
        if other is not job:
            what = f"{other.source} and {job.source} would both become {job.output}"
            raise UsageError(what, next="convert them into two folders")
