"""From a path to Facts: open what is there, pass over each file once, and put together what the readers found."""

from __future__ import annotations

import gc
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from stackbuild.core.digest import of_file
from stackbuild.core.errors import UsageError
from stackbuild.core.folder_walk import walk_folders
from stackbuild.inspection.facts import Facts, Import, Kind, Problem, WheelMetadata
from stackbuild.inspection.limits import ARCHIVE, HASHES, MEMBERS, METADATA, TEXT
from stackbuild.inspection.readers import archive, imports, log, policy, providers, wheel
from stackbuild.inspection.readers.budget import ReadBudget
from stackbuild.inspection.readers.byte_parser import LimitError, MalformedError
from stackbuild.inspection.readers.source import FileEntry, FileRange, LooseFile, open_file
from stackbuild.inspection.recognise import FactCollector, read_file
from stackbuild.inspection.summary import by_target

_METADATA_FILES = ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "variant.json")
_NEXT_FOLDER = (
    "name an unpacked wheel, an installation such as /opt/rocm, or a file: a wheel itself, a library, a build log"
)
_NEXT = "name a wheel, an unpacked folder, a shared library, a code object or a build log"


def inspect(path: Path) -> Facts:
    """Everything that can be read from a wheel, an unpacked folder, a shared library or a code object.

    Needs no GPU, no ROCm and no recipe. What cannot be read is among the facts' `problems`.
    Raises UsageError where there is nothing at `path` to read.
    """
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            with _no_collecting():
                return _folder(path)
        if not stat.S_ISREG(mode):
            raise UsageError("neither a file nor a folder", where=str(path), next=_NEXT)
        fd = open_file(path)
    except OSError as error:
        raise UsageError(error.strerror or "cannot be read", where=str(path), next=_NEXT) from None
    try:
        with _no_collecting():
            zipped = path.suffix == ".whl" or FileRange(fd, "", 0, 2).read(0, 2) == b"PK"
            return _wheel(path, fd) if zipped else _single(path, fd)
    except MalformedError as format_error:
        raise UsageError(str(format_error), where=str(path), next=_NEXT) from None
    finally:
        os.close(fd)


@contextmanager
def _no_collecting() -> Iterator[None]:
    """Without the cycle collector: a hundred thousand kernels hold no cycles, and looking for them costs a third more."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _wheel(path: Path, fd: int) -> Facts:
    collector = FactCollector(ReadBudget(os.fstat(fd).st_size))
    packaging: list[Problem] = []
    metadata = None
    try:
        files, packaging = archive.entries(fd, _version_text(Path(path.name)), collector.budget)
        metadata, wrong = _read_all(_version_text(Path(path.name)), files, collector)
        packaging = packaging + wrong
    except MalformedError as format_error:
        collector.add_problem(_version_text(Path(path.name)), format_error)
    return _facts(path, Kind.WHEEL, os.fstat(fd).st_size, of_file(path), metadata, collector, packaging)


def _folder(path: Path) -> Facts:
    collector = FactCollector()
    packaging: list[Problem] = []
    metadata = None
    try:
        files = list(_files(path, collector))
        collector.budget = ReadBudget(sum(entry.size for entry in files))
        metadata, packaging = _read_all("", files, collector)
        if not wheel.dist_info([entry.path for entry in files]):
            metadata, packaging = None, []
    except MalformedError as format_error:
        collector.add_problem(_version_text(Path(path.name)), format_error)
    if metadata is None and not (collector.has_something or collector.sources or packaging):
        raise UsageError(
            "the folder has no wheel's metadata, no library, no GPU code and no Python",
            where=str(path),
            next=_NEXT_FOLDER,
        )
    return _facts(path, Kind.FOLDER, sum(m.size for m in collector.members), "", metadata, collector, packaging)


def _single(path: Path, fd: int) -> Facts:
    size = os.fstat(fd).st_size
    if log.is_log(_version_text(Path(path.name))):
        return _log(path, fd, size)
    collector = FactCollector(ReadBudget(size))
    read_file(
        FileEntry(
            _version_text(Path(path.name)), size, size, None, FileRange(fd, _version_text(Path(path.name)), 0, size)
        ),
        collector,
        hash_kind="sha256",
    )
    if not collector.has_something:
        raise UsageError("neither a wheel, an ELF nor a code-object bundle", where=str(path), next=_NEXT)
    return _facts(path, Kind.FILE, size, collector.members[0].sha256, None, collector, [])


def _log(path: Path, fd: int, size: int) -> Facts:
    collector = FactCollector()
    build_log = None
    try:
        build_log = log.build_log(FileRange(fd, _version_text(Path(path.name)), 0, size))
    except MalformedError as format_error:
        collector.add_problem(_version_text(Path(path.name)), format_error)
    return replace(_facts(path, Kind.LOG, size, of_file(path), None, collector, []), log=build_log)


def _files(root: Path, collector: FactCollector) -> Iterator[FileEntry]:
    """The regular files under a folder in order of their names; links are left out, since what they name is read itself.

    What cannot be listed is a problem of the collected. Raises LimitError.
    """
    count = total = 0

    def add_unlisted(error: OSError) -> None:
        where = Path(error.filename or root)
        collector.add_problem(
            _version_text(where.relative_to(root)), MalformedError(f"cannot be read: {error.strerror}")
        )

    for folder, folders, names in walk_folders(root, add_unlisted):
        folders.sort()
        for name in sorted(names):
            file = Path(folder, name)
            try:
                status = file.lstat()
            except OSError as error:
                add_unlisted(error)
                continue
            if not stat.S_ISREG(status.st_mode):
                continue
            count, total = count + 1, total + status.st_size
            if count > MEMBERS or total > ARCHIVE:
                raise LimitError(f"more than {MEMBERS} files, or more than {ARCHIVE} bytes in them")
            inside = _version_text(file.relative_to(root))
            yield FileEntry(inside, status.st_size, status.st_size, None, LooseFile(file, inside, status.st_size))


def _version_text(path: Path) -> str:
    """A path as text that can be printed: bytes that are not UTF-8 become U+FFFD."""
    return os.fsencode(path).decode("utf-8", "replace")


def _read_all(filename: str, entries: list[FileEntry], collector: FactCollector) -> tuple[WheelMetadata, list[Problem]]:
    """Read the metadata first (it says which files are to be hashed), then every file."""
    paths = [entry.path for entry in entries if not entry.path.endswith("/")]
    folder = wheel.dist_info(paths, filename)
    texts = {}
    for entry in entries:
        if entry.path in {f"{folder}/{name}" for name in _METADATA_FILES} and entry.source:
            texts[entry.path] = _text(entry, collector)
    metadata, problems = wheel.wheel(filename, paths, texts, collector.add_problem)
    hashed_files = {row.path: kind for row in metadata.record if (kind := row.hash.partition("=")[0]) in HASHES}
    for entry in entries:
        if not entry.path.endswith("/"):
            read_file(entry, collector, hash_kind=hashed_files.get(entry.path, ""))
    return metadata, problems


def _text(entry: FileEntry, collector: FactCollector) -> bytes:
    most = TEXT if entry.path.endswith("/RECORD") else METADATA
    if entry.size > most:
        collector.add_problem(entry.path, LimitError(f"{entry.size} bytes of metadata; at most {most} are read"))
        return b""
    try:
        return b"".join(entry.source.chunks()) if entry.source else b""
    except MalformedError:
        return b""  # read_file meets it again and says so


def _facts(
    path: Path,
    kind: Kind,
    size: int,
    sha256: str,
    wheel_metadata: WheelMetadata | None,
    collector: FactCollector,
    packaging: list[Problem],
) -> Facts:
    tags = (
        {tag.rsplit("-", 1)[-1] for tag in (*wheel_metadata.filename_tags, *wheel_metadata.wheel_tags)}
        if wheel_metadata
        else set()
    )
    libraries = tuple(collector.libraries)
    return Facts(
        path=_version_text(path), kind=kind, size=size, sha256=sha256, wheel=wheel_metadata, members=tuple(collector.members), libraries=libraries,
        device=tuple(collector.device), targets=by_target(collector.device), policy=policy.satisfied_policy(libraries, tags), providers=providers.providers(libraries),
        extras=tuple(collector.extras), texts=tuple(collector.texts), imports=_imports(wheel_metadata, collector), problems=tuple(collector.problems),
        packaging=tuple(packaging),
    )  # fmt: skip


def _imports(wheel_metadata: WheelMetadata | None, collector: FactCollector) -> tuple[Import, ...]:
    if wheel_metadata is None:
        return ()
    carried_modules = frozenset(name.split(".", 1)[0] for name in wheel_metadata.top_level)
    missing_imports = imports.missing(
        collector.sources, wheel_metadata.top_level, carried_modules, collector.budget, collector.add_problem
    )
    extensions = [
        Import(hit.path, "numpy") for hit in collector.texts if hit.kind == "numpy" and "numpy" not in carried_modules
    ]
    modules = {each.module for each in missing_imports}
    return missing_imports + tuple(each for each in extensions[:1] if each.module not in modules)
