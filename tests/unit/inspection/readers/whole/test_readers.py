"""The smaller readers, each against values worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.core.errors import UsageError
from stackbuild.inspection import Expectations, inspect, judge, judge_together
from stackbuild.inspection.readers.budget import ReadBudget
from stackbuild.inspection.readers.byte_parser import MalformedError
from support.binaries import GOOD, library, zipped
from support.inspected_files import on_disk


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
