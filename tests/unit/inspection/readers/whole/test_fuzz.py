"""Truncated, mutated and lying files: a problem or a finding, never another exception, a hang or a memory blow-up."""

from __future__ import annotations

import contextlib
import os
import random
import tracemalloc
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stackbuild.core.errors import UsageError
from stackbuild.inspection import Expectations, inspect, judge
from stackbuild.inspection.readers.budget import ReadBudget
from stackbuild.inspection.readers.bundle import bundles
from stackbuild.inspection.readers.byte_parser import MalformedError, read_all
from stackbuild.inspection.readers.ccob import header
from stackbuild.inspection.readers.codeobject import code_object as read_code_object
from stackbuild.inspection.readers.tensile import tensile_library
from stackbuild.inspection.readers.wheel import wheel as read_wheel
from support.binaries import (
    GOOD,
    TARGETS,
    bundle,
    ccob,
    code_object,
    fatbin,
    kernel,
    library,
    record,
    section,
    without_sections,
    zipped,
)

ROUNDS = int(os.environ.get("STACKBUILD_FUZZ_ROUNDS", "12"))
quick = settings(max_examples=ROUNDS, deadline=None, suppress_health_check=list(HealthCheck))
ONE = bundle({t: code_object(t, [kernel(f"k{n}") for n in range(3)]) for t in TARGETS})


def spoilt(data: bytes, seed: int) -> bytes:
    """A few bytes changed, a piece cut out, doubled or overwritten by a large number, or the end cut off."""
    rng = random.Random(seed)
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(made)) if made else 0
        match rng.randrange(6):
            case 0:
                made[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                del made[at : at + rng.choice((1, 8, 500))]
            case 2:
                made[at:at] = made[at : at + rng.choice((1, 8, 500))]
            case 3:
                made[at : at + 8] = rng.choice(
                    (b"\xff" * 8, b"\0" * 8, (1 << 62).to_bytes(8, "little"), b"\xff\xff\xff\x7f\0\0\0\0")
                )
            case 4:
                made[at : at + 4] = rng.choice(
                    (b"\xdf\xff\xff\xff", b"\xdd\xff\xff\xff", b"\xc6\xff\xff\xff")
                )  # msgpack: huge
            case 5:
                del made[at:]
    return bytes(made)


def reads(parser: object, data: bytes) -> None:
    with contextlib.suppress(MalformedError):
        read_all(parser, lambda at, size: data[at : at + size])  # type: ignore[arg-type]


@quick
@given(st.integers(0, 1 << 32), st.sampled_from(["plain", "zlib", "zstd", "several"]))
def test_bundles(seed: int, form: str):
    whole = {
        "plain": ONE,
        "zlib": ccob(ONE, 2, 0),
        "zstd": ccob(ONE, 3, 1),
        "several": section([ONE, ccob(ONE, 1, 1), ONE]),
    }[form]
    data = spoilt(whole, seed)
    reads(bundles(0, len(data), ReadBudget(len(data)), lambda at: None), data)


@quick
@given(st.binary(max_size=300))
def test_code_object_metadata_of_any_bytes(noise: bytes):
    data = code_object("gfx90a").replace(b"\xa9.args", noise, 1)
    reads(read_code_object(0, len(data), "gfx90a", ReadBudget()), data)


@quick
@given(st.integers(0, 1 << 32))
def test_code_objects(seed: int):
    data = spoilt(code_object("gfx90a"), seed)
    reads(read_code_object(0, len(data), "gfx90a", ReadBudget()), data)


@quick
@given(st.binary(max_size=300))
def test_tensile_libraries_of_any_bytes(noise: bytes):
    for data in (noise, b"\x82\xa9solutions\x90\xa7library" + noise):
        try:
            solutions, refers = tensile_library(data)
        except MalformedError:
            continue
        assert solutions == 0 and all(isinstance(name, str) for name in refers)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


def survives(path: Path) -> None:
    """Everything after reading works too: judging a broken file, and what it says fits a line."""
    try:
        facts = inspect(path)
    except UsageError:
        return
    for finding in judge(facts, Expectations(gfx=TARGETS, rocm="6.4", kernels_floor=1)):
        assert finding.found and len(finding.found) < 20_000


@quick
@given(st.integers(0, 1 << 32))
def test_libraries(place: Path, seed: int):
    path = place / "lib.so"
    path.write_bytes(spoilt(library(fatbin=fatbin(), isa=2, rodata=b"/home/x/y.c\0numpy.core\0"), seed))
    survives(path)


@quick
@given(st.integers(0, 1 << 32))
def test_libraries_without_sections(place: Path, seed: int):
    path = place / "lib.so"
    path.write_bytes(spoilt(without_sections(library(fatbin=fatbin(), isa=2, exports=["f", "g"])), seed))
    survives(path)


@quick
@given(st.integers(0, 1 << 32))
def test_tables_that_the_loader_reads(place: Path, seed: int):
    """Only the headers, symbols, version needs and dynamic tags are spoilt: nothing else of the file takes the blows."""
    made = library(exports=["f", "g"], versions={"libc.so.6": ["GLIBC_2.17"], "libm.so.6": ["GLIBC_2.27"]})
    path = place / "lib.so"
    path.write_bytes(spoilt(made[: len(made) // 2], seed) + made[len(made) // 2 :])
    survives(path)


@quick
@given(st.integers(0, 1 << 32), st.binary(max_size=60))
def test_the_end_of_an_archive(place: Path, seed: int, more: bytes):
    """The directory and the end records alone are spoilt, bytes of a Zip64 record put among them."""
    whole = zipped(GOOD.contents())
    start = whole.index(b"PK\x01\x02")
    path = place / GOOD.filename
    path.write_bytes(whole[:start] + spoilt(whole[start:], seed))
    survives(path)
    path.write_bytes(whole[:-22] + b"PK\x06\x06" + more.ljust(52, b"\0") + b"PK\x06\x07" + bytes(16) + whole[-22:])
    survives(path)


@quick
@given(st.binary(max_size=300))
def test_logs_of_any_bytes(place: Path, noise: bytes):
    path = place / "x.log"
    path.write_bytes(
        noise + b"  Manually-specified variables were not used by the project:\n" + noise + b"-march=native" + noise
    )
    survives(path)


@quick
@given(st.integers(0, 1 << 32))
def test_wheels(place: Path, seed: int):
    path = place / GOOD.filename
    path.write_bytes(spoilt(GOOD.bytes(), seed))
    survives(path)


@quick
@given(
    st.integers(0, 1 << 32),
    st.sampled_from(["METADATA", "WHEEL", "RECORD", "__init__.py", "libonnxruntime_ep_forge.so"]),
)
def test_members_of_well_formed_wheels(place: Path, seed: int, name: str):
    files = GOOD.contents()
    files |= {f"{GOOD.info}/RECORD": record(files, f"{GOOD.info}/RECORD")}
    path = place / GOOD.filename
    path.write_bytes(zipped({p: spoilt(d, seed) if p.endswith(name) else d for p, d in files.items()}))
    survives(path)


@quick
@given(st.text(max_size=40), st.binary(max_size=80), st.binary(max_size=80), st.binary(max_size=80))
def test_wheel_texts_of_any_bytes(filename: str, metadata: bytes, tags: bytes, rows: bytes):
    texts = {"x-1.dist-info/METADATA": metadata, "x-1.dist-info/WHEEL": tags, "x-1.dist-info/RECORD": rows}
    read_wheel(filename, list(texts), texts, lambda path, broken: None)


@pytest.mark.parametrize("method", [0, 1])
def test_a_bomb_is_not_inflated(method: int, tmp_path: Path):
    """A gigabyte of zeros in a small payload that claims to be small, and one that claims to be large."""
    zeros = bytes(64 << 20)
    path = tmp_path / "bomb.co"
    path.write_bytes(ccob(zeros, 3, method, inflated=4096))
    tracemalloc.start()
    facts = inspect(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert facts.problems and peak < 40 << 20


def test_a_deflate_bomb_ends_at_the_claimed_size(tmp_path: Path):
    files = {"a.bin": bytes(50 << 20)}
    data = bytearray(zipped(files))
    size = (50 << 20).to_bytes(4, "little")
    claimed = (1000).to_bytes(4, "little")
    path = tmp_path / GOOD.filename
    path.write_bytes(bytes(data).replace(size, claimed))
    facts = inspect(path)
    assert any("inflates to more than the 1000" in p.what for p in facts.problems)


def test_metadata_that_claims_huge_arrays_costs_no_memory():
    nested = b"\xdd\x00\x01\xff\xff" * 900  # arrays of 131,071 elements, 900 deep
    data = code_object("gfx90a", metadata={"amdhsa.kernels": []})
    head = data[: data.index(b"amdhsa.kernels") + 14]
    lying = head + nested + data[len(head) + len(nested) :].ljust(8000, b"\0")
    tracemalloc.start()
    reads(read_code_object(0, len(lying), "gfx90a", ReadBudget()), lying)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 30  # reserved, not touched: calloc gives zero pages


def test_zlib_of_the_forge_is_the_reader_s():
    packed = ccob(ONE, 3, 0)
    said = header(packed)
    assert zlib.decompress(packed[said.header :]) == ONE
