"""The smaller readers, each against values worked out by hand."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import pytest
from inspect_forge import GOOD, library, zipped

from stackbuild.core.errors import UsageError
from stackbuild.inspection import Expectations, inspect, judge, judge_together
from stackbuild.inspection.facts import ProviderLibrary
from stackbuild.inspection.readers import imports, wheel
from stackbuild.inspection.readers.budget import ReadBudget
from stackbuild.inspection.readers.byte_parser import MalformedError
from stackbuild.inspection.readers.elf import library as read_library
from stackbuild.inspection.readers.policy import satisfied
from stackbuild.inspection.readers.providers import providers
from stackbuild.inspection.readers.source import Deflated, FileRange, ahead
from stackbuild.inspection.readers.text_scan import TextScan


def on_disk(path: Path, data: bytes) -> FileRange:
    path.write_bytes(data)
    return FileRange(os.open(path, os.O_RDONLY), path.name, 0, len(data))


def test_a_deflated_member_is_read_anywhere_after_one_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("stackbuild.inspection.readers.source.CHECKPOINT", 100_000)
    plain = b"".join(n.to_bytes(4, "little") for n in range(300_000))
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    source = Deflated(on_disk(tmp_path / "x", packer.compress(plain) + packer.flush()), len(plain))
    assert b"".join(ahead(source.chunks())) == plain
    for at, size in (
        (0, 10),
        (999_990, 40),
        (500_000, 300_000),
        (len(plain) - 3, 10),
        (len(plain), 5),
        (0, len(plain)),
    ):
        assert source.read(at, size) == plain[at : at + size]
    source.keep(200_000, b"KEPT")
    assert source.read(200_000, 6) == b"KEPT" + plain[200_004:200_006]


def test_a_producer_that_fails_says_so_to_the_reader():
    def broken():
        yield b"a"
        raise MalformedError("no more")

    with pytest.raises(MalformedError, match="no more"):
        list(ahead(broken()))


def test_a_reader_that_stops_leaves_no_thread_behind():
    import threading

    before = threading.active_count()
    stream = ahead(iter([b"x"] * 1000))
    assert next(stream) == b"x"
    stream.close()
    assert threading.active_count() == before


def test_host_library_facts(tmp_path: Path):
    made = library(
        exports=["OrtGetApiBase"], soname="libonnxruntime.so.1", runpath="$ORIGIN:/opt/x", isa=3, stack=7, symtab=5000,
        needed=["libstdc++.so.6", "libc.so.6"], versions={"libstdc++.so.6": ["GLIBCXX_3.4.30"], "libc.so.6": ["GLIBC_2.14"]},
    )  # fmt: skip
    read, sections, _ = read_library(on_disk(tmp_path / "lib.so", made), ReadBudget())
    assert (read.soname, read.needed, read.runpath) == (
        "libonnxruntime.so.1",
        ("libstdc++.so.6", "libc.so.6"),
        ("$ORIGIN", "/opt/x"),
    )
    assert read.versions == (("libstdc++.so.6", ("GLIBCXX_3.4.30",)), ("libc.so.6", ("GLIBC_2.14",)))
    assert (read.isa, read.exec_stack, read.symtab_bytes, read.exports) == (3, True, 5000, ("OrtGetApiBase",))
    assert ".rodata" in sections
    policy = satisfied([read], ["manylinux_2_34_x86_64", "manylinux_2_35_x86_64", "not_a_policy"])
    assert policy and policy.name == "manylinux_2_35_x86_64"
    assert policy.deciding == ("lib.so", "GLIBCXX_3.4.30")
    assert policy.too_new == (("manylinux_2_34_x86_64", "lib.so", "GLIBCXX_3.4.30"),)


def test_providers_by_what_they_export():
    def made(path: str, *exports: str) -> ProviderLibrary | None:
        read, _, _ = read_library_of(path, *exports)
        found = providers([read])
        return found[0] if found else None

    assert made("capi/libonnxruntime_providers_migraphx.so", "GetProvider") == ProviderLibrary(
        "MIGraphXExecutionProvider", "bridge", "capi/libonnxruntime_providers_migraphx.so"
    )
    assert made("a/libx.so", "CreateEpFactories", "ReleaseEpFactory") == ProviderLibrary("x", "plugin", "a/libx.so")
    assert made("a/libx.so", "RegisterCustomOps") == ProviderLibrary("x", "custom-ops", "a/libx.so")
    assert (
        made("capi/libonnxruntime_providers_cuda.so", "GetProvider", "CreateEpFactories", "ReleaseEpFactory").form
        == "bridge"
    )
    assert made("a/libx.so", "CreateEpFactories") is None and made("a/libx.so", "f") is None


def read_library_of(path: str, *exports: str):
    import tempfile

    with tempfile.NamedTemporaryFile() as file:
        file.write(library(exports=exports))
        file.flush()
        return read_library(FileRange(file.fileno(), path, 0, os.path.getsize(file.name)), ReadBudget())  # noqa: PTH202


def test_text_is_found_once_even_across_chunks():
    text = (
        b"x" * 300
        + b"\0/home/alice/src/ort/session.cc\0"
        + b"y" * 300
        + b"git-branch=rel-1.22.0, git-commit-id=f217402897,"
    )
    for step in (1, 5, 64, 400, 1000):
        scan = TextScan()
        for at in range(0, len(text), step):
            scan.push(text[at : at + step])
        kinds = {hit.kind: (hit.count, hit.samples) for hit in scan.hits("f")}
        assert kinds == {
            "home-path": (1, ("/home/alice/src/ort/session.cc",)),
            "build-info": (1, ("git-branch=rel-1.22.0, git-commit-id=f217402897",)),
        }, step


def test_a_match_at_the_very_end_counts():
    scan = TextScan()
    scan.push(b"x /home/alice/a.c")
    scan.gap()
    scan.push(b"/b.c /home/bob/c.c")
    assert scan.hits("f")[0].count == 2


@pytest.mark.parametrize(
    "text",
    [
        b"AKIAIOSFODNN7EXAMPLE ", b"glpat-abcdefghij0123456789 ", b"pypi-AgEIcHlwaS5vcmc" + b"x" * 60,
        b"-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7bq3mPp0c2Ww5l0p1m3Jm9v8yq6h2k4n8s7d6f5g4h3j2k1l\n",
        b"https://user:s3cretpass@host.example.com/p",
        b"ASIAIOSFODNN7EXAMPLE ", b"aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\n",
        b'"AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"', b"xoxb-123456789012-1234567890123-abcdefghijklmnop",
        b"AIzaSyA1234567890abcdefghijklmnopqrstuvw ", b"hf_abcdefghijklmnopqrstuvwxyzABCDEFGH ",
        b"npm_abcdefghijklmnopqrstuvwxyz0123456789 ", b"sk-proj-abcdefghijklmnopqrstuvwxyz0123456789abcdefghij",
        b"sk_live_abcdefghijklmnopqrstuvwx", b"AccountKey=" + b"a1B2" * 21 + b"cd==", b"Authorization: Bearer abcdefghijklmnop123456",
        b"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
        b"machine example.org\n  login ci\n  password zzzzzzzzz\n", b"https://ghtoken1234567@github.com/x.git",
    ],
)  # fmt: skip
def test_secrets_are_found_and_not_shown(text: bytes):
    scan = TextScan()
    scan.push(b"  " + text)
    (hit,) = scan.hits("f")
    assert hit.kind == "secret" and text.decode().strip() not in hit.samples[0]


@pytest.mark.parametrize(
    "text",
    [
        b"-----BEGIN PRIVATE KEY-----\0",
        b"https://%s:%s@host/",
        b"https://user:{password}@host.example",
        b"AKIA",
        b"http://a.b/c:d@e",
        b"task-abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnop",
        b"Bearer authentication-is-described-in-this-chapter",
        b"https://contributors@github.com/x.git",
        b"the password of the machine and its login",
        b"hf_hub_download_the_whole_repository_of_it",
    ],
)
def test_what_only_looks_a_little_like_a_secret_is_left_alone(text: bytes):
    scan = TextScan()
    scan.push(b"  " + text)
    assert not scan.hits("f")


def test_imports_follow_only_what_runs_unconditionally():
    sources = {
        "p/__init__.py": b"from . import a\ntry:\n    import optional\nexcept ImportError:\n    pass\nimport json, numpy.linalg",
        "p/a.py": b"from p.b import thing\ndef f():\n    import lazy\n",
        "p/b.py": b"from google.protobuf import message\nif True:\n    import conditional",
        "p/never.py": b"import unreachable",
        "p/broken.py": b"def (",
    }
    found = imports.missing(sources, ("p",), frozenset({"p"}), ReadBudget(), lambda path, broken: None)
    assert [(i.path, i.module) for i in found] == [("p/b.py", "google"), ("p/__init__.py", "numpy")]


def test_wheel_names_and_versions():
    assert wheel.local_of("1.27.1+rocm.7.2") == "rocm.7.2" and wheel.local_of("nonsense") == ""
    assert wheel.release_of("1.22.2.post3+x") == (1, 22, 2)
    assert wheel.required_names(("numpy>=1; python_version>'3'", "###", "Foo_Bar")) == ("numpy", "foo-bar")


def test_build_logs(tmp_path: Path):
    log = tmp_path / "configure.log"
    log.write_text(
        "-- ok\nCMake Warning:\n  Manually-specified variables were not used by the project:\n\n    GGML_HIPBLAS\n"
        "    onnxruntime_ROCM_HOME\n\n\n[1/2] c++ -O2 -march=native -c /build/x/ops.cc -o ops.o\n[2/2] c++ -O2 -c fine.cc\n"
    )
    facts = inspect(log)
    assert facts.log and facts.log.unused_options == ("GGML_HIPBLAS", "onnxruntime_ROCM_HOME")
    found = {f.rule: f.found for f in judge(facts)}
    assert set(found) == {"SB-LOG-UNUSED-OPTION", "SB-LOG-NATIVE"}
    assert "GGML_HIPBLAS" in found["SB-LOG-UNUSED-OPTION"] and "ROCM_HOME" not in found["SB-LOG-UNUSED-OPTION"]
    assert "ops.cc" in found["SB-LOG-NATIVE"] and "fine.cc" not in found["SB-LOG-NATIVE"]
    log.write_text("-- all is well\n")
    assert judge(inspect(log)) == ()


@pytest.mark.parametrize(
    "prefix", ["[docker] 12:00 ", "#12 34.5 ", "2026-11-20T12:00:00.1234567Z ", "\x1b[33m", "web-1  | \x1b[0m"]
)
def test_logs_with_prefixed_lines(prefix: str, tmp_path: Path):
    """As CI services and `docker compose` print them; a colour is no word."""
    said = [
        "CMake Warning:",
        "  Manually-specified variables were not used by the project:",
        "",
        "    GGML_HIPBLAS",
        "    CK_OLD",
        "",
        "",
        "-- Done",
    ]
    log = tmp_path / "ci.log"
    log.write_text("\n".join(prefix + line for line in ["-- start", *said, "Done"]) + "\n")
    assert inspect(log).log.unused_options == ("GGML_HIPBLAS", "CK_OLD")


def test_logs_list_options_only_where_cmake_does(tmp_path: Path):
    log = tmp_path / "ci.log"
    log.write_text("  Manually-specified variables were not used by the project:\n\n    A_B\n\nDone\n    C_D\n")
    assert inspect(log).log.unused_options == ("A_B",)


@pytest.mark.parametrize(
    "data",
    [
        b"Manually-specified variables were not used by the project: " * 9_000,
        b"Manually-specified variables were not used by the project:\n" + b"".join(b" A%d\n" % n for n in range(50_000)),
        b"-march=native " * 40_000, (b"-march=native" + b"a/" * 4_000 + b"\n") * 60,
    ],
)  # fmt: skip
def test_hostile_logs_cost_little(data: bytes, tmp_path: Path):
    """Half a megabyte took seconds: a line without an end was searched again for each word in it."""
    import time

    log = tmp_path / "x.log"
    log.write_bytes(data)
    started = time.process_time()
    found = inspect(log).log
    assert found and len(found.unused_options) <= 1_000 and len(found.native) <= 1_000
    assert time.process_time() - started < 2


def test_wheels_that_overwrite_each_other(tmp_path: Path):
    one = GOOD.write(tmp_path)
    two = GOOD.but(name="onnxruntime-ep-other").write(tmp_path)
    (found,) = judge_together((inspect(one), inspect(two)))
    assert found.rule == "SB-DIST-OVERWRITE" and "2 files" in found.found
    assert judge_together((inspect(one),)) == ()


def test_what_is_meant_is_not_held_against_it(tmp_path: Path):
    path = GOOD.but(lib={"runpath": "$ORIGIN:/opt/rocm/lib", "isa": 3}).write(tmp_path)
    ids = {f.rule for f in judge(inspect(path), Expectations(runpaths=("/opt/rocm/lib",), isa=3))}
    assert not ids & {"SB-ELF-ABSOLUTE-RUNPATH", "SB-ELF-ISA"}
    assert {"SB-ELF-ABSOLUTE-RUNPATH", "SB-ELF-ISA"} <= {f.rule for f in judge(inspect(path))}


@pytest.mark.parametrize("make", ["missing", "text", "empty"])
def test_what_is_nothing_to_inspect_is_said(make: str, tmp_path: Path):
    path = tmp_path / "thing"
    if make != "missing":
        path.write_text("hello" if make == "text" else "")
    with pytest.raises(UsageError) as error:
        inspect(path)
    assert error.value.next and str(path) in str(error.value)


def test_members_that_share_bytes(tmp_path: Path):
    """The overlapped-files bomb: two directory entries point at one member."""
    data = bytearray(zipped({"aa.bin": b"x" * 1000, "ab.bin": b"x" * 1000}))
    first = data.index(b"PK\x01\x02")
    second = data.index(b"PK\x01\x02", first + 4)
    data[second + 42 : second + 46] = data[first + 42 : first + 46]
    path = tmp_path / GOOD.filename
    path.write_bytes(bytes(data))
    assert any("shares its bytes" in p.what for p in inspect(path).packaging)


def test_hostile_texts_cost_little(tmp_path: Path):
    """Tags that stand for a billion, a million requirements, a log line without an end, findings without number."""
    import time

    started = time.monotonic()
    tag = "Tag: " + "-".join(".".join(f"{part}{n}" for n in range(1000)) for part in "abc")
    path = GOOD.but(wheel_tag=tag, metadata=GOOD.metadata + "Requires-Dist: x\n" * 50_000).write(tmp_path)
    assert inspect(path).wheel and len(inspect(path).wheel.requires) <= 2_000
    log = tmp_path / "x.log"
    log.write_bytes(b"a/" * 500_000 + b" -march=native " + b"b" * 500_000)
    assert inspect(log).log.native
    rows = "".join(f"gone{n}.py,sha256=AAAA,1\n" for n in range(5_000)).encode()
    files = GOOD.contents()
    (tmp_path / "many").mkdir()
    many = tmp_path / "many" / GOOD.filename
    many.write_bytes(zipped(files | {f"{GOOD.info}/RECORD": rows}))
    found = [f for f in judge(inspect(many)) if f.rule == "SB-RECORD-MISMATCH"]
    assert len(found) == 101 and "more" in found[-1].found
    assert time.monotonic() - started < 20


def test_names_without_an_end_are_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from stackbuild.inspection.readers import elf

    monkeypatch.setattr(elf, "DESCRIBED", 200_000)
    source = on_disk(tmp_path / "l.so", library(rodata=b"A" * 300_000))
    with pytest.raises(MalformedError, match="more bytes"):
        elf._File(source, ReadBudget()).read(250_000)


def test_a_member_is_not_inflated_again_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("stackbuild.inspection.readers.source.CHECKPOINT", 70_000)
    monkeypatch.setattr("stackbuild.inspection.readers.source.AGAIN", 10)
    plain = os.urandom(2_000_000)
    packer = zlib.compressobj(1, zlib.DEFLATED, -15)
    source = Deflated(on_disk(tmp_path / "x", packer.compress(plain) + packer.flush()), len(plain))
    list(source.chunks())
    with pytest.raises(MalformedError, match="scattered"):
        for turn in range(100):
            source.read((turn * 700_001) % 2_000_000, 8)
