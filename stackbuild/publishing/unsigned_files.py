"""What lies in a signed index and its signature does not name: each file and folder of it with a line.

stackbuild itself writes a few files that no snapshot lists: signatures, the lock, the catalog, the states below
`.generations`. Each of them is looked into as well: what is not as stackbuild makes it is named, too.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from stackbuild.core import digest
from stackbuild.core.folder_walk import walk_folders
from stackbuild.publishing.envelopes import SignatureRefused, good_signatures, signers
from stackbuild.publishing.generation import (
    CATALOG,
    CURRENT,
    GENERATIONS,
    LOCK_FILE,
    REMOTE_CATALOG,
    REMOTE_LOCK,
    STAGING_ENDING,
    STATE_LIMIT,
    generation_numbers,
)
from stackbuild.publishing.index_file import difference, read_file
from stackbuild.publishing.snapshot import (
    ENVELOPE,
    ENVELOPE_LIMIT,
    OWN_STAGED,
    SNAPSHOT_TYPE,
    SUMS,
    SUMS_SIGNATURE,
    Snapshot,
    read_snapshot,
    sums_text,
)
from stackbuild.publishing.ssh_keys import TrustedKey
from stackbuild.publishing.ssh_signatures import ssh_signer
from stackbuild.publishing.statements import STATEMENT_TYPE, envelope_name, is_statement
from stackbuild.publishing.variants import is_variants_list

SUMS_LIMIT = 64 << 20
"""Bytes of SHA256SUMS that are read at most."""
SSHSIG_LIMIT = 1 << 20
UNLISTED_SHOWN = 20
"""So many files that nobody signed are named."""
MAX_SIGNATURES = 100
"""So many files with an SSHSIG, and states before this one, are read: who serves the index could put millions there."""
_SIGNATURE_NAME = re.compile(rf"{re.escape(SUMS_SIGNATURE)}(\.([0-9]{{1,6}}))?")
_LOCK_TEXT = re.compile(rb"([0-9]{1,20}\n)?")


@dataclass(frozen=True)
class TrustedIndex:
    """The folder of an index, the snapshot that it serves, and whose signatures count at what time: `threshold` of the keys."""

    folder: Path
    snapshot: Snapshot
    keys: Sequence[TrustedKey]
    threshold: int = 1
    now: datetime = field(default_factory=lambda: datetime.now(UTC))


def unsigned_files(trusted_index: TrustedIndex) -> Iterator[str]:
    """A line for each file and folder in the index that nobody signed, and for each of stackbuild's own that is not as it makes it.

    A page among them is read by installers, a wheel by who looks into folders. Files of the state before may stay, as they
    were signed: the bytes of a wheel that was replaced. A page may not.
    """
    index, snapshot = trusted_index.folder, trusted_index.snapshot
    signed_paths = set(snapshot.files) | {envelope_name(path) for path in snapshot.files if is_statement(path)}
    closed_folders: list[str] = []
    lines: list[str] = []
    more = []
    for path in _files(index, signed_paths, closed_folders):
        if path in signed_paths:
            continue
        line = _own_problem(index, path, snapshot)
        if line is None:
            more.append(path)
        elif line:
            lines.append(line)
    yield from (f"{path} cannot be looked into" for path in closed_folders[:UNLISTED_SHOWN])
    yield from lines[:UNLISTED_SHOWN]
    before = _snapshots_before(trusted_index) if more else ()
    more = [path for path in more if _is_page(path) or not any(_was_signed(trusted_index, path, old) for old in before)]
    for path in more[:UNLISTED_SHOWN]:
        what = "is a page that" if _is_page(path) else "lies in the index and"
        yield f"{path} {what} was not signed"
    if len(more) > UNLISTED_SHOWN:
        yield f"{len(more) - UNLISTED_SHOWN} more files lie in the index and were not signed"
    yield from _state_problems(trusted_index)


def _is_page(path: str) -> bool:
    """Whether installers read a file of that path as a page or as a list of variants."""
    return Path(path).name.startswith("index.") or is_variants_list(path)


def _was_signed(trusted_index: TrustedIndex, path: str, old: Snapshot) -> bool:
    """Whether a file is as that state listed it, or is the envelope of a statement as that state listed it."""
    if path in old.files:
        return not difference(trusted_index.folder, path, old.files[path])
    statement = next((one for one in old.files if is_statement(one) and envelope_name(one) == path), None)
    if statement is None:
        return False
    try:
        data = read_file(trusted_index.folder, path, ENVELOPE_LIMIT)
        signatures = good_signatures(data, STATEMENT_TYPE, trusted_index.keys, trusted_index.now)
        payload = signatures.payload_of(trusted_index.threshold)
    except (SignatureRefused, ValueError, OSError):
        return False
    return digest.of_bytes(payload) == old.files[statement].sha256


def _files(index: Path, signed_paths: set[str], closed_folders: list[str]) -> list[str]:
    """The paths of all files and links below the index but its states, and of folders with nothing in them. No link is followed.

    Folders that cannot be listed are added to `closed_folders`.
    """
    signed_folders = {str(parent) for path in signed_paths for parent in Path(path).parents}
    paths = []
    for folder, names, files in walk_folders(index, lambda error: closed_folders.append(str(error.filename))):
        place = Path(folder)
        paths += [place / name for name in files]
        paths += [place / name for name in names if (place / name).is_symlink()]
        if not names and not files and str(place.relative_to(index)) not in signed_folders:
            paths.append(place)
        if place == index:
            names[:] = [name for name in names if name != GENERATIONS]
    return sorted(str(path.relative_to(index)) for path in paths)


def _own_problem(index: Path, path: str, snapshot: Snapshot) -> str | None:
    """What is wrong with a file that stackbuild itself writes; "" for nothing, None where the path is not of such a file."""
    name = Path(path).name
    if OWN_STAGED.fullmatch(name):
        return f"{path} was staged by a publisher that was killed or is at work, and was not signed"
    if name != path:
        return None
    if path in (ENVELOPE, SUMS):
        return ""  # both are checked by themselves
    if match := _SIGNATURE_NAME.fullmatch(path):
        return _signature_problem(index, path, int(match[2] or 1), snapshot)
    if path == LOCK_FILE:
        return _plain_problem(index, path)
    if path == CURRENT:
        return _link_problem(index, snapshot)
    if path == REMOTE_CATALOG:
        return _catalog_problem(index, path, snapshot)
    if path == REMOTE_LOCK:
        return f"{path} says that somebody published while this copy was made: copy the index again"
    return None


def _plain_problem(index: Path, path: str) -> str:
    """The lock is a file with the number of a process, or nothing."""
    try:
        is_file = stat.S_ISREG((index / path).lstat().st_mode)
        if is_file and _LOCK_TEXT.fullmatch(read_file(index, path, SSHSIG_LIMIT)):
            return ""
    except (OSError, ValueError):
        pass  # said below
    return f"{path} is not what stackbuild makes of that name"


def _link_problem(index: Path, snapshot: Snapshot) -> str:
    link = index / CURRENT
    state = Path(GENERATIONS, f"{snapshot.number:08d}")
    if link.is_symlink() and link.readlink() == state:
        return ""
    return f"{CURRENT} is not the link to {state} that stackbuild makes"


def _catalog_problem(index: Path, path: str, snapshot: Snapshot) -> str:
    """The catalog is the one that the pages were made of; a snapshot of an older version does not name it."""
    try:
        data = read_file(index, path, STATE_LIMIT)
    except (OSError, ValueError) as error:
        return f"{path} cannot be read: {getattr(error, 'strerror', None) or error}"
    return "" if snapshot.catalog in ("", digest.of_bytes(data)) else f"{path} is not the catalog that was signed"


def _signature_problem(folder: Path, path: str, place: int, snapshot: Snapshot) -> str:
    """A signature of the list is one by a key that signed the snapshot, too; there are no more of them than such keys."""
    try:
        envelope = read_file(folder, ENVELOPE, ENVELOPE_LIMIT)
        key = ssh_signer(sums_text(snapshot), read_file(folder, path, SSHSIG_LIMIT))
        if place > len(signers(envelope)):
            return f"{path} is a signature more than there are keys that signed the index"
        if key and good_signatures(envelope, SNAPSHOT_TYPE, (key,), datetime.now(UTC)).good:
            return ""
    except FileNotFoundError:
        return f"{path} leads nowhere: a publisher was killed or is at work"
    except (OSError, ValueError, SignatureRefused) as error:
        return f"{path} cannot be read: {getattr(error, 'strerror', None) or error}"
    return f"{path} is not a signature of that list by a key that signed the index"


def _snapshots_before(trusted_index: TrustedIndex) -> tuple[Snapshot, ...]:
    """The states of this index before this one that lie in the folder, signed as this one must be."""
    snapshot = trusted_index.snapshot
    folders = [*generation_numbers(trusted_index.folder).values()][-MAX_SIGNATURES:]
    states = (_signed_state(trusted_index, folder, trusted_index.threshold) for folder in folders)
    return tuple(state for state in states if state and state.index == snapshot.index and state.number < snapshot.number)


def _signed_state(trusted_index: TrustedIndex, folder: Path, threshold: int) -> Snapshot | None:
    """The snapshot in a state's folder; None where fewer of the keys signed it."""
    try:
        data = read_file(folder, ENVELOPE, ENVELOPE_LIMIT)
        signatures = good_signatures(data, SNAPSHOT_TYPE, trusted_index.keys, trusted_index.now)
        return read_snapshot(signatures.payload_of(threshold))
    except (SignatureRefused, ValueError, OSError):
        return None


def _state_problems(trusted_index: TrustedIndex) -> Iterator[str]:
    """What is wrong with the states below `.generations`: this one, and one before it that one of the keys has signed."""
    index, snapshot = trusted_index.folder, trusted_index.snapshot
    top = index / GENERATIONS
    if top.is_symlink() or not top.is_dir():
        return  # none in a copy of an object store; another thing of that name was named with the files
    states = set(generation_numbers(index).values())
    entries = sorted(top.iterdir())
    if len(entries) > MAX_SIGNATURES:
        yield f"{GENERATIONS} has {len(entries)} entries; stackbuild keeps two"
    for folder in entries[:MAX_SIGNATURES]:
        path = str(folder.relative_to(index))
        if folder not in states or folder.is_symlink() or not folder.is_dir():
            staged = folder.name.endswith(STAGING_ENDING)
            why = "was staged by a publisher that was killed or is at work" if staged else "lies in the index"
            yield f"{path} {why}, and was not signed"
            continue
        number = int(folder.name)
        state = _signed_state(trusted_index, folder, 1)
        if number > snapshot.number:
            yield (
                f"{path} is a later state than the one that is served, {snapshot.number}: the index was rolled back, or a"
                " publisher was killed before the switch"
            )
        elif number == snapshot.number and state not in (None, snapshot):
            yield f"{path} is another state under the number that is served"
        elif problem := _state_problem(trusted_index, folder, state):
            yield problem


def state_problem(trusted_index: TrustedIndex, folder: Path) -> str:
    """What is wrong with the folder of a state, the first of it; "" for nothing.

    One of the keys must have signed it, and it must be of the same index as the state that is served.
    """
    return _state_problem(trusted_index, folder, _signed_state(trusted_index, folder, 1))


def _state_problem(trusted_index: TrustedIndex, folder: Path, state: Snapshot | None) -> str:
    """What is wrong with the folder of that signed state, None where no key has signed it."""
    snapshot = trusted_index.snapshot
    path = folder.relative_to(trusted_index.folder)
    if state is None:
        return f"{path} is a state that no trusted key has signed; the next signature of the index takes it away"
    if state.number != int(folder.name):
        return f"{path} is the state with number {state.number}"
    if state.index != snapshot.index:
        other_root = f", {state.root}" if state.root not in ("", snapshot.root) else ""
        return f"{path} is a state of another index{other_root}"
    return next(_state_files(trusted_index.folder, folder, state), "")


def _state_files(index: Path, folder: Path, state: Snapshot) -> Iterator[str]:
    """What of a state's folder is not one of its pages as they were signed, nor a file that makes it signed."""
    for path in _files(folder, set(state.files), []):
        if path == CATALOG:
            problem = _catalog_problem(folder, path, state)
        elif path == SUMS:
            problem = _sums_problem(folder, state)
        elif match := _SIGNATURE_NAME.fullmatch(path):
            problem = _signature_problem(folder, path, int(match[2] or 1), state)
        elif (folder / path).is_symlink() or not (path == ENVELOPE or (path in state.files and _is_page(path))):
            problem = f"{path} lies in the index and was not signed"
        else:
            problem = "" if path == ENVELOPE else difference(folder, path, state.files[path])
        if problem:
            yield f"{folder.relative_to(index)}/{problem}"


def _sums_problem(folder: Path, state: Snapshot) -> str:
    try:
        if read_file(folder, SUMS, SUMS_LIMIT) == sums_text(state):
            return ""
    except (OSError, ValueError):
        pass  # said below
    return f"{SUMS} is not the list of the files that were signed"
