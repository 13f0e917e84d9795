"""The group `index`: yank, status, signatures, check and rebuild of an index that stands. Published bytes stay."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from stackbuild.core import digest
from stackbuild.core.errors import UsageError
from stackbuild.core.packaging import InvalidVersion, Version, canonicalize_name
from stackbuild.core.plain_file import read_regular
from stackbuild.core.shell_words import shell_word
from stackbuild.publishing.catalog import Catalog, Project, ProjectStatus
from stackbuild.publishing.envelopes import envelope_text, read_envelope, signers
from stackbuild.publishing.generation import (
    CATALOG,
    CURRENT,
    add_page,
    generation_numbers,
    has_lost_catalog,
    read_catalog,
    read_state,
)
from stackbuild.publishing.index_file import no_folder
from stackbuild.publishing.index_numbers import IndexNumbers
from stackbuild.publishing.pages import pages
from stackbuild.publishing.placement import write_file
from stackbuild.publishing.publication import Publication
from stackbuild.publishing.recovery import recover_catalog
from stackbuild.publishing.signed_state import refuse_changed, refuse_differences, signed_snapshot
from stackbuild.publishing.snapshot import ENVELOPE, SNAPSHOT_TYPE, SUMS_SIGNATURE, sums_text
from stackbuild.publishing.ssh_keys import SigningKey, TrustedKey
from stackbuild.publishing.ssh_signatures import ssh_signature
from stackbuild.publishing.transaction import commit, locked_catalog, sign_statements

MAX_LOSSES = 5
"""So many pages that would change are named."""


def yank(
    index: Path, project: str, version: str, reason: str | None, publication: Publication = Publication()
) -> Catalog:
    """Mark all files of a version as yanked (PEP 592), or, where `reason` is None, as not yanked. The bytes stay.

    An installer takes a yanked file only where it was asked for by `==`. Raises UsageError for a version that is not there.
    """
    with locked_catalog(index) as catalog:
        refuse_changed(index, publication)
        name, project_row = _project(catalog, project, index)
        parsed_version = _version(version)
        files = [file for file in project_row.files.values() if Version(file.version) == parsed_version]
        if not files:
            raise UsageError(
                f"{name} has no version {version}",
                where=str(index),
                next=f"it has {', '.join(project_row.versions) or 'none'}",
            )
        if reason is None and all(file.yanked is None for file in files):
            raise UsageError(
                f"{name} {version} is not yanked",
                where=str(index),
                next="there is nothing to take back: nothing is changed",
            )
        for file in files:
            catalog = catalog.with_file(name, file.model_copy(update={"yanked": reason}))
        return commit(index, catalog, publication)


def set_status(
    index: Path, project: str, status: ProjectStatus, reason: str, publication: Publication = Publication()
) -> Catalog:
    """Set a project's status (PEP 792). The page of a quarantined project lists no file; the bytes stay."""
    with locked_catalog(index) as catalog:
        refuse_changed(index, publication)
        name, project_row = _project(catalog, project, index)
        changed_project = project_row.model_copy(update={"status": status, "reason": reason})
        return commit(index, catalog.with_project(name, changed_project), publication)


def sign(index: Path, publication: Publication) -> Catalog:
    """Sign the index as it stands anew, for `days` from now: before its signature expires."""
    with locked_catalog(index) as catalog:
        refuse_changed(index, publication)
        return commit(index, catalog, publication)


def cosign(
    index: Path,
    keys: tuple[SigningKey, ...],
    trusted_keys: tuple[TrustedKey, ...] = (),
    numbers: IndexNumbers | None = None,
    at_least: int = 0,
    root: str = "",
) -> Catalog:
    """Add signatures of more keys to those of a signed index; its number and its time stay.

    One of the signatures that are there must be of `trusted_keys`, or of one of the keys, and every file as it was signed. The
    SSHSIG of a new key is the next `SHA256SUMS.sig.N`. Raises UsageError, OSError.
    """
    with locked_catalog(index) as catalog:
        folder = (index / CURRENT).resolve()
        envelope = folder / ENVELOPE
        if not envelope.is_file():
            raise UsageError("the index is not signed", where=str(index), next="`stackbuild index sign` signs it")
        all_keys = (*trusted_keys, *(TrustedKey(key.blob) for key in keys))
        snapshot = signed_snapshot(index, all_keys, numbers, at_least, root)
        if datetime.now(UTC) >= snapshot.expires:
            raise UsageError(
                f"the signature of the index expired on {snapshot.expires:%Y-%m-%d %H:%M} UTC",
                where=str(index),
                next="sign it anew, without --add; the others add their signatures again",
            )
        refuse_differences(index, snapshot)
        before = read_state(index, ENVELOPE) or b""
        there = signers(before)
        sign_statements(index, catalog, keys)
        for place, key in enumerate((key for key in keys if key.fingerprint not in there), len(there) + 1):
            add_page(index, f"{SUMS_SIGNATURE}.{place}", ssh_signature(sums_text(snapshot), key))
        payload = bytes(read_envelope(before).payload)
        write_file(envelope, envelope_text(payload, SNAPSHOT_TYPE, keys, before))
        return catalog


def rebuild(index: Path, publication: Publication, accept_losses: bool = False) -> tuple[str, ...]:
    """Make the catalog again: from the last pages, from what lies beside the wheels they name, and from older states.

    A wheel that no page names stays unpublished. A line for each page that will not be what it was: refused unless
    `accept_losses`. Raises UsageError for that, and where the pages name no wheel that is there.
    """
    with locked_catalog(index, read=False):
        refuse_changed(index, publication, catalog=False)
        number = max([0, *generation_numbers(index)])
        catalog, losses = recover_catalog(index)
        if not any(project.files for project in catalog.projects.values()):
            raise UsageError(
                "no page of this index names a wheel that is there",
                where=str(index),
                next="publish the wheels to another folder: `stackbuild publish WHEEL… --to FOLDER`",
            )
        if losses and not accept_losses:
            more = f", and {len(losses) - MAX_LOSSES} more" if len(losses) > MAX_LOSSES else ""
            raise UsageError(
                f"the catalog cannot be had back whole: {', '.join(losses[:MAX_LOSSES])}{more}",
                where=str(index),
                next=f"put {index / CURRENT / CATALOG} back from a copy; or add `--accept-losses`, and yank and quarantine"
                " again what is offered then",
            )
        commit(index, catalog.model_copy(update={"number": number}), publication)
        return losses


def damages(index: Path) -> tuple[str, ...]:
    """What differs from the catalog: every wheel and file beside it is read. A line each. Raises UsageError without a folder."""
    if not index.is_dir():
        raise no_folder(index)
    catalog = read_catalog(index)
    if catalog is None:
        if has_lost_catalog(index):
            return (f"{index} has pages and no catalog: run `stackbuild index check {shell_word(index)} --rebuild`",)
        return (f"{index} has no catalog: it is not an index of stackbuild, or an older one; publish to it once",)
    lines = []
    for name, project in catalog.projects.items():
        for row in project.all_files:
            rows = [(row.path, row.sha256), (row.beside(f"{row.name}.metadata"), row.metadata_sha256)]
            rows += [(row.beside(one.name), one.sha256) for one in row.attached]
            for path, sha256 in rows:
                file = index / name / path
                if not file.is_file():
                    lines.append(f"{name}/{path} is missing")
                elif digest.of_file(file) != sha256:
                    lines.append(f"{name}/{path} has other bytes than were published")
    for path, data in pages(catalog).items():
        page = index / path
        if read_regular(page, len(data) + 1) != data:
            lines.append(f"{path} is not the page that the catalog makes")
    return tuple(lines)


def _project(catalog: Catalog, name: str, index: Path) -> tuple[str, Project]:
    """A project of the index and its normalised name, however `name` spells it. Raises UsageError where there is none."""
    normal = str(canonicalize_name(name))
    project = catalog.projects.get(normal)
    if project is None:
        raise UsageError(
            f"the index has no project {name}", where=str(index), next=f"it has {', '.join(catalog.projects) or 'none'}"
        )
    return normal, project


def _version(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:
        raise UsageError(f"{text!r} is not a version", next="write it as 1.0, or as 1.22.1+rocm.6.4") from None
