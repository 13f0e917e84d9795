from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from stackbuild.core.errors import UsageError
from stackbuild.hipify import hipify_tree
from stackbuild.hipify.engines import Engine
from stackbuild.hipify.model import Report, Target
from stackbuild.hipify.rules.rules import join, read
from stackbuild.hipify.tables.hipify_tools import Tools
from stackbuild.hipify.tree import relocate
from stackbuild.hipify.tree.files import SourceSelection, walk
from stackbuild.hipify.tree.state import STATE
from stackbuild.views.hipify import json_of
from stackbuild.views.sarif import sarif
from support.hipify import bundled_rules, hip, small_tables


def engine(target: Target | None = None, **more: object) -> Engine:
    rules = more.get("rules", bundled_rules("generic"))
    return Engine("fast", small_tables(), rules, target or Target(), Tools(None, None))  # type: ignore[arg-type]


def run(source: Path, out: Path, exclude: tuple[str, ...] = (), is_folder: bool = False, force: bool = False) -> Report:
    return hipify_tree(SourceSelection((source,), out, exclude=exclude, is_folder=is_folder), engine(), force=force)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    source = tmp_path / "src with space"
    (source / "k").mkdir(parents=True)
    (source / "k" / "a.cu").write_bytes(
        b"#include <cuda_runtime.h>\r\n__global__ void k() { __syncwarp(); }\r\n// \xe9\r\n"
    )
    (source / "b.h").write_text("#pragma once\ncudaNothing();\ncuNothing();\n")
    (source / "plain.cpp").write_text("int x;\n")
    (source / "notes.txt").write_text("cudaMalloc\n")
    return source


def test_a_tree_keeps_its_shape_and_its_bytes(tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    report = run(tree, out)
    assert (out / "k" / "a.cu").read_bytes() == (
        b'#include "../stackbuild_hip_compat.h"\r\n#include <hip/hip_runtime.h>\r\n'
        b"__global__ void k() { __syncwarp(); }\r\n// \xe9\r\n"
    )
    assert (out / "stackbuild_hip_compat.h").read_text().startswith("// What CUDA sources use")
    assert [(f.output[len(str(out)) + 1 :], f.state) for f in report.files] == [
        ("b.h", "copied"), ("k/a.cu", "converted"), ("plain.cpp", "copied"),
    ]  # fmt: skip
    assert not (out / "notes.txt").exists() and report.changed_outputs == 4
    assert [(f.rule, f.subject) for f in report.findings] == [
        ("HIPIFY-UNKNOWN", "b.h"), ("HIPIFY-UNSUPPORTED", "b.h"), ("HIPIFY-NOT-UTF8", "k/a.cu"),
    ]  # fmt: skip


def test_an_unchanged_tree_writes_nothing_and_reports_the_same(tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = json_of(run(tree, out))

    def times() -> dict[Path, int]:  # the state itself learns the stamps of files that were new before
        return {p: p.stat().st_mtime_ns for p in out.rglob("*") if p.is_file() and p.name != STATE}

    before = times()
    second = json_of(run(tree, out))
    assert second["written"] == 0 and times() == before
    assert [f["state"] for f in second["files"]] == ["copied", "unchanged", "copied"]
    for one in (first, second):
        one.pop("seconds"), one.pop("written")
        for file in one["files"]:
            file.pop("state")
    assert first == second


def test_only_what_changed_is_written_and_never_older_than_its_source(tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(tree, out)
    before = (out / "b.h").stat().st_mtime_ns
    (tree / "k" / "a.cu").write_text("cudaFree(p);\n")
    later = time.time_ns() + 10**10
    os.utime(tree / "k" / "a.cu", ns=(later, later))
    assert run(tree, out).changed_outputs == 1
    assert (out / "b.h").stat().st_mtime_ns == before and (out / "k" / "a.cu").stat().st_mtime_ns >= later


def test_a_file_whose_stamp_is_the_same_is_not_read_and_one_whose_bytes_are_is_not_converted(
    tree: Path, tmp_path: Path
) -> None:
    out, path = tmp_path / "out", tree / "k" / "a.cu"
    time.sleep(0.15)  # a file that was just written is always read again
    run(tree, out)
    before = path.stat()
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert run(tree, out).changed_outputs == 0
    path.write_bytes(path.read_bytes().replace(b"k()", b"q()"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert run(tree, out).changed_outputs == 1 and b"q()" in (out / "k" / "a.cu").read_bytes()


def test_rules_tables_and_target_decide_too(tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(tree, out)
    mine = join(
        [read("schema: 1\nname: m\nrules: [{id: r, why: w, identifier: x, to: y}]", "m.yaml"), bundled_rules("generic")]
    )
    assert hipify_tree(SourceSelection((tree,), out), engine(rules=mine)).changed_outputs == 1
    assert (out / "plain.cpp").read_text() == "int y;\n"
    report = hipify_tree(SourceSelection((tree,), out), engine(Target(rocm="6.1"), rules=mine))
    assert {f.state for f in report.files} <= {"converted", "copied"}


def test_an_output_that_somebody_changed_is_made_again(tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(tree, out)
    (out / "k" / "a.cu").write_text("mine")
    assert run(tree, out).changed_outputs == 1 and b"syncwarp" in (out / "k" / "a.cu").read_bytes()


def test_outputs_of_removed_sources_go_but_not_those_somebody_changed(tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(tree, out)
    (tree / "b.h").unlink(), (tree / "plain.cpp").unlink()
    (out / "plain.cpp").write_text("mine")
    assert run(tree, out).removed == ("b.h",)
    assert not (out / "b.h").exists() and (out / "plain.cpp").read_text() == "mine"


def test_an_output_inside_the_source_is_not_read_again(tree: Path) -> None:
    out = tree / "build" / "hip"
    first = run(tree, out)
    second = run(tree, out)
    assert len(first.files) == len(second.files) == 3 and second.changed_outputs == 0
    assert not (out / "build").exists()


@pytest.mark.parametrize("where", [".", ".."])
def test_an_output_that_would_overwrite_the_source_is_refused(tree: Path, where: str) -> None:
    with pytest.raises(UsageError, match="would overwrite the source"):
        run(tree, tree / where)


def test_a_binary_file_is_copied_with_a_warning_in_a_tree_and_refused_by_name(tree: Path, tmp_path: Path) -> None:
    (tree / "fatbin.cu").write_bytes(b"\x7fELF\0\0cudaMalloc")
    out = tmp_path / "out"
    report = run(tree, out)
    assert (out / "fatbin.cu").read_bytes() == b"\x7fELF\0\0cudaMalloc"
    assert [f.state for f in report.files if f.source.endswith("fatbin.cu")] == ["refused"]
    assert "HIPIFY-NOT-CONVERTED" in {f.rule for f in report.findings}
    with pytest.raises(UsageError, match="it is a binary file"):
        run(tree / "fatbin.cu", tmp_path / "one.cu")


def test_globs_that_pick_nothing_are_told_and_remove_nothing(tree: Path, tmp_path: Path) -> None:
    run(tree, tmp_path / "out")
    with pytest.raises(UsageError, match=r"none of its \d C, C"):
        hipify_tree(SourceSelection((tree,), tmp_path / "out", include=("nowhere/**",)), engine())
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="there is no C, C"):
        run(tmp_path / "empty", tmp_path / "out")
    assert list((tmp_path / "out").rglob("*.cu"))


def test_another_output_inside_the_source_is_not_read(tree: Path, tmp_path: Path) -> None:
    first = run(tree, tree / "hip")
    again = run(tree, tmp_path / "out")
    assert len(again.files) == len(first.files)
    assert not (tmp_path / "out" / "hip").exists()


def test_a_file_that_is_too_large_is_copied_with_a_warning(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    with (tmp_path / "src" / "big.cu").open("wb") as file:
        file.truncate((64 << 20) + 1)
    report = run(tmp_path / "src", tmp_path / "out")
    assert [f.found for f in report.findings] == ["64 MiB are more than the 64 MiB that are converted"]
    assert (tmp_path / "out" / "big.cu").stat().st_size == (64 << 20) + 1


def test_utf16_is_told_from_binary(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_bytes("cudaMalloc".encode("utf-16"))
    with pytest.raises(UsageError, match="it is UTF-16"):
        run(tmp_path / "a.cu", tmp_path / "b.cu")


def test_one_file_to_a_file_or_a_folder(tree: Path, tmp_path: Path) -> None:
    run(tree / "plain.cpp", tmp_path / "x" / "y.cpp")
    run(tree / "plain.cpp", tmp_path / "z")
    run(tree / "plain.cpp", tmp_path / "w.d", is_folder=True)
    assert [p.is_file() for p in (tmp_path / "x/y.cpp", tmp_path / "z/plain.cpp", tmp_path / "w.d/plain.cpp")] == [
        True
    ] * 3


def test_several_sources_that_collide_are_refused(tree: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / tree.name
    other.mkdir(parents=True)
    (other / "b.h").write_text("int y;\n")
    with pytest.raises(UsageError, match="would both become"):
        walk(SourceSelection((tree, other), tmp_path / "out"))


def test_a_missing_source_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file or folder"):
        run(tmp_path / "gone", tmp_path / "out")


def test_globs_select(tree: Path, tmp_path: Path) -> None:
    selection = SourceSelection((tree,), tmp_path / "o", include=("**/*.cu", "*.h"), exclude=("b.*",))
    assert [j.name for j in walk(selection).jobs] == ["k/a.cu"]


def test_a_broken_state_is_no_reason_to_stop(tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(tree, out)
    for broken in ("", "{", "[]", '{"format": 3, "key": 1}', '{"format": 99}'):
        (out / STATE).write_text(broken)
        assert len(run(tree, out).files) == 3


def test_compiler_messages_are_shown_against_the_source(tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(tree, out)
    log = f"{out}/k/a.cu:3:12: error: x\nIn file included from k/a.cu:4:\n/usr/include/a.h:3: note: y\n"
    source = tree / "k" / "a.cu"
    assert relocate.relocate(log, out) == (
        f"{source}:2:12: error: x\nIn file included from {source}:3:\n/usr/include/a.h:3: note: y\n"
    )


def test_the_report_is_json_and_sarif(tree: Path, tmp_path: Path) -> None:
    from stackbuild.model.findings import Rung, Status, Verification

    report = run(tree, tmp_path / "out")
    assert json.loads(json.dumps(json_of(report)))["counts"] == {"error": 1, "warning": 0, "note": 2}
    rung = Rung("hipify", Status.FAILED, "", 0.0, report.findings)
    results = json.loads(sarif([Verification("hipify", "", (rung,))]))["runs"][0]["results"]
    assert {r["ruleId"] for r in results} == {"HIPIFY-UNKNOWN", "HIPIFY-UNSUPPORTED", "HIPIFY-NOT-UTF8"}


@pytest.mark.parametrize(
    "text",
    [
        "cudaMemcpyToSymbol(" * 1_000, '"' * 30_000, 'R"(' * 30_000, "/*" * 30_000, "<<<" * 15_000, "k<" * 30_000,
        "#if\n" * 15_000, "__shfl_sync(" * 1_000, "for (" * 15_000, "__ballot_sync(" * 1_000, 'asm("' * 1_000, "\\\n" * 30_000,
        "a::" * 30_000 + "cudaFree", "'" * 30_000, "// \\\n" * 15_000, "__launch_bounds__(" * 1_000, "#define M 0xffffffff \\\n" * 6_000,
        "enum { warpSize <" * 1_000, "cuda::" * 20_000, "threadIdx.x %" * 3_000, "texture<" * 6_000, "constexpr warpSize [" * 1_000,
        "__shfl(" + "do " * 30_000, "__shfl(" + "while (" * 15_000, "o = 1; while (o) { " * 3_000 + "__shfl(v, o)", "__shfl(v, 4);" * 6_000,
        "cudaMallocHost(a, " * 3_000, "f(" * 30_000 + "cudaMallocHost(a, b)",
    ],
    ids=lambda text: text[:20].strip(),
)  # fmt: skip
def test_hostile_text_takes_linear_time(text: str) -> None:
    start = time.process_time()
    hip(text, target=Target(launch="ggl"))
    assert time.process_time() - start < 2


def test_what_another_file_of_the_tree_declares_is_not_cudas(tmp_path: Path) -> None:
    source = tmp_path / "src"
    (source / "cuda").mkdir(parents=True)
    (source / "a.cu").write_text(
        '#include "cuda/cuda_helpers.h"\n#include <cuda/std/atomic>\ncudaMine(1);\nCU_MINE;\ncudaNobodys(1);\ncuda::barrier b;\nf<cuda::ptx>();\ncuda::ptx::f();\n'
    )
    (source / "cuda" / "cuda_helpers.h").write_text(
        "int cudaMine(int x) { return x; }\nenum E { CU_MINE, CU_OTHER };\nnamespace cuda { struct barrier {}; enum { ptx }; }\n"
    )
    whole = [(f.rule, f.place.line if f.place else 0) for f in run(source, tmp_path / "out").findings]
    assert whole == [("LINT-CUDA-STD", 2), ("HIPIFY-UNKNOWN", 5), ("LINT-CUDA-STD", 8)]
    again = [(f.rule, f.place.line if f.place else 0) for f in run(source, tmp_path / "out").findings]
    assert again == whole  # also from what the first run kept
    (source / "cuda" / "cuda_helpers.h").write_text("\n")
    now = {f.rule for f in run(source, tmp_path / "out").findings if f.place and f.place.line in (3, 4)}
    assert now == {"HIPIFY-UNKNOWN"}


def test_a_class_that_the_tree_defines_is_not_cudas(tmp_path: Path) -> None:
    source = tmp_path / "src"
    source.mkdir()
    (source / "a.cu").write_text("cuNothing<int, 1> x;\n")
    assert [f.rule for f in run(source, tmp_path / "out").findings] == ["HIPIFY-UNSUPPORTED"]
    (source / "own.h").write_text("template <class T, int n> struct cuNothing;\n")
    assert [f.rule for f in run(source, tmp_path / "out").findings if "a.cu" in f.subject] == ["HIPIFY-UNSUPPORTED"]
    (source / "own.h").write_text("template <class T> struct cuNothing<T, 1> : base { T x; };\n")
    assert not run(source, tmp_path / "out").findings


@pytest.mark.parametrize(
    ("header", "severity"),
    [
        ("typedef enum { A = 1, B } cuNothing;\n", "note"),
        ("typedef struct { int a[9]; " + "int b; " * 900 + "} cuNothing;\n", "note"),
        ('extern "C" {\nint cuNothing(int, int);\n}\n', "note"),
        ("namespace n { enum E { A, cuNothing, B }; }\n", "note"),
        ("struct S { int cuNothing; };\n", "error"),
        ("int f() { return cuNothing(1); }\n", "error"),
    ],
)  # fmt: skip
def test_what_the_tables_know_and_the_tree_declares_is_a_note(header: str, severity: str, tmp_path: Path) -> None:
    source = tmp_path / "src"
    source.mkdir()
    (source / "a.cu").write_text("void f() { g(cuNothing + 1); }\n")
    (source / "own.c").write_text(header)
    found = [f for f in run(source, tmp_path / "out").findings if "a.cu" in f.subject]
    assert [(f.rule, f.severity) for f in found] == [("HIPIFY-UNSUPPORTED", severity)]
    assert found[0].fix.startswith("see what it is linked with") is (severity == "note")


def test_a_tree_s_own_folder_is_not_cutlass(tmp_path: Path) -> None:
    source = tmp_path / "src"
    (source / "lib" / "cute").mkdir(parents=True)
    (source / "a.cu").write_text('#include "cute/own.cuh"\n#include <cute/tensor.hpp>\n')
    (source / "lib" / "cute" / "own.cuh").write_text("int i;\n")
    found = [f for f in run(source, tmp_path / "out").findings if f.rule == "LINT-CUTLASS"]
    assert [f.place.line for f in found if f.place] == [2]
    (source / "lib" / "cute" / "tensor.hpp").write_text("int i;\n")
    found = [f for f in run(source, tmp_path / "out").findings if f.rule == "LINT-CUTLASS"]
    assert [f.place.line for f in found if f.place] == [1]  # a copy of CUTLASS itself


def test_a_link_into_a_source_that_is_named_by_a_relative_path_is_converted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "src" / "sub").mkdir(parents=True)
    (tmp_path / "src" / "a.cu").write_text("cudaFree(p);\n")
    (tmp_path / "src" / "sub" / "a.cu").symlink_to("../a.cu")
    monkeypatch.chdir(tmp_path)
    report = run(Path("src"), Path("out"))
    assert (tmp_path / "out" / "sub" / "a.cu").read_text().endswith("hipFree(p);\n")
    assert [f.rule for f in report.findings if f.rule == "HIPIFY-NOT-CONVERTED"] == []


def test_a_macro_of_the_tree_is_no_device_function_of_cudas(tmp_path: Path) -> None:
    source = tmp_path / "src"
    source.mkdir()
    (source / "a.cu").write_text("__device__ int f() { return umin(1, 2); }\n")
    assert "HIPIFY-UNSUPPORTED-DEVICE" in [f.rule for f in run(source, tmp_path / "out").findings]
    (source / "a.cu").write_text("#define umin min\n__device__ int f() { return umin(1, 2); }\n")
    assert "HIPIFY-UNSUPPORTED-DEVICE" not in [f.rule for f in run(source, tmp_path / "out").findings]


def test_a_device_function_that_the_tree_defines_is_not_cudas(tmp_path: Path) -> None:
    source = tmp_path / "src"
    source.mkdir()
    (source / "a.cu").write_text("__device__ int f() { return umin(1, 2); }\n")
    assert "HIPIFY-UNSUPPORTED-DEVICE" in [f.rule for f in run(source, tmp_path / "out").findings]
    (source / "a.h").write_text("namespace own {\ninline __device__ int umin(int a, int b) { return a; }\n}\n")
    assert "HIPIFY-UNSUPPORTED-DEVICE" not in [f.rule for f in run(source, tmp_path / "out").findings]


def test_what_the_tree_puts_into_cubs_namespace_is_no_gap_of_hipcub(tmp_path: Path) -> None:
    source = tmp_path / "src"
    source.mkdir()
    (source / "a.cu").write_text("cub::MyThing<int> x;\nthrust::my_call(y);\nint n = CUB_NS_PREFIX;\n")
    rules = ["LINT-CUB-NAME", "LINT-THRUST-NAME", "LINT-CUB-MACRO"]
    assert [f.rule for f in run(source, tmp_path / "out").findings] == rules
    (source / "own.h").write_text(
        "#define CUB_NS_PREFIX 1\nnamespace cub { struct MyThing; }\nnamespace thrust {\nint my_call(int);\n}\n"
    )
    assert not run(source, tmp_path / "out").findings


def test_a_file_of_the_tree_is_not_cudas_header_of_that_name(tmp_path: Path) -> None:
    source = tmp_path / "src"
    (source / "k").mkdir(parents=True)
    text = '#include "vector_functions.h"\n#include <vector_functions.h>\n'
    for name in ("a.cu", "k/b.cu"):
        (source / name).write_text(text)
    (source / "k" / "vector_functions.h").write_text("int x;\n")
    run(source, tmp_path / "out")
    assert '"vector_functions.h"' not in (tmp_path / "out" / "a.cu").read_text()
    assert (
        tmp_path / "out" / "k" / "b.cu"
    ).read_text() == '#include <hip/hip_runtime.h>\n#include "vector_functions.h"\n#include <hip/hip_vector_types.h>\n'
    (source / "k" / "vector_functions.h").unlink()
    run(source, tmp_path / "out")
    assert '"vector_functions.h"' not in (tmp_path / "out" / "k" / "b.cu").read_text()


@pytest.mark.parametrize(("name", "is_source"), [("Makefile.inc", False), ("make-rules.inc", False), ("maker.inc", True)])
def test_a_part_of_a_makefile_is_no_source(name: str, is_source: bool, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "b.h").write_text("int x;\n")
    (tmp_path / "src" / name).write_text("cuNothing();\n")
    assert (name in [f.subject for f in run(tmp_path / "src", tmp_path / "out").findings]) is is_source
