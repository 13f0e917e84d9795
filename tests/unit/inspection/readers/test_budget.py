"""What a whole inspection may cost: many small claims together are bounded as one large claim is."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from stackbuild.inspection import Facts, inspect, judge, limits, recognise
from stackbuild.inspection.facts import ProblemKind
from stackbuild.inspection.limits import BUDGETS, Cost
from stackbuild.inspection.readers import messagepack
from stackbuild.inspection.readers.budget import BudgetError, ReadBudget
from stackbuild.inspection.readers.byte_parser import MalformedError
from stackbuild.inspection.readers.text_scan import TextScan
from support.binaries import GOOD, bundle, ccob, code_object, kernel, library, record, section, zipped
from support.inspected_files import looked

ONE = bundle({"gfx90a": code_object("gfx90a")})


def limit(facts: Facts) -> list[str]:
    return [problem.what for problem in facts.problems if problem.trouble is ProblemKind.LIMIT]


def test_a_budget_is_spent_for_all_and_grows_with_the_file():
    budget = ReadBudget(0)
    free, share = BUDGETS[Cost.KERNELS]
    budget.spend(Cost.KERNELS, free)
    with pytest.raises(BudgetError, match="kernels in all"):
        budget.spend(Cost.KERNELS, 1)
    with pytest.raises(BudgetError):
        budget.spend(Cost.KERNELS, 0)
    ReadBudget(1 << 30).spend(Cost.KERNELS, free + int(share * (1 << 30)))


def test_entries_that_name_one_code_object_are_read_once(tmp_path: Path):
    """1,023 entries, one code object: 3.8 kB of wheel stood for 134 million kernels."""
    code = code_object("gfx90a", [kernel(f"k{n}") for n in range(50)])
    name = b"hipv4-amdgcn-amd-amdhsa--gfx90a"
    at = 1 << 16
    rows = struct.pack("<QQQ", at, len(code), len(name)) + name
    data = (b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", 1_000) + rows * 1_000).ljust(at, b"\0") + code
    facts = looked(tmp_path / "x.co", data)
    assert [t.kernels for t in facts.targets] == [50]
    assert any("shares its bytes" in p.what for p in facts.problems) and len(facts.problems) < 5


def test_kernels_of_many_objects_are_bounded_together(tmp_path: Path, poor):
    poor(Cost.KERNELS, 25)
    facts = looked(tmp_path / "x.co", section([ONE] * 20))
    assert sum(t.kernels for t in facts.targets) <= 25 and len(limit(facts)) == 1


@pytest.mark.parametrize(
    ("cost", "amount"), [(Cost.INFLATION, 5 * len(ONE)), (Cost.METADATA, 5_000), (Cost.TEXT, 5_000)]
)
def test_small_bundles_are_bounded_together(cost: Cost, amount: int, tmp_path: Path, poor):
    poor(cost, amount)
    facts = looked(tmp_path / "x.co", section([ccob(ONE)] * 50))
    assert 0 < len(facts.device[0].bundles) < 10
    assert limit(facts) == [f"more than {amount:,} {cost.value} in all; what follows is not read"]
    assert "SB-READ-LIMIT" in {f.rule for f in judge(facts)}


def test_a_budget_is_told_once_for_many_files(tmp_path: Path, poor):
    poor(Cost.INFLATION, 3 * len(ONE))
    for number in range(30):
        (tmp_path / f"{number:02}.co").write_bytes(ccob(ONE))
    facts = inspect(tmp_path)
    assert len(limit(facts)) == 1 and sum(len(d.bundles) for d in facts.device) == 3


def test_problems_are_listed_up_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(recognise, "PROBLEMS", 10)
    for number in range(30):
        (tmp_path / f"{number:02}.so").write_bytes(b"no library")
    facts = inspect(tmp_path)
    assert len(facts.problems) == 11 and "more than 10 problems" in facts.problems[-1].what


def test_symbols_that_share_a_name_without_an_end(tmp_path: Path, poor):
    poor(Cost.TEXT, 1 << 20)
    data = library(exports=["A" * 3_000 + str(n) for n in range(1_000)])
    facts = looked(tmp_path / "l.so", data)
    assert facts.libraries == () and "bytes of names" in limit(facts)[0]


def test_sections_over_the_same_bytes_are_searched_once(tmp_path: Path):
    data = bytearray(library(rodata=b"\0/home/alice/x.cc\0" + b"A" * 5_000, more={f".r{n}": b"x" for n in range(400)}))
    (headers,) = struct.unpack_from("<Q", data, 40)
    (count,) = struct.unpack_from("<H", data, 60)
    spans = [struct.unpack_from("<QQ", data, headers + 64 * n + 24) for n in range(count)]
    longest = max(range(count), key=lambda n: spans[n][1] if bytes(data[spans[n][0] :]).startswith(b"\0/home") else -1)
    for number in range(count):
        if spans[number][1] == 1:
            struct.pack_into("<QQ", data, headers + 64 * number + 24, *spans[longest])
    facts = looked(tmp_path / "l.so", bytes(data))
    assert [(hit.kind, hit.count) for hit in facts.texts] == [("home-path", 1)]


def test_reads_of_many_libraries_are_bounded(tmp_path: Path, poor):
    poor(Cost.READS, 1_000)
    facts = looked(tmp_path / GOOD.filename, zipped({f"x/{n}.so": library() for n in range(100)}))
    assert 1 < len(facts.libraries) < 50 and len(limit(facts)) == len(facts.problems) == 1


def test_many_different_paths_are_counted_but_not_kept():
    scan = TextScan()
    for start in range(0, 5_000, 100):
        scan.push(b"".join(b"/home/a/%06d\0" % n for n in range(start, start + 100)))
    assert all(len(found) <= limits.DISTINCT + 1 for found in scan._counts.values())
    (hit,) = scan.hits("x")
    assert hit.count == 5_000 and len(hit.samples) == 5 and all(hit.samples)


def test_what_starts_like_a_secret_is_bounded(tmp_path: Path, poor):
    poor(Cost.TEXTS, 1_000)
    assert "start like" in limit(looked(tmp_path / "x.co", ccob(ONE) + b"://" * 10_000))[0]


def test_files_are_let_go_once_they_are_read(tmp_path: Path):
    """Twelve libraries of 1 MiB: no more than one of them is held at a time."""
    import tracemalloc

    text = b"A" * (1 << 20)
    files_ = GOOD.contents() | {f"x/lib{n}.so": library(rodata=text) for n in range(12)}
    path = tmp_path / GOOD.filename
    path.write_bytes(zipped(files_ | {f"{GOOD.info}/RECORD": record(files_, f"{GOOD.info}/RECORD")}, level=1))
    tracemalloc.start()
    facts = inspect(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(facts.libraries) == 13 and facts.problems == ()
    assert peak < 6 * len(text)


def test_a_bundle_without_code_is_passed_over(tmp_path: Path):
    """A valid one, of entries without bytes, between two others: an error once, and the rest of the section lost."""
    facts = looked(tmp_path / "x.co", section([ONE, bundle({}), ONE]))
    assert [len(b.objects) for b in facts.device[0].bundles] == [1, 0, 1] and facts.problems == ()


def test_numpy_itself_does_not_lack_numpy(tmp_path: Path):
    text = {"rodata": b"\0numpy.core.multiarray\0"}
    without = {"init": "", "metadata": "Description-Content-Type: text/plain\nLicense-File: LICENSE\n"}
    lacking = looked(tmp_path / GOOD.filename, GOOD.but(lib=text, **without).bytes())
    assert [each.module for each in lacking.imports] == ["numpy"]
    itself = looked(tmp_path / GOOD.filename, GOOD.but(lib=text, files={"numpy/__init__.py": b""}, **without).bytes())
    assert itself.imports == ()


def test_a_stream_of_any_order_raises_only_broken(tmp_path: Path):
    with pytest.raises(MalformedError):
        messagepack.members(b"\x81\xa1x", "it", 10)
    with pytest.raises(MalformedError):
        messagepack.members(b"\x81\xa1x\x01\x02", "it", 10)
