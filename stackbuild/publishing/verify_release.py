"""The verb `verify-release`: a signed index × trusted keys → ReleaseProof: what was checked, and every reason to refuse it.

Nothing of the index is parsed before its signatures are good. It needs no network.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

from stackbuild.core import digest
from stackbuild.core.cancel import worker_threads
from stackbuild.core.errors import UsageError
from stackbuild.core.zip_member import read_member
from stackbuild.publishing.envelopes import SignatureRefused, good_signatures
from stackbuild.publishing.index_file import THREADS, difference, no_folder, open_file, read_file
from stackbuild.publishing.index_numbers import IndexNumbers, below
from stackbuild.publishing.placement import METADATA_LIMIT
from stackbuild.publishing.predicates import predicate_claim
from stackbuild.publishing.sbom_agreement import sbom_problem
from stackbuild.publishing.signed_state import places_of
from stackbuild.publishing.snapshot import (
    CLOCK_SKEW,
    ENVELOPE,
    ENVELOPE_LIMIT,
    SNAPSHOT_TYPE,
    SUMS,
    SUMS_SIGNATURE,
    Snapshot,
    index_name,
    read_snapshot,
    root_problem,
    sums_text,
)
from stackbuild.publishing.ssh_keys import TrustedKey
from stackbuild.publishing.ssh_signatures import is_ssh_signature
from stackbuild.publishing.statements import (
    NAMES,
    STATEMENT_TYPE,
    ResourceDescriptor,
    envelope_name,
    format_problem,
    lock_name,
    locked_by,
    read_statement,
    refuse_subjects,
    statement_name,
)
from stackbuild.publishing.unsigned_files import MAX_SIGNATURES, SSHSIG_LIMIT, SUMS_LIMIT, TrustedIndex, unsigned_files

LOCK_LIMIT = 16 << 20
"""Bytes of a lock beside a wheel that are read at most."""
NEXT_WITHOUT_NUMBERS = (
    "give `--seen FILE` in a folder that can be written, or `--no-seen`: the index itself was found as it was signed"
)


@dataclass(frozen=True)
class WheelProof:
    """What is there of one wheel: `statements` are the kinds that are signed and name it.

    `lock` says whether the lock lies beside it that it was built under.
    """

    file: str
    sha256: str
    statements: tuple[str, ...]
    sbom: bool
    claim: str
    lock: bool = False


@dataclass(frozen=True)
class ReleaseProof:
    """What a verification of an index came to. `problems` is empty where nothing speaks against it.

    `root` is the name that it was signed under and `url` the address that it was signed for, "" for none.
    """

    index: str
    number: int
    expires: str
    signed_by: tuple[str, ...]
    files: int
    bytes: int
    wheels: tuple[WheelProof, ...]
    problems: tuple[str, ...]
    root: str = ""
    url: str = ""


@dataclass(frozen=True)
class Trust:
    """Whom to believe: at least `threshold` of the keys. `numbers_file` is the file with the numbers seen before, None for none.

    `require` are kinds of statements, `sbom` or `lock`, that each wheel must have. A state of the index with a number below
    `at_least` is refused, and so is an index that was signed under another name than `root` or for another address than `url`.
    """

    keys: tuple[TrustedKey, ...]
    threshold: int = 1
    numbers_file: Path | None = None
    require: tuple[str, ...] = ()
    at_least: int = 0
    root: str = ""
    url: str = ""


def verify_release(index: Path, trust: Trust, now: datetime | None = None) -> ReleaseProof:
    """Check a whole index. `now` is the time to check at. Raises UsageError where there is nothing to check."""
    moment = now or datetime.now(UTC)
    if not index.is_dir():
        raise no_folder(index)
    if not 1 <= trust.threshold <= len(trust.keys):
        raise UsageError(
            f"{trust.threshold} signatures are asked for, and {len(trust.keys)} keys are trusted",
            next="give as many `--key` as `--threshold`, or more",
        )
    try:
        payload = _verify_payload(index, ENVELOPE, SNAPSHOT_TYPE, trust, moment)
        snapshot = read_snapshot(payload)
    except SignatureRefused as refusal:
        return _refusal(index, f"{ENVELOPE}: {refusal}")
    except ValueError as error:
        return _refusal(index, f"{ENVELOPE}: {error}")
    problems = [
        *_place_problems(index, snapshot, trust),
        *_untimely(snapshot, moment),
        *_seen_before(index, snapshot, payload, trust),
    ]
    changed_files = _changed_files(index, snapshot)
    problems += [
        *changed_files.values(),
        *_sums(index, snapshot, trust),
        *unsigned_files(TrustedIndex(index, snapshot, trust.keys, trust.threshold, moment)),
    ]
    proofs = [
        _wheel(index, path, snapshot, path not in changed_files, trust, moment)
        for path in sorted(snapshot.files)
        if path.endswith(".whl")
    ]
    problems += [problem for _, wheel_problems in proofs for problem in wheel_problems]
    if not problems and trust.numbers_file:
        _remember(index, snapshot, payload, trust)
    return ReleaseProof(
        str(index),
        snapshot.number,
        f"{snapshot.expires:%Y-%m-%dT%H:%M:%SZ}",
        tuple(key.fingerprint for key in trust.keys),
        len(snapshot.files),
        sum(file.size for file in snapshot.files.values()),
        tuple(wheel for wheel, _ in proofs),
        tuple(problems),
        snapshot.root,
        snapshot.url,
    )


def _refusal(index: Path, problem: str) -> ReleaseProof:
    return ReleaseProof(str(index), 0, "", (), 0, 0, (), (problem,))


def _verify_payload(index: Path, path: str, payload_type: str, trust: Trust, now: datetime) -> bytes:
    """The payload of a signed file. Raises SignatureRefused."""
    try:
        data = read_file(index, path, ENVELOPE_LIMIT)
    except FileNotFoundError:
        raise SignatureRefused("it is missing: the index is not signed, or the signature was taken away") from None
    except ValueError as error:
        raise SignatureRefused(str(error)) from None
    except OSError as error:
        raise SignatureRefused(f"it cannot be read: {error.strerror}") from None
    return good_signatures(data, payload_type, trust.keys, now).payload_of(trust.threshold)


def _place_problems(index: Path, snapshot: Snapshot, trust: Trust) -> Iterator[str]:
    """Another index of the same key, in the place of the one that is asked for."""
    if problem := root_problem(snapshot, trust.root, places_of(index)):
        yield f"{problem}: another index of this key lies in its place"
    if trust.url and snapshot.url != trust.url.rstrip("/"):
        yield (
            f"the index was signed for {snapshot.url or 'no address'}, and {trust.url} is expected: another index of this"
            " key lies in its place"
        )


def _untimely(snapshot: Snapshot, now: datetime) -> Iterator[str]:
    if now >= snapshot.expires:
        yield f"the signature of the index expired on {snapshot.expires:%Y-%m-%d %H:%M} UTC: it may be an old state, served again"
    if now + CLOCK_SKEW < snapshot.issued:
        yield (
            f"the index was signed at {snapshot.issued:%Y-%m-%d %H:%M} UTC, which is after this machine's time"
            f" ({now:%Y-%m-%d %H:%M}): one of the two clocks is wrong"
        )


def _names(index: Path, snapshot: Snapshot, trust: Trust) -> list[str]:
    """The index in the file of numbers: by its own name, wherever it lies and whoever is trusted, and by its place.

    A snapshot of an older version has no name; such an index is known by its place and its keys.
    """
    keys = sorted(key.fingerprint for key in trust.keys)
    return [*index_name(snapshot), *(digest.of_value([place, keys]) for place in places_of(index))]


def _seen_before(index: Path, snapshot: Snapshot, payload: bytes, trust: Trust) -> Iterator[str]:
    if problem := below(snapshot.number, trust.at_least):
        yield problem
        return
    if trust.numbers_file is None:
        return
    numbers = IndexNumbers(trust.numbers_file)
    if problem := numbers.place_problem(places_of(index), snapshot.index, snapshot.number):
        yield f"{problem}; if you have put it there: `--no-seen`, or `--seen FILE` with another file"
    for name in index_name(snapshot) or _names(index, snapshot, trust):
        if problem := numbers.problem(name, snapshot.number, digest.of_bytes(payload)):
            yield problem
            return


def _remember(index: Path, snapshot: Snapshot, payload: bytes, trust: Trust) -> None:
    assert trust.numbers_file is not None
    names = _names(index, snapshot, trust)
    numbers = IndexNumbers(trust.numbers_file, NEXT_WITHOUT_NUMBERS)
    numbers.remember(names, snapshot.number, digest.of_bytes(payload))
    numbers.remember_places(places_of(index), snapshot.index, snapshot.number)


def _changed_files(index: Path, snapshot: Snapshot) -> dict[str, str]:
    """Each file that differs from the snapshot, with what differs in a line."""
    with worker_threads(THREADS) as pool:
        lines = pool.map(lambda path: difference(index, path, snapshot.files[path]), snapshot.files)
        return {path: line for path, line in zip(snapshot.files, lines, strict=True) if line}


def _sums(index: Path, snapshot: Snapshot, trust: Trust) -> Iterator[str]:
    """What is wrong with the list that people check by hand."""
    try:
        if read_file(index, SUMS, SUMS_LIMIT) != sums_text(snapshot):
            yield f"{SUMS} is not the list of the files that were signed"
    except (OSError, ValueError) as error:
        yield f"{SUMS} {_reason(error)}"
    try:
        signature = read_file(index, SUMS_SIGNATURE, SSHSIG_LIMIT)
        paths = sorted(path.name for path in index.glob(f"{SUMS_SIGNATURE}.*") if path.exists())[:MAX_SIGNATURES]
        others = (read_file(index, path, SSHSIG_LIMIT) for path in paths)
        is_signed = any(is_ssh_signature(sums_text(snapshot), one, trust.keys) for one in chain([signature], others))
    except (OSError, ValueError) as error:
        yield f"{SUMS_SIGNATURE} {_reason(error)}"
        return
    if not is_signed:
        yield f"{SUMS_SIGNATURE} is not a signature of that list by a trusted key"


def _reason(error: OSError | ValueError) -> str:
    match error:
        case FileNotFoundError():
            return "is missing"
        case OSError():
            return f"cannot be read: {error.strerror}"
    return f"cannot be read: {error}"


def _wheel(
    index: Path, path: str, snapshot: Snapshot, intact: bool, trust: Trust, now: datetime
) -> tuple[WheelProof, list[str]]:
    """What is there of a wheel, and what is wrong with it. One that is not `intact` has other bytes: it is not opened."""
    wheel, sha256 = index / path, snapshot.files[path].sha256
    problems: list[str] = []
    kinds: list[str] = []
    claim, own_lock = "", ""
    origin: dict[str, Any] | None = None
    for kind, predicate_type in NAMES.items():
        beside = statement_name(path, kind)
        if beside not in snapshot.files:
            continue
        try:
            payload = _verify_payload(index, envelope_name(beside), STATEMENT_TYPE, trust, now)
            if digest.of_bytes(payload) != snapshot.files[beside].sha256:
                raise SignatureRefused("the signed statement is not the one that lies beside the wheel")
            statement = read_statement(payload)
            refuse_subjects(ResourceDescriptor(wheel.name, sha256), statement)
            if statement["predicateType"] != predicate_type:
                raise SignatureRefused(f"it states {statement['predicateType']}, not {predicate_type}")
            claim = predicate_claim(kind, statement["predicate"]) or claim
            own_lock = locked_by(statement) or own_lock
            origin = statement if kind == "provenance" else origin
        except (SignatureRefused, ValueError) as refusal:
            problems.append(f"{envelope_name(beside)}: {refusal}")
            continue
        kinds.append(kind)
    lock = snapshot.files.get(lock_name(path))
    has_sbom, problem = _sbom(index, path, snapshot, origin) if intact else (False, "")
    problems += [problem] if problem else []
    if lock and own_lock not in ("", lock.sha256):
        problems.append(f"{lock_name(path)}: it is not the lock that the wheel's provenance names")
    there = {*kinds, *(["sbom"] if has_sbom else []), *(["lock"] if lock else [])}
    problems += [
        f"{path} has no {kind}, which is required"
        for kind in trust.require
        if kind not in there and (intact or kind != "sbom")
    ]
    return WheelProof(path, sha256, tuple(kinds), has_sbom, claim, lock is not None), problems


def _sbom(index: Path, path: str, snapshot: Snapshot, origin: dict[str, Any] | None) -> tuple[bool, str]:
    """Whether the wheel has an SBOM, and what is wrong where the one inside is not the one beside it, or contradicts the lock
    beside the wheel or its provenance, `origin`."""
    beside = f"{path}.cdx.json"
    try:
        with os.fdopen(open_file(index, path), "rb") as file, zipfile.ZipFile(file) as archive:
            inside = [
                one for one in archive.infolist() if one.filename.endswith(".dist-info/sboms/stackbuild.cdx.json")
            ]
            data = read_member(archive, inside[0], METADATA_LIMIT) if inside else b""
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, RuntimeError, NotImplementedError) as error:
        return False, f"{Path(path).name}: its SBOM cannot be read out of it: {error}"
    if not inside and beside not in snapshot.files:
        return False, ""
    if not inside or beside not in snapshot.files or digest.of_bytes(data) != snapshot.files[beside].sha256:
        return False, f"{beside}: the SBOM beside the wheel is not the one inside"
    if problem := format_problem(data):
        return False, f"{beside}: {problem}"
    lock = _signed_lock(index, path, snapshot) if lock_name(path) in snapshot.files else None
    problem = sbom_problem(data, lock, origin)
    return not problem, f"{beside}: {problem}" if problem else ""


def _signed_lock(index: Path, path: str, snapshot: Snapshot) -> bytes | None:
    """The lock beside a wheel, b"" for one that is too long; None where it is not as it was signed, a problem of its own."""
    try:
        data = read_file(index, lock_name(path), LOCK_LIMIT)
    except OSError:
        return None
    except ValueError:
        return b""
    return data if digest.of_bytes(data) == snapshot.files[lock_name(path)].sha256 else None
