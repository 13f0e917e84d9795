"""Small wheels, keys and signed indexes for the tests of publishing."""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from stackbuild.core import digest
from stackbuild.model.findings import STATIC_RUNG, Rung, Status, Verification
from stackbuild.model.results import VERDICT_SCHEMA
from stackbuild.publishing.index import publish
from stackbuild.publishing.predicates import how_checked
from stackbuild.publishing.publication import Publication
from stackbuild.publishing.ssh_keys import SigningKey, load_signing_key
from stackbuild.publishing.statements import NAMES, ResourceDescriptor, lock_name, statement, statement_name

SMALL_LOCK = f'schema: 1\nasked: "{"0" * 64}"\npackages: {{g++: "1"}}\ncommits: {{demo: "{"a" * 40}"}}\n'
"""A lock of one package and one source."""


def small_sbom(*more: dict[str, object]) -> str:
    """An SBOM that agrees with `SMALL_LOCK`, and has more components."""
    rows = [("build-package", "g++", "1", ()), ("source", "demo", "v1", (("stackbuild:gitCommit", "a" * 40),))]
    components = [
        {
            "name": name,
            "version": version,
            "properties": [{"name": n, "value": v} for n, v in (("stackbuild:role", role), *properties)],
        }
        for role, name, version, properties in rows
    ]
    return json.dumps({"bomFormat": "CycloneDX", "specVersion": "1.6", "components": [*components, *more]})


def small_wheel(
    folder: Path,
    version: str = "1.0",
    content: str = "x",
    name: str = "demo-pkg",
    requires: tuple[str, ...] = (),
    sbom: str = "",
    headers: tuple[str, ...] = (),
    entries: tuple[tuple[str, str], ...] = (),
    description: str = "text",
) -> Path:
    """A pure wheel. `headers` are more lines of METADATA, `entries` more files in it: names with texts."""
    folder.mkdir(exist_ok=True, parents=True)
    stem = f"{name.replace('-', '_')}-{version}"
    path = folder / f"{stem}-py3-none-any.whl"
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {name}",
        f"Version: {version}",
        *(f"Requires-Dist: {r}" for r in requires),
        *headers,
        "",
        description,
    ]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name.replace('-', '_')}/__init__.py", content)
        archive.writestr(f"{stem}.dist-info/METADATA", "\n".join(lines))
        archive.writestr(
            f"{stem}.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        for entry, text in entries:
            archive.writestr(entry, text)
        if sbom:
            archive.writestr(f"{stem}.dist-info/sboms/stackbuild.cdx.json", sbom)
        names = [*archive.namelist(), f"{stem}.dist-info/RECORD"]
        archive.writestr(f"{stem}.dist-info/RECORD", "".join(f"{n},,\n" for n in names))
    return path


def wheel_variant(plain: Path, label: str, properties: object = None, **others: object) -> Path:
    """A variant of a plain wheel, beside it. By default it is for the GPU target that its label is."""
    path = plain.with_name(f"{plain.stem}-{label}.whl")
    provider = {"amd": {"plugin-api": "rocm_bootstrap.variant_provider:AMDVariantPlugin", "requires": ["rocm-bootstrap"]}}
    value = {
        "$schema": "https://variants-schema.wheelnext.dev/peps/825/v0.1.1.json",
        "default-priorities": {"namespace": ["amd"]},
        "providers": provider,
        "variants": {label: {"amd": {"gfx_arch": [label]}} if properties is None else properties},
        **others,
    }
    with zipfile.ZipFile(plain) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith("/RECORD"):
                folder = name.rpartition("/")[0]
                new.writestr(f"{folder}/variant.json", json.dumps(value))
                data += f"{folder}/variant.json,,\n".encode()
            new.writestr(name, data)
    return path


def new_key(folder: Path, name: str = "release") -> tuple[SigningKey, Path]:
    """A fresh key in the files that `ssh-keygen -t ed25519` would write: loaded, and the path of its public half."""
    folder.mkdir(exist_ok=True, parents=True)
    path = folder / name
    private = Ed25519PrivateKey.generate()
    form = serialization.PrivateFormat.OpenSSH
    path.write_bytes(private.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    path.chmod(0o600)
    public = private.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    path.with_suffix(".pub").write_text(f"{public.decode()} {name}\n")
    return load_signing_key(path), path.with_suffix(".pub")


def descriptor_of(wheel: Path) -> ResourceDescriptor:
    return ResourceDescriptor(wheel.name, digest.of_file(wheel))


def verdict_document(**gate: object) -> dict[str, object]:
    """A verdict of one gate that passed, unless `gate` says otherwise, as `gate --verdict` writes it."""
    row = {"gate": "speed", "case": "case", "outcome": "PASS", "says": "1.0"} | gate
    return {"schema": VERDICT_SCHEMA, "digest": "0" * 64, "gates": [row]}


def put_statements(wheel: Path, skip: str = "no GPU here", name: str = "load") -> tuple[Path, ...]:
    """All three statements of a wheel, beside it: its static rules passed, and the rung of that name was skipped so."""
    rungs = (Rung(STATIC_RUNG, Status.PASSED, "", 0.0), Rung(name, Status.SKIPPED, skip, 0.0))
    claim = Verification(wheel.name, "", rungs).claim
    rows = [
        {"name": one.name, "how": how_checked(one.name, one.status), "result": str(one.status), "reason": one.reason}
        for one in rungs
    ]
    predicates: dict[str, object] = {
        "verification": {"claim": claim, "rungs": rows},
        "benchmarks": {"verdict": verdict_document(), "results": {"sha256": "0" * 64}},
        "provenance": {"kind": "provenance"},
    }
    if (lock := wheel.with_name(lock_name(wheel.name))).is_file():
        predicates["provenance"] = {"kind": "provenance", "buildDefinition": {"externalParameters": {"lockDigest": digest.of_file(lock)}}}
    made = []
    for kind, predicate_type in NAMES.items():
        path = wheel.with_name(statement_name(wheel.name, kind))
        path.write_bytes(statement([descriptor_of(wheel)], predicate_type, predicates[kind]))
        made.append(path)
    return tuple(made)


@dataclass(frozen=True)
class SignedIndex:
    folder: Path
    wheel: Path
    key: SigningKey
    public: Path


def signed_index(folder: Path) -> SignedIndex:
    """An index with one signed wheel that has an SBOM, its lock and all statements."""
    key, public = new_key(folder / "keys")
    wheel = small_wheel(folder / "wheels", sbom=small_sbom())
    lock = wheel.with_name(lock_name(wheel.name))
    lock.write_text(SMALL_LOCK)
    attached = {wheel: (lock, *put_statements(wheel))}
    publish((wheel,), folder / "simple", Publication(attachments=attached, keys=(key,)))
    return SignedIndex(folder / "simple", wheel, key, public)
