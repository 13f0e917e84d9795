"""The SBOM of a wheel: CycloneDX 1.6, the same bytes for the same inputs. It lies in `.dist-info/sboms/` (PEP 770)."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from stackbuild.core import digest
from stackbuild.model.materials import Material

if TYPE_CHECKING:
    from cyclonedx.model.component import Component

NAMESPACE = uuid.UUID("9c0f6a8e-5c77-4b63-8c64-1d8f4d3c2b10")
"""Of the serial numbers, which are version 5 UUIDs of what the SBOM says."""
FILE_NAME = "stackbuild.cdx.json"
_ALGORITHMS = {"sha256": "SHA-256", "sha1": "SHA-1"}
_SHIPPED_KINDS = ("bundled-library",)
"""Roles of what is in the wheel. All else went into it or is needed beside it."""


def sbom(distribution: str, version: str, license: str, materials: Sequence[Material], time: int) -> bytes:
    """The SBOM's JSON. `time` is in seconds since 1970; the materials are all that the wheel was made from and holds."""
    from cyclonedx.model import Property
    from cyclonedx.model.bom import Bom
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.model.license import LicenseExpression
    from cyclonedx.output.json import JsonV1Dot6
    from packageurl import PackageURL

    subject = Component(
        name=distribution,
        version=version,
        type=ComponentType.LIBRARY,
        bom_ref="subject",
        purl=PackageURL("pypi", None, distribution, version),
        licenses=[LicenseExpression(license)] if license else [],
    )
    rows = sorted(set(materials))
    parts = [_component(material) for material in rows]
    bom = Bom(components=parts)
    bom.metadata.component = subject
    bom.metadata.timestamp = datetime.fromtimestamp(time, UTC)
    bom.metadata.properties = [Property(name="stackbuild:sbom", value="1")]
    bom.register_dependency(subject, parts)
    bom.serial_number = uuid.uuid5(NAMESPACE, digest.of_value([distribution, version, digest.plain(tuple(rows))]))
    return JsonV1Dot6(bom).output_as_string(indent=1).encode() + b"\n"


def _component(material: Material) -> Component:
    from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, Property, XsUri
    from cyclonedx.model.component import Component, ComponentScope, ComponentType
    from packageurl import PackageURL

    hashes = [
        HashType(alg=HashAlgorithm(_ALGORITHMS[algorithm]), content=value)
        for algorithm, value in material.digests
        if algorithm in _ALGORITHMS
    ]
    properties = [Property(name="stackbuild:role", value=material.role)]
    properties += [
        Property(name=f"stackbuild:{algorithm}", value=value)
        for algorithm, value in material.digests
        if algorithm not in _ALGORITHMS
    ]
    references = []
    if "://" in material.uri:
        kind = ExternalReferenceType.VCS if material.uri.startswith("git+") else ExternalReferenceType.DISTRIBUTION
        references.append(ExternalReference(type=kind, url=XsUri(material.uri)))
    shipped, needed = material.role in _SHIPPED_KINDS, material.role == "external-library"
    scope = ComponentScope.REQUIRED if shipped or needed else ComponentScope.EXCLUDED
    return Component(
        name=material.name,
        version=material.version or None,
        type=ComponentType.LIBRARY if material.role != "base-image" else ComponentType.CONTAINER,
        bom_ref=digest.of_value(digest.plain(material))[:16],
        purl=PackageURL.from_string(material.purl) if material.purl else None,
        scope=scope,
        hashes=hashes,
        properties=properties,
        external_references=references,
    )
