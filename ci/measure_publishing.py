"""The figures of docs/publishing.md: `.venv/bin/python ci/measure_publishing.py [--folder FOLDER]`.

One row a case, with the CPU seconds and the memory of the command, and its wall time, which a busy machine stretches:

- a small wheel onto an index of 1,000 wheels of 30 MB. They are sparse files: 30 GB by size, a few MB on the disk. Their
  digests are in the index's catalog, as they are after any publish. Each has an install line on its page, five
  requirements on others, and a description as stackbuild writes it;
- `verify-release` of 20 signed wheels with an SBOM of 200 packages, the lock that has them, and three statements each.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from stackbuild.actions.sbom import sbom
from stackbuild.bench.results_file import document
from stackbuild.core import digest
from stackbuild.core.digest import Json
from stackbuild.model.findings import STATIC_RUNG, Rung, Status, Verification
from stackbuild.model.materials import Material
from stackbuild.model.results import Verdict
from stackbuild.publishing.catalog import Catalog
from stackbuild.publishing.index import publish
from stackbuild.publishing.placement import plan_placement, read_wheel, write_file
from stackbuild.publishing.publication import Publication
from stackbuild.publishing.ssh_keys import SigningKey, load_signing_key
from stackbuild.publishing.statements import (
    ResourceDescriptor,
    benchmarks,
    lock_name,
    provenance,
    statement_name,
    verification,
)
from stackbuild.publishing.transaction import commit
from stackbuild.publishing.wheel_readme import readme

WHEELS, WHEEL_SIZE = 1000, 30 << 20
VERIFIED_WHEELS, VERIFIED_SIZE, PACKAGES = 20, 1 << 20, 200
ROUNDS = 5
REQUIREMENTS = [f"Requires-Dist: {one}" for one in ("numpy>=1.21.6", "flatbuffers", "packaging", "protobuf", "sympy")]
DESCRIPTION = readme("measured", "", "onnxruntime", "onnxruntime", ("gfx1100", "gfx942"), ("libamdhip64.so.7",))
GOALS = {"publish": (0.5, 150.0), "verify-release": (1.5, 0.0)}
"""CPU seconds and MB of memory that a case may take; 0 MB where none is set."""


@dataclass(frozen=True)
class CommandCost:
    """CPU seconds of user and system, wall seconds, and the highest memory in MB of one command."""

    cpu: float
    wall: float
    memory: float


def wheel(folder: Path, name: str, version: str, sbom: bytes = b"", size: int = 0) -> Path:
    """A pure wheel; `size` (bytes) is that of a file of random bytes in it."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{name.replace('-', '_')}-{version}"
    path = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *REQUIREMENTS, "", DESCRIPTION]
        archive.writestr(f"{stem}.dist-info/METADATA", "\n".join(lines))
        archive.writestr(f"{stem}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{stem}.dist-info/RECORD", "")
        archive.writestr(f"{name.replace('-', '_')}/data", os.urandom(size))
        if sbom:
            archive.writestr(f"{stem}.dist-info/sboms/stackbuild.cdx.json", sbom)
    return path


def large_index(index: Path, work: Path) -> None:
    """An index of sparse wheels; each has its row in the catalog."""
    catalog = Catalog(url="https://wheels.example.org/simple")
    for number in range(WHEELS):
        name = f"project-{number % 20}"
        plain = wheel(work, name, f"1.{number}")
        target = index / name / plain.name
        read = read_wheel(plain)
        plan = plan_placement(read, None, index / name, ())
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as file:
            file.truncate(WHEEL_SIZE)
        write_file(target.with_name(f"{target.name}.metadata"), read.metadata)
        status = target.stat()
        row = plan.row.model_copy(update={"size": status.st_size, "modified": status.st_mtime_ns})
        catalog = catalog.with_file(name, row)
    commit(index, catalog, Publication())


def signed_index(index: Path, work: Path, key: SigningKey) -> None:
    """Wheels with an SBOM, a lock and all three statements, signed."""
    files_of_wheel = {}
    source = Material("source", "measured", "v1", "", "", (("gitCommit", "a" * 40),))
    materials = (source, *(Material("build-package", f"package-{n}", f"1.{n}", "") for n in range(PACKAGES)))
    packages = "".join(f'  package-{n}: "1.{n}"\n' for n in range(PACKAGES))
    lock = f'schema: 1\nasked: "{"0" * 64}"\ncommits: {{measured: "{"a" * 40}"}}\npackages:\n{packages}'
    document_of_parts = sbom("measured", "1.0", "MIT", materials, 0)
    for number in range(VERIFIED_WHEELS):
        plain = wheel(work, f"verified-{number}", "1.0", document_of_parts, VERIFIED_SIZE)
        subject = ResourceDescriptor(plain.name, digest.of_file(plain))
        beside = [plain.with_name(lock_name(plain.name))]
        beside[0].write_text(lock)
        lock_digest: dict[str, Json] = {"lockDigest": digest.of_file(beside[0])}
        rungs = (Rung(STATIC_RUNG, Status.PASSED, "", 0.0),)
        contents = {
            "provenance": provenance(subject, lock_digest, materials, (), "0"),
            "verification": verification(subject, Verification(plain.name, subject.sha256, rungs)),
            "benchmarks": benchmarks(subject, {}, document(Verdict(()))),
        }
        for kind, data in contents.items():
            path = plain.with_name(statement_name(plain.name, kind))
            path.write_bytes(data)
            beside.append(path)
        files_of_wheel[plain] = tuple(beside)
    publish(tuple(files_of_wheel), index, Publication(attachments=files_of_wheel, keys=(key,)))


def measure(*words: str) -> CommandCost:
    """One run of stackbuild in a process of its own. Raises CalledProcessError."""
    command = [sys.executable, "-c", _CHILD, sys.executable, "-m", "stackbuild", *words]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    begin = time.monotonic()
    process = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    wall = time.monotonic() - begin
    cpu, memory = json.loads(process.stdout.splitlines()[-1])
    return CommandCost(cpu, wall, memory)


_CHILD = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss / 1000]))
sys.exit(done.returncode)
"""


def report(what: str, goal: str, figures: list[CommandCost]) -> None:
    seconds, megabytes = GOALS[goal]
    cpu = [figure.cpu for figure in figures]
    limit = f"goal {seconds} CPU-s" + (f", {megabytes:.0f} MB" if megabytes else "")
    print(
        f"{what}: {statistics.median(cpu):.2f} CPU-s median, {max(cpu):.2f} worst of {len(cpu)};"
        f" wall {max(figure.wall for figure in figures):.1f} s worst; {max(figure.memory for figure in figures):.0f} MB"
        f" of memory ({limit})",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("/var/tmp"), help="Where the indexes lie meanwhile.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="stackbuild-publishing-", dir=options.folder) as folder:
        work = Path(folder)
        private = Ed25519PrivateKey.generate()
        key_file = work / "release.key"
        key_file.write_bytes(
            private.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
            )
        )
        key_file.chmod(0o600)
        public = private.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
        (work / "release.pub").write_bytes(public + b" release\n")
        large_index(work / "large", work / "wheels")
        new = [wheel(work / "new", f"new-{number}", "1.0") for number in range(ROUNDS)]
        figures = [measure("publish", str(path), "--to", str(work / "large")) for path in new]
        report(f"publish a small wheel onto {WHEELS} wheels of {WHEEL_SIZE >> 20} MiB", "publish", figures)
        signed_index(work / "signed", work / "signed-wheels", load_signing_key(key_file))
        words = ("verify-release", str(work / "signed"), "--key", str(work / "release.pub"), "--no-seen")
        words += ("--require", "provenance,verification,benchmarks,sbom,lock")
        report(
            f"verify-release of {VERIFIED_WHEELS} wheels with SBOM and three statements",
            "verify-release",
            [measure(*words) for _ in range(ROUNDS)],
        )


if __name__ == "__main__":
    main()
