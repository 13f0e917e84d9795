"""Every parser of bytes that strangers write: what it is fed, and what it may raise.

A target takes bytes and returns; what it may refuse with, it swallows. Anything else that it raises is a loss.
"""

from __future__ import annotations

import base64
import json
import os
import struct
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from functools import cache, partial
from pathlib import Path
from random import Random

from campaign.mutation import spoil, spoilt_json
from stackbuild import judgement
from stackbuild.bench.gate import DEFAULT
from stackbuild.bench.results_file import document, read_benchmarks, read_verdict
from stackbuild.core import yaml
from stackbuild.core.errors import Stop, UsageError
from stackbuild.core.model import ValidationError
from stackbuild.inspection import Expectations, inspect, judge
from stackbuild.inspection.readers import (
    archive,
    bundle,
    ccob,
    codeobject,
    elf,
    imports,
    log,
    messagepack,
    tensile,
    wheel,
)
from stackbuild.inspection.readers.budget import ReadBudget
from stackbuild.inspection.readers.byte_parser import BackwardReadError, Feed, MalformedError, read_all
from stackbuild.inspection.readers.text_scan import TextScan
from stackbuild.inspection.readers.wheel_variant import wheel_variant
from stackbuild.model.gates import Gates
from stackbuild.pipeline.run_record import of_results
from stackbuild.publishing import envelopes, ssh_keys
from stackbuild.publishing.page_links import WheelLinks
from stackbuild.publishing.snapshot import read_snapshot, sums_text
from stackbuild.publishing.statements import ResourceDescriptor, StepOrigin, claim_about, provenance
from stackbuild.views.markdown import markdown
from support import binaries
from support.benchmark_results import measured, sealed
from support.binaries import GOOD, TARGETS, code_object, fatbin, kernel, library, record, without_sections, zipped

TODAY = date(2026, 11, 20)
WHOLE = 0.02
"""The share of whole commands: they take 20 times the CPU time of a parser, and half of that is rules and reports."""


@dataclass(frozen=True)
class ParserTarget:
    """One parser. `spoil` makes an input of a seeded generator; `parse` raises only on a loss.

    `share`: of the executions of a run. Below 1 are whole commands, whose parsers are targets of their own.
    """

    name: str
    spoil: Callable[[Random], bytes]
    parse: Callable[[bytes], None]
    share: float = 1.0


def _of(seeds: Callable[[], tuple[bytes, ...]]) -> Callable[[Random], bytes]:
    samples = cache(seeds)
    return lambda random: spoil(random.choice(samples()), random)


class _BytesSource:
    """Bytes as the source that readers of libraries want."""

    path = "lib.so"

    def __init__(self, data: bytes) -> None:
        self.data, self.size = data, len(data)

    def chunks(self) -> Iterator[bytes]:
        yield self.data

    def read(self, offset: int, size: int) -> bytes:
        return self.data[max(offset, 0) : max(offset, 0) + max(size, 0)] if offset >= 0 else b""

    def keep(self, at: int, chunk: bytes) -> None:
        pass

    def release(self) -> None:
        pass


def _objects() -> tuple[bytes, ...]:
    many = [kernel(f"k{n}", **{".group_segment_fixed_size": n}) for n in range(3)]
    return code_object("gfx90a", many), code_object("gfx1100", [kernel("a")], abi=4), code_object("gfx942:xnack-", [])


def _bundles() -> tuple[bytes, ...]:
    one = binaries.bundle({t: code_object(t, [kernel("k")]) for t in TARGETS})
    return one, binaries.ccob(one, 1, 1), binaries.ccob(one, 2, 0), binaries.ccob(one, 3, 1), fatbin()


def _libraries() -> tuple[bytes, ...]:
    versions = {"libc.so.6": ["GLIBC_2.17"], "libm.so.6": ["GLIBC_2.27"]}
    whole = library(exports=["f", "g"], versions=versions, isa=2, rodata=b"/home/x/y.c\0numpy.core\0")
    return whole, without_sections(whole)


def _parse_object(data: bytes) -> None:
    with suppress(MalformedError):
        read_all(codeobject.code_object(0, len(data), "gfx90a", ReadBudget()), lambda at, size: data[at : at + size])


def _stream_object(data: bytes) -> None:
    with suppress(MalformedError, BackwardReadError):
        feed = Feed(codeobject.code_object(0, len(data), "gfx90a", ReadBudget()))
        for at in range(0, len(data), 700):
            if not feed.is_complete:
                feed.push(at, data[at : at + 700])
        feed.finish(len(data))


def _parse_bundles(data: bytes) -> None:
    with suppress(MalformedError):
        read_all(
            bundle.bundles(0, len(data), ReadBudget(len(data)), lambda at: None), lambda at, size: data[at : at + size]
        )


def _parse_header(data: bytes) -> None:
    with suppress(MalformedError):
        header = ccob.header(data)
        ccob.check_size(header, len(data))


def _parse_library(data: bytes) -> None:
    with suppress(MalformedError):
        elf.library(_BytesSource(data), ReadBudget(len(data)))


def _parse_messagepack(data: bytes) -> None:
    with suppress(MalformedError):
        messagepack.unpack(data, "it", 1000)


def _parse_tensile(data: bytes) -> None:
    with suppress(MalformedError):
        tensile.tensile_library(data)


INFO = "x-1.dist-info"
PROGRAM_HEADERS = 64
ENTRY_POINTS = b"[console_scripts]\nforge = onnxruntime_ep_forge:main\n[gui_scripts]\nx = y.z:a.b [extra]\n"
VARIANT = json.dumps({"default-priorities": {"namespace": ["amd"]}, "variants": {"rocm64": {"amd": {"gfx": ["gfx1100"]}}}}).encode()
LOG = (
    b"CMake Warning:\n  Manually-specified variables were not used by the project:\n\n    A_B\n    \x1b[33mC_D\x1b[0m\n\n"
    b"[1/2] hipcc -march=native -o a.o /src/a.cpp\n"
)
SOURCE = b"import numpy as np\nfrom . import a\nfrom onnxruntime.capi import _pybind\ntry:\n    import x\nexcept E:\n    pass\n"
HOST_TEXT = b"/home/ci/x.cpp\0AKIA0123456789ABCDEF\0/tmp/pip-x\0numpy.core\0https://a:b@h/x\0Bearer 1abcdefghijklmnopqrstuv\0"


def _metadata_text(name: str) -> tuple[bytes, ...]:
    contents = GOOD.contents()
    return (record(contents, f"{INFO}/RECORD") if name == "RECORD" else contents[f"{GOOD.info}/{name}"],)


def _parse_text(name: str) -> Callable[[bytes], None]:
    """A file of a wheel's .dist-info, and the names and versions in it."""

    def parse(data: bytes) -> None:
        texts = {f"{INFO}/{name}": data}
        metadata, _ = wheel.wheel("x-1-py3-none-any.whl", list(texts), texts, lambda path, error: None)
        wheel.required_names(metadata.requires, extras=False)
        wheel.is_specifier(metadata.requires_python)

    return parse


def _parse_filename(data: bytes) -> None:
    name = data.decode("utf-8", "replace")
    info = f"{name.split('-')[0]}-1.dist-info"
    wheel.wheel(name, [f"{info}/WHEEL", name], {}, lambda path, error: None)
    for version in name.split("-"):
        wheel.local_of(version)
        wheel.release_of(version)
        wheel.same_version(version, "1.0+rocm")


def _parse_variant(data: bytes) -> None:
    wheel_variant("label", "variant.json", data, lambda path, error: None)


def _parse_log(data: bytes) -> None:
    with suppress(MalformedError):
        log.build_log(_BytesSource(data))


def _parse_source(data: bytes) -> None:
    sources = {"x/__init__.py": data, "x/a.py": data}
    imports.missing(sources, ("x",), frozenset(("x",)), ReadBudget(len(data)), lambda path, error: None)


def _scan_text(data: bytes) -> None:
    scan = TextScan()
    scan.push(data[:64])
    scan.push(data[64:])
    scan.hits("x.so")


def _spoil_descriptors(random: Random) -> bytes:
    """A code object with changes behind its metadata: symbols, names, descriptors, code and dynamic table."""
    data = random.choice(_described_objects())
    (start,) = struct.unpack_from("<Q", data, PROGRAM_HEADERS + 8)
    (size,) = struct.unpack_from("<Q", data, PROGRAM_HEADERS + 32)
    end = int(start + size)
    return data[:end] + spoil(data[end:], random)[: len(data) - end].ljust(len(data) - end, b"\0")


def _spoil_metadata(random: Random) -> bytes:
    """A whole code object whose metadata is MessagePack with members replaced, removed, doubled or renamed."""
    rows = [kernel(f"k{number}") for number in range(2)]
    metadata = {"amdhsa.version": [1, 2], "amdhsa.target": "amdgcn-amd-amdhsa--gfx90a", "amdhsa.kernels": rows}
    with suppress(OverflowError, UnicodeEncodeError):  # numbers and text that MessagePack cannot say
        return code_object("gfx90a", metadata=spoilt_json(metadata, random), described=rows)
    return code_object("gfx90a", rows)


@cache
def _described_objects() -> tuple[bytes, ...]:
    return _objects()[:2]


def _parse_archive(data: bytes, folder: Path) -> None:
    """The directory of an archive and every member, without what is in the members."""
    fd = os.open(folder / "archive", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    try:
        os.write(fd, data)
        with suppress(MalformedError):
            files, _ = archive.entries(fd, GOOD.filename, ReadBudget(len(data)))
            for entry in files:
                with suppress(MalformedError):
                    for _ in entry.source.chunks() if entry.source else ():
                        pass
    finally:
        os.close(fd)


def _archives() -> tuple[bytes, ...]:
    """An archive of few small members, which costs little to read again."""
    return (zipped(dict(list(GOOD.contents().items())[:3])),)


PAGE = b"""<!DOCTYPE html><html><head><meta name="pypi:repository-version" content="1.1"></head><body>
<a href="../x/x-1-py3-none-any.whl#sha256=00ff" data-core-metadata="sha256=00" data-yanked="why">x-1-py3-none-any.whl</a><br>
<a href="x%2D2.whl#sha256=11">x &amp; y</a><!-- c --></body></html>
"""
STATEMENT = provenance(
    ResourceDescriptor("x-1-py3-none-any.whl", "0" * 64), {"name": "r"}, (), (StepOrigin("s", "k", "o", "ran"),), "1"
)
SNAPSHOT = json.dumps(
    {
        "schema": "stackbuild.snapshot/1",
        "index": "0" * 32,
        "number": 3,
        "issued": "2026-11-20T00:00:00Z",
        "expires": "2027-11-20T00:00:00Z",
        "catalog": "0" * 64,
        "files": {"x/x-1-py3-none-any.whl": {"sha256": "0" * 64, "size": 1}, "index.html": {"sha256": "1" * 64, "size": 2}},
    }
).encode()
ENVELOPE = json.dumps(
    {
        "payload": base64.b64encode(SNAPSHOT).decode(),
        "payloadType": "application/vnd.stackbuild",
        "signatures": [{"keyid": "SHA256:x", "sig": base64.b64encode(b"0" * 64).decode()}],
    }
).encode()
KEY_LINES = (
    b"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + b"A" * 43 + b" who@where\n# c\n"
    b'ada@x valid-after="20260101",valid-before="20270101120000Z",namespaces="stackbuild,git" '
    b"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + b"B" * 43 + b"\n"
)


def _parse_page(data: bytes) -> None:
    with suppress(ValueError):
        WheelLinks(data.decode("utf-8", "replace"))


def _parse_statement(data: bytes) -> None:
    with suppress(ValueError):
        claim_about(ResourceDescriptor("x-1-py3-none-any.whl", "0" * 64), "x-1-py3-none-any.whl.provenance.json", data)


def _parse_snapshot(data: bytes) -> None:
    with suppress(ValueError):
        sums_text(read_snapshot(data))


def _parse_envelope(data: bytes) -> None:
    with suppress(envelopes.SignatureRefused):
        envelopes.signers(data)


def _parse_keys(data: bytes) -> None:
    with suppress(UsageError):
        ssh_keys.trusted_keys_of(data.decode("utf-8", "replace").splitlines(), "keys")


def _parse_file(data: bytes, folder: Path, name: str) -> None:
    """A whole inspection with every rule: of an archive, or of a library with GPU code."""
    path = folder / name
    path.write_bytes(data)
    with suppress(UsageError):
        judge(inspect(path), Expectations(gfx=TARGETS, rocm="6.4", kernels_floor=1))


def _json_of(good: bytes) -> Callable[[Random], bytes]:
    """Changes of the JSON's members, and of its bytes."""
    value = json.loads(good)

    def spoil_document(random: Random) -> bytes:
        if random.random() < 0.3:
            return spoil(good, random)
        return json.dumps(spoilt_json(value, random)).encode()

    return spoil_document


def _results(random: Random) -> bytes:
    body = spoilt_json(document(measured()), random)
    if isinstance(body, dict) and "schema" in body and random.random() < 0.9:
        with suppress(UnicodeEncodeError):  # a lone surrogate has no digest
            body = sealed(body)
    text = json.dumps(body).encode()
    return spoil(text, random) if random.random() < 0.1 else text


def _parse_results(data: bytes, folder: Path) -> None:
    path = folder / "r.json"
    path.write_bytes(data)
    with suppress(Stop):
        results = read_benchmarks(path)
        markdown(of_results(results, judgement.judge(results, DEFAULT, TODAY)))
    with suppress(Stop):
        read_verdict(path)


GATES = b"""gates:
  - {kind: baseline, delta: 5%, pairs: [20, 40], waivers: [{case: "a*", reason: known defect, by: ada, until: 2026-12-01}]}
  - {kind: speedup, versus: CPUExecutionProvider, at_least: 8, cases: ["resnet50/*"]}
  - {kind: limit, metric: latency, at_most: 12 ms}
  - {kind: memory, grows_at_most: 10%}
  - {kind: accuracy, snr_db: 60}
  - {kind: share, provider: ROCMExecutionProvider, nodes: 90%}
"""


def _parse_gates(data: bytes) -> None:
    with suppress(Stop, ValidationError):
        table, _ = yaml.compose(data.decode("utf-8", "replace"), "g.yaml")
        judgement.judge(measured(), Gates.model_validate(table).gates, TODAY)


def targets(folder: Path) -> dict[str, ParserTarget]:
    """Every target by its name; those that read a file write it to `folder`."""
    tensile_files = (b"\x82\xa9solutions\x90\xa7library\x81\xa4rows\x90",)
    desc = tuple(data[data.index(b"amdhsa.") - 2 :][:900] for data in _objects()[:2])
    headers = (binaries.ccob(b"x"), binaries.ccob(b"x", 1), binaries.ccob(b"x", 2, 0))
    rows = (
        ParserTarget("code objects", _of(_objects), _parse_object),
        ParserTarget("code objects in a stream", _of(_objects), _stream_object),
        ParserTarget("kernel descriptors", _spoil_descriptors, _parse_object),
        ParserTarget("kernel metadata", _spoil_metadata, _parse_object),
        ParserTarget("bundles", _of(_bundles), _parse_bundles),
        ParserTarget("CCOB headers", _of(lambda: headers), _parse_header),
        ParserTarget("MessagePack", _of(lambda: desc), _parse_messagepack),
        ParserTarget("Tensile libraries", _of(lambda: tensile_files), _parse_tensile),
        *(
            ParserTarget(f"{name} of wheels", _of(partial(_metadata_text, name)), _parse_text(name))
            for name in ("METADATA", "WHEEL", "RECORD")
        ),
        ParserTarget("entry points", _of(lambda: (ENTRY_POINTS,)), _parse_text("entry_points.txt")),
        ParserTarget("file names of wheels", _of(lambda: (GOOD.filename.encode(),)), _parse_filename),
        ParserTarget("variants of wheels", _json_of(VARIANT), _parse_variant),
        ParserTarget("imports", _of(lambda: (SOURCE,)), _parse_source),
        ParserTarget("build logs", _of(lambda: (LOG,)), _parse_log),
        ParserTarget("texts of libraries", _of(lambda: (HOST_TEXT,)), _scan_text),
        ParserTarget("host libraries", _of(_libraries), _parse_library),
        ParserTarget("directories of archives", _of(_archives), partial(_parse_archive, folder=folder)),
        ParserTarget("gates", _of(lambda: (GATES,)), _parse_gates),
        ParserTarget("pages of an index", _of(lambda: (PAGE,)), _parse_page),
        ParserTarget("statements", _json_of(STATEMENT), _parse_statement),
        ParserTarget("snapshots", _json_of(SNAPSHOT), _parse_snapshot),
        ParserTarget("envelopes", _json_of(ENVELOPE), _parse_envelope),
        ParserTarget("public keys", _of(lambda: (KEY_LINES,)), _parse_keys),
        ParserTarget("results", _results, partial(_parse_results, folder=folder), WHOLE),
        ParserTarget("whole wheels", _of(lambda: (zipped(GOOD.contents()), GOOD.bytes())), partial(_parse_file, folder=folder, name=GOOD.filename), WHOLE),
        ParserTarget("libraries with GPU code", _of(lambda: (library(fatbin=fatbin(), isa=2),)), partial(_parse_file, folder=folder, name="lib.so"), WHOLE),
    )  # fmt: skip
    return {target.name: target for target in rows}


def scratch() -> Path:
    """A folder for the targets that read files, in memory where that is possible."""
    shared_memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="stackbuild-fuzz-", dir=shared_memory if shared_memory.is_dir() else None))
