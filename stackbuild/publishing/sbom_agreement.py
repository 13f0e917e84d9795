"""Whether the SBOM in a wheel says what the lock beside the wheel, and its provenance, say that it was made from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, get_args

from stackbuild.core import digest
from stackbuild.core.errors import RecipeError
from stackbuild.core.model import ValidationError
from stackbuild.model.materials import Role

if TYPE_CHECKING:
    from stackbuild.model.lock import Lock

IN_THE_WHEEL = ("bundled-library", "external-library")
"""Roles of what lies in a wheel or beside it where it runs; all others went into its build."""
ROLES = frozenset(get_args(Role))
_ALGORITHMS = {"SHA-256": "sha256", "SHA-1": "sha1"}
_OWN_DIGESTS = {"stackbuild:gitCommit": "gitCommit", "stackbuild:tree": "tree"}
DOCUMENT_KEYS = frozenset(
    ("$schema", "bomFormat", "components", "dependencies", "metadata", "serialNumber", "specVersion", "version")
)
SUBJECT_KEYS = frozenset(("bom-ref", "licenses", "name", "purl", "type", "version"))
COMPONENT_KEYS = frozenset(
    ("bom-ref", "externalReferences", "hashes", "name", "properties", "purl", "scope", "type", "version")
)
"""What `actions.sbom` writes."""
MISSING_SHOWN = 3
"""So many of what is missing are named."""


@dataclass(frozen=True, order=True)
class Part:
    """What a wheel was made from or holds, as a document names it. `digests` are pairs of algorithm and hex."""

    role: str
    name: str
    version: str
    digests: tuple[tuple[str, str], ...]


class SbomRefused(Exception):
    """What of an SBOM is not as stackbuild writes it; the text is for people."""


def sbom_problem(sbom: bytes, lock: bytes | None, statement: Mapping[str, Any] | None) -> str:
    """What of an SBOM contradicts the lock, or the provenance in that statement; "" for nothing.

    Without either it must list something: nothing is made from nothing. Which sources of a lock a wheel was built from says
    the provenance; where none does, it must be all of them.
    """
    try:
        parts = set(_parts(digest.unique_json_of(sbom.decode("utf-8"))))
        stated_parts = _stated_parts(statement) if statement else None
    except SbomRefused as refusal:
        return str(refusal)
    except (ValueError, TypeError, KeyError, AttributeError):
        return "its components cannot be read"
    if not parts:
        return "it lists nothing that the wheel was made from"
    if lock is not None and (problem := next(_lock_problems(parts, lock, stated_parts is None), "")):
        return f"it does not agree with the lock beside it: {problem}"
    if stated_parts is not None and (problem := _difference(_of_build(parts), _of_build(stated_parts))):
        return f"it does not agree with the wheel's provenance: {problem}"
    return ""


def _parts(document: Any) -> Iterator[Part]:
    _refuse_more(document, DOCUMENT_KEYS, "the document")
    subject = document.get("metadata", {}).get("component", {})
    _refuse_more(subject, SUBJECT_KEYS, "its subject")
    for row in document.get("components", []):
        name = row["name"]
        if not isinstance(name, str):
            raise ValueError("it is not a text")
        _refuse_more(row, COMPONENT_KEYS, f"the component {name}")
        properties = _unique((one["name"], one["value"]) for one in row.get("properties", []))
        hashes = _unique((one["alg"], one["content"]) for one in row.get("hashes", []))
        role = properties.pop("stackbuild:role", "")
        if role not in ROLES:
            raise SbomRefused(f"the component {name} has {f'the role {role!r}' if role else 'no role'}")
        if more := sorted({*properties} - {*_OWN_DIGESTS}) + sorted({*hashes} - {*_ALGORITHMS}):
            raise SbomRefused(f"the component {name} has {more[0]!r}, which stackbuild does not write")
        digests = {_ALGORITHMS[alg]: value for alg, value in hashes.items()}
        digests |= {_OWN_DIGESTS[key]: value for key, value in properties.items()}
        yield _part(role, name, row.get("version", ""), digests)


def _refuse_more(row: Mapping[str, Any], keys: frozenset[str], what: str) -> None:
    """What stackbuild does not write is not compared either: components within one, another list of them."""
    if more := sorted(row.keys() - keys):
        raise SbomRefused(f"{what} has {more[0]!r}, which stackbuild does not write")


def _unique(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    rows = list(pairs)
    table = dict(rows)
    if len(table) < len(rows):
        raise SbomRefused("a component has a property or a hash of one name twice")
    return table


def _stated_parts(statement: Mapping[str, Any]) -> set[Part] | None:
    """What the provenance says that the wheel was built from; None where it says nothing of it."""
    match statement:
        case {"predicate": {"buildDefinition": {"resolvedDependencies": list(rows)}}}:
            return {
                _part(row["annotations"]["role"], row["name"], row["annotations"]["version"], row["digest"])
                for row in rows
            }
    return None


def _part(role: Any, name: Any, version: Any, digests: Mapping[Any, Any]) -> Part:
    """Raises ValueError where one of them is not a text."""
    if not all(isinstance(text, str) for text in (role, name, version, *digests, *digests.values())):
        raise ValueError("it is not a text")
    return Part(role, name, version, tuple(sorted(digests.items())))


def _of_build(parts: Iterable[Part]) -> set[Part]:
    return {part for part in parts if part.role not in IN_THE_WHEEL}


def _difference(parts: set[Part], reference: set[Part]) -> str:
    if missing := sorted(reference - parts):
        names = ", ".join(part.name for part in missing[:MISSING_SHOWN])
        return f"{len(missing)} of {len(reference)} are left out, as {names}"
    if more := sorted(parts - reference):
        return f"{more[0].name} {more[0].version}".rstrip() + " is not in it"
    return ""


def _lock_problems(parts: set[Part], data: bytes, is_whole: bool) -> Iterator[str]:
    """`is_whole`: each source of the lock is among the parts; else they may be some of them, or none: a script needs none."""
    lock = read_lock(data)
    if lock is None:
        yield "the lock cannot be read"
        return
    packages = {Part("build-package", name, version, ()) for name, version in lock.packages.items()}
    if problem := _difference({part for part in parts if part.role == "build-package"}, packages):
        yield problem
    images = [part.digests for part in parts if part.role == "base-image"]
    if images != ([(("sha256", lock.image.removeprefix("sha256:")),)] if lock.image else []):
        yield "it names another base image"
    if is_whole and not any(part.role == "source" for part in parts):
        yield "it names no source"
    downloads = {
        (dep.url.rpartition("/")[2], tuple(dep.digest.split(":")))
        for deps in lock.deps.values()
        for dep in deps
        if dep.digest
    }
    files = frozenset((file.version, file.sha256) for file in lock.files.values())
    for part in sorted(parts):
        if part.role == "source" and (problem := _source_problem(part, lock, files)):
            yield problem
        if part.role == "dependency" and (
            not part.digests or not {(part.name, one) for one in part.digests} <= downloads
        ):
            yield f"{part.name} has another digest"
    if is_whole:
        sources = {name for name, _ in _locked_sources(parts)}
        digests = {value for _, value in _locked_sources(parts)}
        left_out = [name for name in sorted(lock.commits) if name not in sources]
        left_out += [name for name, file in sorted(lock.files.items()) if file.sha256 not in digests]
        if left_out:
            yield f"the source {left_out[0]} is left out"


def _locked_sources(parts: Iterable[Part]) -> Iterator[tuple[str, str]]:
    return ((part.name, value) for part in parts if part.role == "source" for _, value in part.digests)


def _source_problem(part: Part, lock: Lock, files: Set[tuple[str, str]]) -> str:
    """A git source is in the lock by name and commit, a package among its `files` by version and digest. Archives and
    local folders are not in a lock, and have a digest."""
    match part.digests:
        case (("gitCommit", commit),) if lock.commits.get(part.name) != commit:
            return f"the source {part.name} is at the commit {commit[:12]}, which is not in it"
        case (("gitCommit", _),):
            return ""
        case _ if part.name in lock.commits:
            return f"the source {part.name} has no commit, or more than that"
        case (("sha256", sha256),) if part.version:
            return "" if (part.version, sha256) in files else f"the source {part.name} {part.version} is not in it"
        case ((("sha256" | "tree"), _),):
            return ""
    return f"the source {part.name} has no commit or digest, or more than one"


@lru_cache(8)
def read_lock(data: bytes) -> Lock | None:
    """The lock in those bytes; None for other bytes. Wheels of one release have the same one."""
    from stackbuild.model.lock import Lock  # with all of a recipe: a publish without a lock does not wait for it

    try:
        return Lock.from_text(data.decode("utf-8"), "lock")
    except (ValueError, RecipeError, ValidationError):
        return None
