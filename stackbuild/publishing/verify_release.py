"""The verb `verify-release`: a signed index × trusted keys → ReleaseProof: what was checked, and every reason to refuse it.

Nothing of the index is parsed before its signatures are good. It needs no network.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from stackbuild.core import digest
from stackbuild.core.errors import UsageError
from stackbuild.publishing.index_file import THREADS, difference, read_file
from stackbuild.publishing.placement import METADATA_LIMIT
from stackbuild.publishing.signing import SignatureRefused, TrustedKey, verified_payload
from stackbuild.publishing.snapshot import ENVELOPE, ENVELOPE_LIMIT, SNAPSHOT_TYPE, Snapshot, read_snapshot
from stackbuild.publishing.statements import NAMES, STATEMENT_TYPE, envelope_name, read_statement, statement_name
from stackbuild.store import atomic

CLOCK_SKEW = timedelta(minutes=10)


@dataclass(frozen=True)
class WheelProof:
    """What is there of one wheel: `statements` are the kinds that are signed and name it."""

    file: str
    sha256: str
    statements: tuple[str, ...]
    sbom: bool
    claim: str


@dataclass(frozen=True)
class ReleaseProof:
    """What a verification of an index came to. `problems` is empty where nothing speaks against it."""

    index: str
    number: int
    expires: str
    signed_by: tuple[str, ...]
    files: int
    bytes: int
    wheels: tuple[WheelProof, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Trust:
    """Whom to believe: at least `threshold` of the keys. `seen` is the file with the numbers seen before, None for none.

    `require` are kinds of statements, or `sbom`, that each wheel must have.
    """

    keys: tuple[TrustedKey, ...]
    threshold: int = 1
    seen: Path | None = None
    require: tuple[str, ...] = ()


def verify_release(index: Path, trust: Trust, now: datetime | None = None) -> ReleaseProof:
    """Check a whole index. `now` is the time to check at. Raises UsageError where there is nothing to check."""
    moment = now or datetime.now(UTC)
    if not index.is_dir():
        raise UsageError("no such folder", where=str(index), next="give the folder of an index")
    if not 1 <= trust.threshold <= len(trust.keys):
        raise UsageError(
            f"{trust.threshold} signatures are asked for, and {len(trust.keys)} keys are trusted",
            next="give as many `--key` as `--threshold`, or more",
        )
    try:
        payload = _verified(index, ENVELOPE, SNAPSHOT_TYPE, trust, moment)
        snapshot = read_snapshot(payload)
    except SignatureRefused as refused:
        return _refused(index, f"{ENVELOPE}: {refused}")
    except ValueError as error:
        return _refused(index, f"{ENVELOPE}: {error}")
    problems = [*_untimely(snapshot, moment), *_seen_before(index, snapshot, payload, trust)]
    changed = _changed(index, snapshot)
    problems += [*changed.values(), *_unlisted(index, snapshot)]
    proofs = [
        _wheel(index, path, snapshot, path not in changed, trust, moment)
        for path in sorted(snapshot.files)
        if path.endswith(".whl")
    ]
    problems += [problem for _, wheel_problems in proofs for problem in wheel_problems]
    if not problems and trust.seen:
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
    )


def _refused(index: Path, problem: str) -> ReleaseProof:
    return ReleaseProof(str(index), 0, "", (), 0, 0, (), (problem,))


def _verified(index: Path, path: str, payload_type: str, trust: Trust, now: datetime) -> bytes:
    """The payload of a signed file. Raises SignatureRefused."""
    try:
        data = read_file(index, path, ENVELOPE_LIMIT)
    except FileNotFoundError:
        raise SignatureRefused("it is missing: the index is not signed, or the signature was taken away") from None
    except ValueError as error:
        raise SignatureRefused(str(error)) from None
    except OSError as error:
        raise SignatureRefused(f"it cannot be read: {error.strerror}") from None
    return verified_payload(data, payload_type, trust.keys, trust.threshold, now)


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
    place = digest.of_value([str(index.resolve()), sorted(key.fingerprint for key in trust.keys)])
    return [*([f"index {snapshot.index}"] if snapshot.index else []), place]


def _numbers(file: Path) -> dict[str, list[object]]:
    try:
        value = digest.json_of(file.read_text("utf-8"))
        if not isinstance(value, dict):
            raise ValueError("it is not a table of numbers")
        return value
    except FileNotFoundError:
        return {}
    except (ValueError, OSError) as error:
        raise UsageError(
            f"the numbers of indexes seen before cannot be read: {error}",
            where=str(file),
            next="remove the file if you know why it is damaged; a rollback is not seen then",
        ) from None


def _seen_before(index: Path, snapshot: Snapshot, payload: bytes, trust: Trust) -> Iterator[str]:
    if trust.seen is None:
        return
    match _numbers(trust.seen).get(_names(index, snapshot, trust)[0]):
        case [int(number), str()] if snapshot.number < number:
            yield f"the index has number {snapshot.number}, and number {number} was seen here before: it was rolled back"
        case [int(number), str(sha256)] if snapshot.number == number and sha256 != digest.of_bytes(payload):
            yield f"the index has two states under number {number}: this one is not the one that was seen before"


def _remember(index: Path, snapshot: Snapshot, payload: bytes, trust: Trust) -> None:
    assert trust.seen is not None
    trust.seen.parent.mkdir(parents=True, exist_ok=True)
    state = [snapshot.number, digest.of_bytes(payload)]
    numbers = {**_numbers(trust.seen), **dict.fromkeys(_names(index, snapshot, trust), state)}
    atomic.write_whole(trust.seen, json.dumps(numbers, indent=1), trust.seen.parent)


def _changed(index: Path, snapshot: Snapshot) -> dict[str, str]:
    """Each file that differs from the snapshot, with what differs in a line."""
    with ThreadPoolExecutor(THREADS) as pool:
        lines = pool.map(lambda path: difference(index, path, snapshot.files[path]), snapshot.files)
        return {path: line for path, line in zip(snapshot.files, lines, strict=True) if line}


def _unlisted(index: Path, snapshot: Snapshot) -> Iterator[str]:
    """Pages that installers would read and nobody signed."""
    for page in sorted([*index.glob("index.*"), *index.glob("[!.]*/index.*")]):
        if str(page.relative_to(index)) not in snapshot.files:
            yield f"{page.relative_to(index)} is a page that was not signed"


def _wheel(
    index: Path, path: str, snapshot: Snapshot, intact: bool, trust: Trust, now: datetime
) -> tuple[WheelProof, list[str]]:
    """What is there of a wheel, and what is wrong with it. One that is not `intact` has other bytes: it is not opened."""
    wheel, wanted = index / path, snapshot.files[path].sha256
    problems: list[str] = []
    kinds: list[str] = []
    claim = ""
    for kind, predicate_type in NAMES.items():
        beside = statement_name(path, kind)
        if beside not in snapshot.files:
            continue
        try:
            payload = _verified(index, envelope_name(beside), STATEMENT_TYPE, trust, now)
            if digest.of_bytes(payload) != snapshot.files[beside].sha256:
                raise SignatureRefused("the signed statement is not the one that lies beside the wheel")
            statement = read_statement(payload)
            subjects = {(one["name"], one["digest"]["sha256"]) for one in statement["subject"]}
            if subjects != {(wheel.name, wanted)}:
                raise SignatureRefused(
                    f"it is about {', '.join(sorted(name for name, _ in subjects))} of other bytes, not about {wheel.name}"
                )
            if statement["predicateType"] != predicate_type:
                raise SignatureRefused(f"it states {statement['predicateType']}, not {predicate_type}")
        except (SignatureRefused, ValueError) as refused:
            problems.append(f"{envelope_name(beside)}: {refused}")
            continue
        kinds.append(kind)
        claim = str(statement["predicate"].get("claim", claim))
    has_sbom, problem = _sbom(wheel, f"{path}.cdx.json", snapshot) if intact else (False, "")
    problems += [problem] if problem else []
    there = {*kinds, *(["sbom"] if has_sbom else [])}
    problems += [
        f"{path} has no {kind}, which is required"
        for kind in trust.require
        if kind not in there and (intact or kind != "sbom")
    ]
    return WheelProof(path, wanted, tuple(kinds), has_sbom, claim), problems


def _sbom(wheel: Path, beside: str, snapshot: Snapshot) -> tuple[bool, str]:
    """Whether the wheel has an SBOM, and what is wrong where the one inside is not the one beside it."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            inside = [
                one for one in archive.infolist() if one.filename.endswith(".dist-info/sboms/stackbuild.cdx.json")
            ]
            data = _content(archive, inside[0]) if inside else b""
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, RuntimeError, NotImplementedError) as error:
        return False, f"{wheel.name}: its SBOM cannot be read out of it: {error}"
    if not inside and beside not in snapshot.files:
        return False, ""
    if not inside or beside not in snapshot.files or digest.of_bytes(data) != snapshot.files[beside].sha256:
        return False, f"{beside}: the SBOM beside the wheel is not the one inside"
    return True, ""


def _content(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """The bytes of an entry. Raises ValueError where they are too many, or packed in a way that cannot be bounded."""
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"it is packed by method {entry.compress_type}, which no wheel is")
    if entry.file_size > METADATA_LIMIT:
        raise ValueError(f"it has more than {METADATA_LIMIT >> 20} MiB")
    with archive.open(entry) as file:
        return file.read(METADATA_LIMIT)
