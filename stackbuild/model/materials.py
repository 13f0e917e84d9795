"""Materials: what a wheel is built from, each with a digest where it has one. For its SBOM and its provenance."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from stackbuild.core import digest
from stackbuild.model.plan import Step

Role = Literal["source", "patches", "dependency", "build-package", "base-image", "bundled-library", "external-library"]


@dataclass(frozen=True, order=True)
class Material:
    """One of them. `purl` is a package URL (https://github.com/package-url/purl-spec) or "" where there is no type for it.

    `digests` are pairs of algorithm and hex: `sha256`, `sha1`, or `gitCommit`; `tree` is the digest of a folder as
    stackbuild's store has it.
    """

    role: Role
    name: str
    version: str
    uri: str
    purl: str = ""
    digests: tuple[tuple[str, str], ...] = ()


def materials_of(steps: Iterable[Step]) -> tuple[Material, ...]:
    """The materials that steps bring in, each once, sorted."""
    return tuple(sorted({material for step in steps for material in _of_step(step)}))


def materials_text(materials: tuple[Material, ...]) -> str:
    """Canonical JSON of materials, for a step's parameter."""
    return digest.canonical([[*digest.plain(material).values()] for material in materials])


def read_materials(text: str) -> tuple[Material, ...]:
    """The materials of such a text."""
    return tuple(
        Material(role, name, version, uri, purl, tuple((algorithm, value) for algorithm, value in digests))
        for role, name, version, uri, purl, digests in json.loads(text)
    )


def _of_step(step: Step) -> Iterator[Material]:
    params = dict(step.params)
    name = step.name.removeprefix("source.")
    match step.action:
        case "debian":
            suite = params["suite"]
            for key, version in params.items():
                package = key.removeprefix("package ")
                if package != key:
                    yield _debian(package, version, suite, "build-package")
        case "image":
            image = params["image"]
            yield Material("base-image", image, "", f"docker://{image}", "", _digest(params["digest"]))
        case "git":
            commit = params["commit"]
            uri = f"git+{params['url']}@{commit}"
            yield Material("source", name, params["ref"], uri, "", (("gitCommit", commit),))
        case "archive":
            is_locked = params["sha256"] != "unlocked"  # an open lock: nothing is built
            yield Material("source", name, "", params["url"], "", (("sha256", params["sha256"]),) if is_locked else ())
        case "package" if "debian" in params:
            yield _debian(params["debian"], params["version"], params["suite"], "source", params["sha256"])
        case "package":
            project, _, version = params["pypi"].partition("==")
            purl = f"pkg:pypi/{project.lower().replace('_', '-')}@{version}"
            yield Material("source", project, version, purl, purl, (("sha256", params["sha256"]),))
        case "snapshot":
            yield Material("source", name, "", f"file:{name}", "", (("tree", params["tree"]),))
        case "deps":
            for url, value in params.items():
                if not value.partition(":")[1]:  # an open lock: nothing is known of it, and nothing is built
                    continue
                yield Material("dependency", url.rpartition("/")[2], "", url, "", _digest(value))
    if patches := params.get("patches"):
        yield Material("patches", f"{name} patches", "", f"file:patches/{name}", "", (("tree", patches),))


def _debian(package: str, version: str, suite: str, role: Role, sha256: str = "") -> Material:
    """A Debian package. A purl keeps only unreserved characters and the colon of an epoch as they are."""
    quoted_version = version.replace("+", "%2B")
    purl = f"pkg:deb/debian/{package.partition(':')[0].replace('+', '%2B')}@{quoted_version}?distro={suite}"
    return Material(role, package, version, purl, purl, (("sha256", sha256),) if sha256 else ())


def _digest(text: str) -> tuple[tuple[str, str], ...]:
    algorithm, separator, value = text.partition(":")
    return ((algorithm, value),) if separator else ()
