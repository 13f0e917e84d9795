from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from stackbuild.hipify import hipify_tree
from stackbuild.hipify.compilation.compile_check import check_report
from stackbuild.hipify.compilation.hip_compiler import CompilerLog
from stackbuild.hipify.engines import Engine
from stackbuild.hipify.lint.catalogue import DECIDED_BY_COMPILER, WARNINGS
from stackbuild.hipify.model import Report, Target
from stackbuild.hipify.tables.hipify_tools import Tools
from stackbuild.hipify.tree.files import SourceSelection
from stackbuild.model.findings import Severity
from support.hipify import bundled_rules, small_tables
from support.paths import ROOT


@dataclass
class WrittenLogs:
    """A compiler that says of each side of a file what is written down."""

    texts: dict[tuple[str, str], str]
    left: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    gpus: tuple[str, ...] = ("gfx1100", "gfx942")
    root: Path = Path("/nonexistent")
    seconds: float = 5.0

    def logs(self, tree: Path, file: str, folders: tuple[str, ...]) -> Iterator[CompilerLog]:
        for side in ("host", *self.gpus):
            text = self.texts.get((file, side), "")
            yield CompilerLog(side, 1 if text else 0, text, is_late=text == "late")

    def expansions(self, tree: Path, file: str, folders: tuple[str, ...]) -> Iterator[CompilerLog]:
        self.asked.append(file)
        for side in ("host", *self.gpus):
            yield CompilerLog(side, 0, self.left.get(side, ""))


def check(
    source: Path, out: Path, texts: dict[tuple[str, str], str], left: dict[str, str] | None = None, asked: list[str] | None = None
) -> Report:
    engine = Engine("fast", small_tables(), bundled_rules("generic"), Target(), Tools(None, None))
    selection = SourceSelection((source,), out)
    return check_report(hipify_tree(selection, engine), selection, WrittenLogs(texts, left or {}, [] if asked is None else asked))  # type: ignore[arg-type]


def tree(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / "src" / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "src"


def rows(report: Report) -> list[tuple[str, int, str, str, str]]:
    return [
        (f.place.file, f.place.line, f.rule, f.severity.value, f.found)
        for f in report.findings
        if f.place and f.rule.startswith("HIPIFY-COMPILE")
    ]


def test_an_error_is_a_finding_at_the_line_of_the_source(tmp_path: Path) -> None:
    source = tree(tmp_path, k_cu='#include "a.h"\n__global__ void k() { __syncwarp(); }\nint i = x;\n', a_h="int b = y;\n")
    texts = {
        ("k.cu", side): "/tmp/src/a.h:1:9: error: no y\n/tmp/src/k.cu:4:9: error: no x\n" for side in ("host", "gfx1100", "gfx942")
    }
    report = check(source, tmp_path / "out", texts)
    assert (tmp_path / "out/k.cu").read_text().split("\n")[3] == "int i = x;"  # a line was added
    assert rows(report) == [
        ("a.h", 1, "HIPIFY-COMPILE-ERROR", "error", "hipcc: no y"),
        ("k.cu", 3, "HIPIFY-COMPILE-ERROR", "error", "hipcc: no x"),
    ]
    assert "1 files were parsed for gfx1100, gfx942 and the host: 0 have no error, 0 were not read" in report.entries[-1].found


def test_what_one_gpu_alone_refuses_names_it(tmp_path: Path) -> None:
    source = tree(tmp_path, k_cu="__global__ void k() {}\n")
    texts = {("k.cu", "gfx942"): "/tmp/src/k.cu:1:1: error: no textures\n"}
    assert [row[4] for row in rows(check(source, tmp_path / "out", texts))] == ["hipcc: no textures (for gfx942 alone)"]


def test_a_missing_header_is_no_error_of_the_source(tmp_path: Path) -> None:
    source = tree(tmp_path, a_cu="#include <nccl_x.h>\n", b_cu="int i;\n#include <nccl_x.h>\n")
    texts = {("a.cu", "host"): "/tmp/src/a.cu:1:10: fatal error: 'nccl_x.h' file not found\n"}
    texts |= {("b.cu", "host"): "/tmp/src/b.cu:2:10: fatal error: 'nccl_x.h' file not found\n"}
    report = check(source, tmp_path / "out", texts)
    assert [row[1:4] for row in rows(report)] == [(1, "HIPIFY-COMPILE-HEADER", "warning"), (2, "HIPIFY-COMPILE-HEADER", "note")]
    assert "2 were not read to the end" in report.entries[-1].found


def test_what_the_compiler_does_not_end_with_is_said(tmp_path: Path) -> None:
    source = tree(tmp_path, a_cu="int i;\n", b_cu="int i;\n")
    texts = {("a.cu", "host"): "late", ("b.cu", "gfx942"): "clang++: error: cannot find ROCm device library\n"}
    found = [row[4] for row in rows(check(source, tmp_path / "out", texts))]
    assert found[0] == "hipcc took longer than 5 s (host)"
    assert found[1].startswith("hipcc ended with code 1 (gfx942): clang++: error: cannot find ROCm")


def test_parts_of_other_files_and_plain_sources_are_not_compiled_alone(tmp_path: Path) -> None:
    source = tree(tmp_path, main_cu='#include "part.cu"\n', part_cu="int i = j;\n", plain_cpp="int x;\n")
    texts = {(name, "host"): f"/tmp/src/{name}:1:1: error: e\n" for name in ("part.cu", "plain.cpp")}
    report = check(source, tmp_path / "out", texts)
    assert rows(report) == [] and report.entries[-1].found.startswith("1 files were parsed")


def test_an_error_without_a_place_in_the_tree_is_the_files(tmp_path: Path) -> None:
    source = tree(tmp_path, k_cu="int i;\n")
    texts = {("k.cu", "host"): "/usr/include/x.h:1:1: error: deep\n"}
    assert [row[:2] for row in rows(check(source, tmp_path / "out", texts))] == [("k.cu", 1)]


UNKNOWN = "int i = nvtxNameNoSuch();\n"
READ = '# 1 "/tmp/src/k.cu"\nint i = nvtxNameNoSuch();\n'


def severities(report: Report, rule: str = "HIPIFY-UNKNOWN") -> list[tuple[str, int, str]]:
    return [(f.place.file, f.place.line, f.severity.value) for f in report.findings if f.place and f.rule == rule]


def test_what_the_compiler_takes_becomes_a_note(tmp_path: Path) -> None:
    source = tree(tmp_path, k_cu=UNKNOWN)
    assert severities(check(source, tmp_path / "a", {})) == [("k.cu", 1, "warning")]  # the line was not read
    report = check(source, tmp_path / "b", {}, {"gfx942": READ})
    assert severities(report) == [("k.cu", 1, "note")] and report.worst is Severity.NOTE
    assert report.entries[-1].found.endswith("0 were not read to the end; 1 findings became notes")
    (note,) = [f for f in report.findings if f.rule == "HIPIFY-UNKNOWN"]
    assert note.why.startswith("hipcc takes this line without an error (host, gfx1100, gfx942)")


def test_an_error_of_any_side_of_the_file_refutes_nothing(tmp_path: Path) -> None:
    source = tree(tmp_path, k_cu=UNKNOWN)
    asked: list[str] = []
    texts = {("k.cu", "gfx942"): "/tmp/src/k.cu:9:1: error: e\n"}
    assert severities(check(source, tmp_path / "a", texts, {"host": READ}, asked)) == [("k.cu", 1, "warning")]
    assert severities(check(source, tmp_path / "b", {("k.cu", "host"): "late"}, {"host": READ}, asked)) == [("k.cu", 1, "warning")]
    assert asked == []


def test_a_file_without_such_a_finding_is_not_read_again(tmp_path: Path) -> None:
    source = tree(tmp_path, a_cu="int i;\n", k_cu=UNKNOWN)
    asked: list[str] = []
    check(source, tmp_path / "out", {}, {}, asked)
    assert asked == ["k.cu"]


def test_a_word_that_a_macro_drops_or_a_template_holds_is_not_refuted(tmp_path: Path) -> None:
    source = tree(tmp_path, k_cu=UNKNOWN)
    for number, line in enumerate(("int i = 0;", "template <class T> int i = nvtxNameNoSuch();")):
        left = {"host": f'# 1 "/tmp/src/k.cu"\n{line}\n'}
        assert severities(check(source, tmp_path / str(number), {}, left)) == [("k.cu", 1, "warning")]


def test_a_header_is_refuted_by_a_file_that_includes_it_unless_another_has_an_error_there(tmp_path: Path) -> None:
    source = tree(tmp_path, k_cu='#include "h.h"\n', l_cu='#include "h.h"\n', h_h=UNKNOWN, alone_h=UNKNOWN)
    left = {"host": '# 1 "/tmp/src/k.cu"\n# 1 "/tmp/src/h.h" 1\nint i = nvtxNameNoSuch();\n# 2 "/tmp/src/k.cu" 2\n'}
    assert severities(check(source, tmp_path / "a", {}, left)) == [("alone.h", 1, "warning"), ("h.h", 1, "note")]
    texts = {("l.cu", "host"): "/tmp/src/l.cu:1:1: error: elsewhere\n"}
    assert ("h.h", 1, "note") in severities(check(source, tmp_path / "b", texts, left))
    texts = {("l.cu", "host"): "/tmp/src/h.h:1:9: error: undeclared\n"}
    assert ("h.h", 1, "warning") in severities(check(source, tmp_path / "c", texts, left))


def test_lines_that_the_conversion_moved_are_those_of_the_source(tmp_path: Path) -> None:
    source = tree(tmp_path, k_cu="#include <cuda_runtime.h>\n__global__ void k() { __syncwarp(); }\n" + UNKNOWN)
    left = {"host": '# 4 "/tmp/src/k.cu"\nint i = nvtxNameNoSuch();\n'}
    report = check(source, tmp_path / "out", {}, left)
    assert (tmp_path / "out/k.cu").read_text().split("\n")[3] == UNKNOWN.rstrip()  # a line was added
    assert severities(report) == [("k.cu", 3, "note")]


def test_what_a_line_means_is_not_refuted(tmp_path: Path) -> None:
    source = tree(tmp_path, k_cu="__device__ int f(int x) { return __shfl_sync(~0u, x, 31); }\n")
    left = {"host": '# 1 "/tmp/src/k.cu"\n' + (source / "k.cu").read_text()}
    report = check(source, tmp_path / "out", {}, left)
    assert severities(report, "LINT-LAST-LANE") == [("k.cu", 1, "warning")]


def test_each_rule_that_the_compiler_decides_exists() -> None:
    passes = "".join(path.read_text() for path in (ROOT / "stackbuild/hipify/passes").glob("*.py"))
    ids = set(re.findall(r'^ +(?:at, |include\S+ )?"(HIPIFY-[A-Z-]+)",', passes, re.M)) | WARNINGS.keys()
    assert sorted(DECIDED_BY_COMPILER - ids) == []
