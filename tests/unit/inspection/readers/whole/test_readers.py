"""The smaller readers, each against values worked out by hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stackbuild.core.errors import UsageError
from stackbuild.inspection import Expectations, inspect, judge, judge_together
from stackbuild.inspection.facts import ProviderLibrary
from stackbuild.inspection.readers import imports, wheel
from stackbuild.inspection.readers.budget import ReadBudget
from stackbuild.inspection.readers.byte_parser import MalformedError
from stackbuild.inspection.readers.elf import library as read_library
from stackbuild.inspection.readers.policy import satisfied_policy
from stackbuild.inspection.readers.providers import providers
from stackbuild.inspection.readers.source import FileRange
from support.binaries import GOOD, library, zipped


def on_disk(path: Path, data: bytes) -> FileRange:
    path.write_bytes(data)
    return FileRange(os.open(path, os.O_RDONLY), path.name, 0, len(data))


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
    policy = satisfied_policy([read], ["manylinux_2_34_x86_64", "manylinux_2_35_x86_64", "not_a_policy"])
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

    monkeypatch.setattr(elf, "DESCRIBED_BYTES", 200_000)
    source = on_disk(tmp_path / "l.so", library(rodata=b"A" * 300_000))
    with pytest.raises(MalformedError, match="more bytes"):
        elf._SeekableSource(source, ReadBudget()).read(250_000)


@pytest.mark.parametrize("names", [(), ("faq.md", "below/index.html")])
def test_a_folder_without_anything_to_judge_is_refused(names: tuple[str, ...], tmp_path: Path):
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("text\n")
    with pytest.raises(UsageError, match="no library, no GPU code") as stopped:
        inspect(tmp_path)
    assert "unpacked wheel" in stopped.value.next
