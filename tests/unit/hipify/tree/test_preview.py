"""Runs that leave no output folder, whole trees that build, and what build files say of CUDA."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stackbuild.core.errors import UsageError
from stackbuild.hipify.engines import Engine
from stackbuild.hipify.model import Report, Target
from stackbuild.hipify.tables.hipify_tools import Tools
from stackbuild.hipify.tree.build_files import build_findings
from stackbuild.hipify.tree.files import SourceSelection
from stackbuild.hipify.tree.preview import convert_in_place, preview
from stackbuild.hipify.tree.tree import hipify_tree
from stackbuild.views.hipify import draw_diff, html_of, json_of, print_annotations
from support.hipify import bundled_rules, small_tables

KERNEL = b"#include <cuda_runtime.h>\n__global__ void k() { __syncwarp(); }\nvoid f() { cuNothing(); }\n"


def engine() -> Engine:
    return Engine("fast", small_tables(), bundled_rules("generic"), Target(), Tools(None, None))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    source = tmp_path / "src"
    (source / "k").mkdir(parents=True)
    (source / "k" / "a.cu").write_bytes(KERNEL)
    (source / "plain.cpp").write_text("int x;\n")
    (source / "data.bin").write_bytes(b"\0\1cudaMalloc")
    (source / "configure").write_text("#!/bin/sh\n")
    (source / "configure").chmod(0o755)
    (source / "CMakeLists.txt").write_text(
        "project(x LANGUAGES CXX CUDA) # CUDA::x\ntarget_link_libraries(x CUDA::cublas)\n"
    )
    return source


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def rules(report: Report) -> list[tuple[str, str]]:
    return [(f.rule, f.subject) for f in report.findings]


def test_a_preview_reports_what_a_run_would_and_writes_nothing(tree: Path, tmp_path: Path) -> None:
    before, out = files(tree), tmp_path / "out"
    tried = preview(SourceSelection((tree,), out), engine())
    assert files(tree) == before and not out.exists() and tried.report.changed_outputs == 0
    real = hipify_tree(SourceSelection((tree,), out), engine())
    assert [f.findings for f in tried.report.files] == [f.findings for f in real.files]
    assert [f.output for f in tried.report.files] == [f.output for f in real.files]
    assert [(c.name, c.after) for c in tried.changes] == [("k/a.cu", (out / "k/a.cu").read_bytes())]
    assert tried.support.keys() == {"stackbuild_hip_compat.h"}


def test_the_diff_is_one_that_patch_takes(tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tried = preview(SourceSelection((tree,), tmp_path / "out"), engine())
    draw_diff(tried.changes, tried.new_support)
    said = capsys.readouterr().out
    assert (
        said.startswith("--- a/k/a.cu\n+++ b/k/a.cu\n@@ -1,3 +1,4 @@\n")
        and "-#include <cuda_runtime.h>\n+#include" in said
    )
    assert "--- /dev/null\n+++ b/stackbuild_hip_compat.h\n@@ -0,0 +1," in said
    convert_in_place(SourceSelection((tree,), tmp_path / "out"), engine())
    assert not preview(SourceSelection((tree,), tmp_path / "out"), engine()).new_support


def test_the_diff_keeps_bytes_and_ends_of_lines(
    tree: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tree / "k/a.cu").write_bytes(b"// \xe9\x0cpage\r\n// \xe2\x80\xa8\nint x = cudaSuccess;")
    tried = preview(SourceSelection((tree,), tmp_path / "out"), engine())
    draw_diff(tried.changes, {})
    said = capfdbinary.readouterr().out
    assert said.endswith(
        b" // \xe9\x0cpage\r\n // \xe2\x80\xa8\n-int x = cudaSuccess;\n\\ No newline at end of file\n"
        b"+#include <hip/hip_runtime.h>\n+int x = hipSuccess;\n\\ No newline at end of file\n"
    )


def test_sources_are_replaced_and_kept_beside(tree: Path) -> None:
    selection = SourceSelection((tree,), Path("/nonexistent"))
    report = convert_in_place(selection, engine())
    assert report.changed_outputs == 2 and (tree / "k/a.cu.prehip").read_bytes() == KERNEL
    first = files(tree)
    assert b'#include "../stackbuild_hip_compat.h"' in first["k/a.cu"] and "plain.cpp.prehip" not in first
    assert convert_in_place(selection, engine()).changed_outputs in (0, 1) and files(tree) == first  # an original is kept once
    (tree / "stackbuild_hip_compat.h").write_text("mine\n")
    (tree / "k/a.cu").write_bytes(KERNEL)
    with pytest.raises(UsageError, match="support header"):
        convert_in_place(selection, engine())
    assert (tree / "k/a.cu").read_bytes() == KERNEL


def test_the_rest_of_a_tree_comes_along(tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    selection = SourceSelection((tree,), out, has_rest=True)
    report = hipify_tree(selection, engine())
    made = files(out)
    assert made["data.bin"] == b"\0\1cudaMalloc" and os.access(out / "configure", os.X_OK) and "CMakeLists.txt" in made
    assert [f.rule for f in report.findings if f.subject == "data.bin"] == []
    assert hipify_tree(selection, engine()).changed_outputs == 0
    (tree / "data.bin").unlink()
    assert hipify_tree(selection, engine()).removed == ("data.bin",)
    (out / "configure").write_text("mine\n")
    hipify_tree(selection, engine())
    assert (out / "configure.edited").read_text() == "mine\n"
    only = SourceSelection((tree,), tmp_path / "only", include=("k/*",), has_rest=True)
    hipify_tree(only, engine())
    assert (tmp_path / "only" / "plain.cpp").read_text() == "int x;\n"


def test_an_output_converted_again_is_the_same(tree: Path, tmp_path: Path) -> None:
    once, twice, part = tmp_path / "once", tmp_path / "twice", tmp_path / "part"
    hipify_tree(SourceSelection((tree,), once), engine())
    hipify_tree(SourceSelection((once,), twice), engine())
    assert {n: t for n, t in files(once).items() if ".stack" not in n} == {
        n: t for n, t in files(twice).items() if ".stack" not in n
    }
    hipify_tree(SourceSelection((once / "k",), part), engine())
    assert (part / "a.cu").read_bytes() == (once / "k/a.cu").read_bytes().replace(b"../stackbuild", b"stackbuild")


@pytest.mark.parametrize(
    ("name", "line", "found", "to"),
    [
        ("CMakeLists.txt", "enable_language(CXX CUDA)", "enable_language(CXX CUDA …) is CUDA's", "enable_language(HIP)"),
        ("a.cmake", "find_package(CUDAToolkit REQUIRED)", "find_package(CUDAToolkit …) is CUDA's", "find_package(hip"),
        (
            "CMakeLists.txt",
            "set(CMAKE_CUDA_ARCHITECTURES 80)",
            "CMAKE_CUDA_ARCHITECTURES is CUDA's",
            "CMAKE_HIP_ARCHITECTURES",
        ),
        ("CMakeLists.txt", "link(CUDA::cufft)", "CUDA::cufft is CUDA's", "hip::hipfft"),
        ("Makefile", "CC = nvcc", "nvcc is CUDA's", "hipcc"),
        (
            "x.mk",
            "F += -gencode=arch=compute_80,code=sm_80",
            "-gencode=arch=compute_80,code=sm_80 is CUDA's",
            "--offload-arch",
        ),
        ("Makefile", "L = -lcublas", "-lcublas is CUDA's", "-lhipblas"),
    ],
)
def test_cuda_in_build_files_is_told_with_its_hip_form(
    tmp_path: Path, name: str, line: str, found: str, to: str
) -> None:
    (tmp_path / name).write_text(f"# {line}\n{line}\n")
    (tmp_path / "other.txt").write_text(line)
    told = build_findings((tmp_path,), tmp_path / "out")
    assert [(f.subject, f.found, f.place.line if f.place else 0) for f in told] == [(name, found, 2)] and to in told[
        0
    ].fix


def test_a_question_in_a_build_file_is_a_note(tmp_path: Path) -> None:
    text = "if(TARGET CUDA::cudart)\n  message(STATUS x)\nelseif(X)\n  message(${CUDA_NVCC_FLAGS})\nendif()\n"
    (tmp_path / "CMakeLists.txt").write_text(text)
    assert [f.severity.value for f in build_findings((tmp_path,), tmp_path / "out")] == ["note", "note"]
    (tmp_path / "CMakeLists.txt").write_text("if(TARGET CUDA::cudart)\n  link(CUDA::cudart)\nendif()\n")
    findings = build_findings((tmp_path,), tmp_path / "out")
    assert [(f.severity.value, f.place.line) for f in findings if f.place] == [("warning", 2)]


def test_a_makefile_for_hip_has_notes(tmp_path: Path) -> None:
    (tmp_path / "Makefile.hip").write_text("all:\n\tcc -lcudart\n")
    assert [f.severity.value for f in build_findings((tmp_path,), tmp_path / "out")] == ["note"]


def test_build_files_that_say_nothing_of_cuda_are_not_told(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text("project(x LANGUAGES CXX)\nset(MY_CUDA_X 1)\nfind_package(CUDAny)\n")
    (tmp_path / "Makefile").write_text("all: my_nvcc\n\tcc -march=native -lm x.c\n")
    (tmp_path / "Makefile.in").write_text("all:\n\tgzip -dc x.gz\n\tlibtool -Xcompiler x\n")
    assert build_findings((tmp_path,), tmp_path / "out") == ()


def test_annotations_and_pages_name_file_and_line(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    selection = SourceSelection((Path("src"),), tmp_path / "out")
    (tree / "k" / "b,1%.cu").write_bytes(b"<b>cuNothing</b>();\n" * 2)
    report = preview(selection, engine()).report
    print_annotations(report, selection)
    said = capsys.readouterr().out.splitlines()
    assert any(
        line.startswith("::error file=src/k/a.cu,line=3,col=12,title=HIPIFY-UNSUPPORTED::cuNothing") for line in said
    )
    assert any(line.startswith("::error file=src/k/b%2C1%25.cu,line=1,") for line in said)
    assert any(line.startswith("::warning file=src/CMakeLists.txt,line=2,") for line in said)
    page = html_of(report)
    assert 0 < page.index("b,1%.cu") < page.index("k/a.cu") and "<b>cuNothing" not in page and "<script" not in page
    assert not any("declares" in file for file in json_of(report)["files"])
