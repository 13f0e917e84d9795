"""Every parser of bytes that strangers write: what it is fed, and what it may raise.

A target takes bytes and returns; what it may refuse with, it swallows. Anything else that it raises is a loss.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from functools import cache, partial
from pathlib import Path
from random import Random

from campaign.mutation import spoilt, spoilt_json
from stackbuild import judgement
from stackbuild.bench.gate import DEFAULT
from stackbuild.bench.results_file import document, read_benchmarks, read_verdict
from stackbuild.core import yaml
from stackbuild.core.errors import Stop, UsageError
from stackbuild.core.model import ValidationError
from stackbuild.inspection import Expectations, inspect, judge
from stackbuild.inspection.readers import bundle, ccob, codeobject, elf, messagepack, tensile, wheel
from stackbuild.inspection.readers.budget import ReadBudget
from stackbuild.inspection.readers.byte_parser import BackwardReadError, Feed, MalformedError, read_all
from stackbuild.model.gates import Gates
from stackbuild.pipeline.run_record import of_results
from stackbuild.views.markdown import markdown
from support import binaries
from support.benchmark_results import measured, sealed
from support.binaries import GOOD, TARGETS, code_object, fatbin, kernel, library, record, without_sections, zipped

TODAY = date(2026, 11, 20)


@dataclass(frozen=True)
class ParserTarget:
    """One parser. `spoil` makes an input of a seeded generator; `parse` raises only on a loss."""

    name: str
    spoil: Callable[[Random], bytes]
    parse: Callable[[bytes], None]


def _of(seeds: Callable[[], tuple[bytes, ...]]) -> Callable[[Random], bytes]:
    samples = cache(seeds)
    return lambda random: spoilt(random.choice(samples()), random)


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


def _texts() -> tuple[bytes, ...]:
    contents = GOOD.contents()
    names = ("METADATA", "WHEEL", "entry_points.txt", "RECORD")
    entry = b"[console_scripts]\nforge = onnxruntime_ep_forge:main\n[gui_scripts]\nx = y.z:a.b [extra]\n"
    files = {name: contents.get(f"{GOOD.info}/{name}", entry) for name in names}
    files["RECORD"] = record(contents, "x-1.dist-info/RECORD")
    return tuple(b"%d" % number + text for number, text in enumerate(files.values()))


def _parse_texts(data: bytes) -> None:
    """The first character says which of the files the rest is."""
    name = ("METADATA", "WHEEL", "entry_points.txt", "RECORD")[data[0] % 4 if data else 0]
    texts = {f"{INFO}/{name}": data[1:]}
    metadata, _ = wheel.wheel("x-1-py3-none-any.whl", list(texts), texts, lambda path, broken: None)
    wheel.required_names(metadata.requires, extras=False)
    wheel.is_specifier(metadata.requires_python)


def _parse_file(data: bytes, folder: Path, name: str) -> None:
    """A whole inspection with every rule: of an archive, or of a library with GPU code."""
    path = folder / name
    path.write_bytes(data)
    with suppress(UsageError):
        judge(inspect(path), Expectations(gfx=TARGETS, rocm="6.4", kernels_floor=1))


def _results(random: Random) -> bytes:
    body = spoilt_json(document(measured()), random)
    if isinstance(body, dict) and "schema" in body and random.random() < 0.9:
        with suppress(UnicodeEncodeError):  # a lone surrogate has no digest
            body = sealed(body)
    text = json.dumps(body).encode()
    return spoilt(text, random) if random.random() < 0.1 else text


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


def targets(folder: Path) -> dict[str, tuple[ParserTarget, int]]:
    """Every target by its name, and how many executions a whole run gives it: 1,314,000 in all."""
    tensile_files = (b"\x82\xa9solutions\x90\xa7library\x81\xa4rows\x90",)
    desc = tuple(data[data.index(b"amdhsa.") - 2 :][:900] for data in _objects()[:2])
    rows = (
        (ParserTarget("code objects", _of(_objects), _parse_object), 400_000),
        (ParserTarget("code objects in a stream", _of(_objects), _stream_object), 150_000),
        (ParserTarget("bundles", _of(_bundles), _parse_bundles), 150_000),
        (ParserTarget("CCOB headers", _of(lambda: (binaries.ccob(b"x"), binaries.ccob(b"x", 1), binaries.ccob(b"x", 2, 0))), _parse_header), 150_000),
        (ParserTarget("MessagePack", _of(lambda: desc), _parse_messagepack), 250_000),
        (ParserTarget("Tensile libraries", _of(lambda: tensile_files), _parse_tensile), 100_000),
        (ParserTarget("metadata of wheels", _of(_texts), _parse_texts), 60_000),
        (ParserTarget("host libraries", _of(_libraries), _parse_library), 20_000),
        (ParserTarget("results", _results, partial(_parse_results, folder=folder)), 4_000),
        (ParserTarget("gates", _of(lambda: (GATES,)), _parse_gates), 20_000),
        (ParserTarget("archives", _of(lambda: (zipped(GOOD.contents()), GOOD.bytes())), partial(_parse_file, folder=folder, name=GOOD.filename)), 6_000),
        (ParserTarget("libraries with GPU code", _of(lambda: (library(fatbin=fatbin(), isa=2),)), partial(_parse_file, folder=folder, name="lib.so")), 4_000),
    )  # fmt: skip
    return {target.name: (target, times) for target, times in rows}


def scratch() -> Path:
    """A folder for the targets that read files, in memory where that is possible."""
    shared = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="stackbuild-fuzz-", dir=shared if shared.is_dir() else None))
