from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackbuild.hipify.convert import convert
from stackbuild.hipify.model import ConvertedText, Launch, Target
from stackbuild.hipify.rules.rules import RuleSet
from support.hipify import hip, small_tables
from support.paths import ROOT, TESTS

PROGRAMS = TESTS / "integration" / "hipify" / "programs"
KERNELS = ROOT / "hipify" / "support"

RUNTIME = "#include <hip/hip_runtime.h>\n"


def body(made: ConvertedText) -> str:
    """The text without the runtime include that conversion adds."""
    return made.text.replace(RUNTIME, "", 1)


@pytest.mark.parametrize(
    ("cuda", "expected"),
    [
        ("cudaMalloc(&p, n);", "hipMalloc(&p, n);"),
        ("::cudaMalloc(&p, n);", "::hipMalloc(&p, n);"),
        ("return ::cudaMalloc(&p, n);", "return ::hipMalloc(&p, n);"),
        ("CHECK(cudaMalloc(&p, n));", "CHECK(hipMalloc(&p, n));"),
        ("my::cudaMalloc(&p);", "my::cudaMalloc(&p);"),
        ("a<b>::cudaMalloc(&p);", "a<b>::cudaMalloc(&p);"),
        ("x.cudaMalloc(); y->cudaMalloc();", "x.cudaMalloc(); y->cudaMalloc();"),
        ("f(args...cudaMalloc);", "f(args...hipMalloc);"),
        ("my_cudaMalloc(); cudaMallocX();", "my_cudaMalloc(); cudaMallocX();"),
        ("// cudaMalloc\ncudaFree(p);", "// cudaMalloc\nhipFree(p);"),
        ("f(); /* cudaMalloc */ cudaFree(p);", "f(); /* cudaMalloc */ hipFree(p);"),
        ("// line \\\n cudaMalloc\ncudaFree(p);", "// line \\\n cudaMalloc\nhipFree(p);"),
        ('puts("cudaMalloc \\" // cudaFree"); cudaFree(p);', 'puts("cudaMalloc \\" // cudaFree"); hipFree(p);'),
        ('auto s = R"x(cudaMalloc )" cudaFree)x"; cudaFree(p);', 'auto s = R"x(cudaMalloc )" cudaFree)x"; hipFree(p);'),
        ("char c = '\"'; cudaFree(p); // \"", "char c = '\"'; hipFree(p); // \""),
        ("int n = 1'000'000; cudaFree(p); int m = 2'0;", "int n = 1'000'000; hipFree(p); int m = 2'0;"),
        (
            "#define ALLOC(p) cudaMalloc(p, \\\n  sizeof(cudaStream_t))",
            "#define ALLOC(p) hipMalloc(p, \\\n  sizeof(hipStream_t))",
        ),
    ],
)
def test_names(cuda: str, expected: str) -> None:
    assert body(hip(cuda)) == expected


@pytest.mark.parametrize(
    ("cuda", "expected"),
    [
        ("cudaMemcpyToSymbol(table, h, n);", "hipMemcpyToSymbol(HIP_SYMBOL(table), h, n);"),
        ("cudaMemcpyToSymbol(t[f(1, 2)], h, n);", "hipMemcpyToSymbol(HIP_SYMBOL(t[f(1, 2)]), h, n);"),
        ("cudaMemcpyFromSymbol(h, t<1, 2>, n);", "hipMemcpyFromSymbol(h, HIP_SYMBOL((t<1, 2>)), n);"),
        ("cudaFuncSetAttribute(k<float, 4>, A, 1);", "hipFuncSetAttribute(reinterpret_cast<const void*>(k<float, 4>), A, 1);"),
        ("cudaFuncSetAttribute(k<a < b, 4>, A, 1);", "hipFuncSetAttribute(reinterpret_cast<const void*>(k<a < b, 4>), A, 1);"),
        (
            "cudaFuncSetAttribute(reinterpret_cast<const void*>(k), A, cudaSuccess);",
            "hipFuncSetAttribute(reinterpret_cast<const void*>(k), A, hipSuccess);",
        ),
        ("cudaMemcpyToSymbol(\n  t /* , */,\n  h, n);", "hipMemcpyToSymbol(\n  HIP_SYMBOL(t) /* , */,\n  h, n);"),
    ],
)  # fmt: skip
def test_arguments_by_balanced_brackets(cuda: str, expected: str) -> None:
    assert body(hip(cuda)) == expected


def test_an_unbalanced_bracket_is_reported_and_only_the_name_changes() -> None:
    made = hip("int f() {\n  cudaMemcpyToSymbol(t[(], h);\n}\n")
    assert "hipMemcpyToSymbol(t[(], h);" in made.text
    (finding,) = [f for f in made.findings if f.rule == "HIPIFY-UNBALANCED"]
    assert finding.place is not None and (finding.place.line, finding.place.column) == (2, 3)


@pytest.mark.parametrize(
    ("cuda", "expected"),
    [
        ("k<<<g, b>>>(x);", "hipLaunchKernelGGL(k, dim3(g), dim3(b), 0, 0, x);"),
        ("k<<<g, b, s>>>();", "hipLaunchKernelGGL(k, dim3(g), dim3(b), s, 0);"),
        ("n::k<T, 4><<<dim3(1, 2), b, 0, st>>>(x, y);", "hipLaunchKernelGGL(HIP_KERNEL_NAME(n::k<T, 4>), dim3(1, 2), dim3(b), 0, st, x, y);"),
        ("k<<<(n >> 2), b>>>(cudaSuccess);", "hipLaunchKernelGGL(k, dim3((n >> 2)), dim3(b), 0, 0, hipSuccess);"),
        ("k<T<<2><<<g,b>>>(x);", "hipLaunchKernelGGL(k<T<<2>, dim3(g), dim3(b), 0, 0, x);"),
    ],
)  # fmt: skip
def test_launches_become_calls_on_request(cuda: str, expected: str) -> None:
    made = hip(cuda, target=Target(launch="ggl"))
    assert body(made) == expected
    assert body(hip(cuda)) == cuda.replace("cudaSuccess", "hipSuccess")


def test_substitutions_are_counted_by_api_group() -> None:
    made = hip("cudaMalloc(&p, n); cudaFree(p); cudaStream_t s; atomicAdd(a, 1);")
    assert made.substitutions == {"memory": 2, "type": 1}


@pytest.mark.parametrize(
    "path", sorted(PROGRAMS.glob("*.cu")) + sorted(KERNELS.glob("**/*.h*")), ids=lambda path: path.name
)
@pytest.mark.parametrize("launch", ["keep", "ggl"])
def test_the_crlf_form_of_a_file_becomes_the_crlf_form_of_what_it_becomes(path: Path, launch: Launch) -> None:
    text = path.read_text(encoding="utf-8")
    target = Target(launch=launch)
    plain, dos = hip(text, path.name, target=target), hip(text.replace("\n", "\r\n"), path.name, target=target)
    assert dos.text == plain.text.replace("\n", "\r\n")
    assert (dos.findings, dos.rules, dos.lines) == (plain.findings, plain.rules, plain.lines)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_line_ends_and_odd_bytes_survive(newline: str) -> None:
    source = newline.join(
        ["// \udce9t\udce9", "#include <cuda_runtime.h>", "__global__ void k() {}", "cudaFree(p); \udcff", ""]
    )
    made = hip(source)
    assert made.text == source.replace("cuda_runtime.h", "hip/hip_runtime.h").replace("cudaFree", "hipFree")


PIECES = st.sampled_from(
    [
        "cudaMalloc(&p, n);", "cudaMemcpyToSymbol(t<1,2>, h, n);", "k<<<g, b>>>(x);", "#include <cuda_runtime.h>\n", "#include <cub/cub.cuh>\n",
        "#include <cublas_v2.h>\n", "#if A\n", "#else\n", "#endif\n", "__global__ void k();", "// cudaFree\n", "/* ", " */", '"', "'", "(", ")", "<", ">", ",", "\n",
        "__shfl_xor_sync(0xffffffff, v, 16)", "__shfl_sync(m, v, 0)", "#define M 0xffffffff\n", "__ballot_sync(M, p)", "using namespace cub;", "cub::X", "#pragma once\n",
        "#include <device_launch_parameters.h>\n", "cudaFuncSetAttribute(k<a,b>, A, 1);", "__syncwarp();", "\\\n", 'R"(', ')"', "cublasGemmEx(h);", "::", "my", ".", "\r\n", "é", "\udcff",
    ]
)  # fmt: skip


@settings(max_examples=40)
@given(
    st.lists(PIECES, max_size=14).map("".join), st.sampled_from(["a.cu", "x/y/b.h"]), st.sampled_from(["keep", "ggl"])
)
def test_converting_again_changes_nothing(text: str, name: str, launch: str) -> None:
    target = Target(launch=launch)  # type: ignore[arg-type]
    once = hip(text, name, target=target)
    assert hip(once.text, name, target=target).text == once.text


@settings(max_examples=40)
@given(st.lists(PIECES.map(lambda piece: piece.replace("\r", "")), max_size=14).map("".join))
def test_crlf_changes_nothing_but_line_ends(text: str) -> None:
    text += "\n"
    assert hip(text.replace("\n", "\r\n")).text == hip(text).text.replace("\n", "\r\n")


@settings(max_examples=40)
@given(st.lists(PIECES, max_size=14).map("".join))
def test_the_edits_are_the_text_and_the_line_map_fits(text: str) -> None:
    made = hip(text)
    lines = made.text.split("\n")
    numbers = [made.lines.original(i) for i in range(1, len(lines) + 1)]
    assert numbers == sorted(numbers) and numbers[-1] <= text.count("\n") + 1
    before = text.split("\n")
    for i, line in enumerate(lines, 1):
        if "stays" in line:
            assert before[made.lines.original(i) - 1] == line


def test_the_line_map_of_added_and_dropped_lines() -> None:
    text = "// licence\n#include <device_launch_parameters.h>\n#include <cuda.h>\n#include <cuda_runtime.h>\n__global__ void k() {}\nstays();\n"
    made = hip(text)
    assert made.text == "// licence\n#include <hip/hip_runtime.h>\n__global__ void k() {}\nstays();\n"
    assert [made.lines.original(n) for n in (1, 2, 3, 4)] == [1, 3, 5, 6]


def test_without_rules_the_base_is_still_converted() -> None:
    made = convert("cudaFree(p);", small_tables(), RuleSet(), Target(), "a.cu")
    assert made.text == RUNTIME + "hipFree(p);"
