"""Whether the SBOM in a wheel says what the lock beside the wheel, and its provenance, say that it was made from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from stackbuild.core import digest
from stackbuild.core.errors import RecipeError
from stackbuild.core.model import ValidationError

if TYPE_CHECKING:
    from stackbuild.model.lock import Lock

IN_THE_WHEEL = ("bundled-library", "external-library")
"""Roles of what lies in a wheel or beside it where it runs; all others went into its build."""
_ALGORITHMS = {"SHA-256": "sha256", "SHA-1": "sha1"}
MISSING_SHOWN = 3
"""So many of what is missing are named."""


@dataclass(frozen=True, order=True)
class Part:
    """What a wheel was made from or holds, as a document names it. `digests` are pairs of algorithm and hex."""

    role: str
    name: str
    version: str
    digests: tuple[tuple[str, str], ...]


def sbom_problem(sbom: bytes, lock: bytes | None, statement: Mapping[str, Any] | None) -> str:
    """What of an SBOM contradicts the lock, or the provenance in that statement; "" for nothing.

    Without either it must list something: nothing is made from nothing.
    """
    try:
        parts = set(_parts(digest.json_of(sbom.decode("utf-8"))))
        stated_parts = _stated_parts(statement) if statement else None
    except (ValueError, TypeError, KeyError, AttributeError):
        return "its components cannot be read"
    if not parts:
        return "it lists nothing that the wheel was made from"
    if lock is not None and (problem := next(_lock_problems(parts, lock), "")):
        return f"it does not agree with the lock beside it: {problem}"
    if stated_parts is not None and (problem := _difference(_of_build(parts), _of_build(stated_parts))):
        return f"it does not agree with the wheel's provenance: {problem}"
    return ""


def _parts(document: Any) -> Iterator[Part]:
    for row in document.get("components", []):
        properties = {one["name"]: one["value"] for one in row.get("properties", [])}
        digests = {_ALGORITHMS.get(one["alg"], one["alg"]): one["content"] for one in row.get("hashes", [])}
        digests |= {
            name.removeprefix("stackbuild:"): value
            for name, value in properties.items()
            if name.startswith("stackbuild:") and name != "stackbuild:role"
        }
        yield _part(properties.get("stackbuild:role", ""), row["name"], row.get("version", ""), digests)


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


def _lock_problems(parts: set[Part], data: bytes) -> Iterator[str]:
    lock = read_lock(data)
    if lock is None:
        yield "the lock cannot be read"
        return
    packages = {Part("build-package", name, version, ()) for name, version in lock.packages.items()}
    named_packages = {Part(part.role, part.name, part.version, ()) for part in parts if part.role == "build-package"}
    if problem := _difference(named_packages, packages):
        yield problem
    images = {dict(part.digests).get("sha256", "") for part in parts if part.role == "base-image"}
    if images != ({lock.image.removeprefix("sha256:")} if lock.image else set()):
        yield "it names another base image"
    if not any(part.role == "source" for part in parts):
        yield "it names no source"
    downloads = {tuple(dep.digest.split(":")) for deps in lock.deps.values() for dep in deps if dep.digest}
    for part in sorted(parts):
        commit = dict(part.digests).get("gitCommit", "")
        if part.role == "source" and commit and commit not in lock.commits.values():
            yield f"the source {part.name} is at the commit {commit[:12]}, which is not in it"
        if part.role == "dependency" and not downloads.issuperset(part.digests):
            yield f"{part.name} has another digest"


@lru_cache(8)
def read_lock(data: bytes) -> Lock | None:
    """The lock in those bytes; None for other bytes. Wheels of one release have the same one."""
    from stackbuild.core import yaml
    from stackbuild.model.lock import Lock  # with all of a recipe: a publish without a lock does not wait for it

    try:
        return Lock.model_validate(yaml.compose(data.decode("utf-8"), "lock")[0])
    except (ValueError, RecipeError, ValidationError):
        return None
