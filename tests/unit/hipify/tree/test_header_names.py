"""What a header of a tree declares is meant by the tree's other files: macros, types, members of namespaces."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.hipify import hipify_tree
from stackbuild.hipify.engines import Engine
from stackbuild.hipify.model import Report, Target
from stackbuild.hipify.tables.hipify_tools import Tools
from stackbuild.hipify.tree.files import SourceSelection
from support.hipify import bundled_rules, small_tables


def convert(folder: Path, header: str, source: str, rocm: str = "6.4") -> tuple[str, Report]:
    """The HIP text of `a.cu` beside `a.h`, and the report."""
    tree, out = folder / "tree", folder / "out"
    tree.mkdir(parents=True, exist_ok=True)
    (tree / "a.h").write_text(header)
    (tree / "a.cu").write_text(source)
    engine = Engine("fast", small_tables(), bundled_rules("generic"), Target(rocm=rocm), Tools(None, None))
    report = hipify_tree(SourceSelection((tree,), out), engine)
    return (out / "a.cu").read_text(), report


@pytest.mark.parametrize(
    ("header", "call", "converted"),
    [
        ("#define SET cudaFuncSetAttribute", "SET(kernel<1, 2>, a, 1);", "SET(reinterpret_cast<const void*>(kernel<1, 2>), a, 1);"),
        (
            "#define SET(...) CHECK(cudaFuncSetAttribute(__VA_ARGS__))",
            "SET(kernel, a, 1);",
            "SET(reinterpret_cast<const void*>(kernel), a, 1);",
        ),
        (
            "#define CALL(f, ...) \\\n  CHECK(f(__VA_ARGS__))",
            "CALL(cudaMemcpyToSymbol, table, p, 8);",
            "CALL(hipMemcpyToSymbol, HIP_SYMBOL(table), p, 8);",
        ),
    ],
)  # fmt: skip
def test_a_macro_of_a_header_hands_its_arguments_on(header: str, call: str, converted: str, tmp_path: Path) -> None:
    text, report = convert(tmp_path, header + "\n", f"void f() {{\n{call}\n}}\n")
    assert converted in text.split("\n")
    assert [f for f in report.findings if f.rule == "HIPIFY-ARGUMENTS"] == []


def test_a_file_s_own_macro_is_meant_before_a_header_s(tmp_path: Path) -> None:
    own = "#define SET(...) other(__VA_ARGS__)\nvoid f() {\nSET(kernel, a, 1);\n}\n"
    text, _ = convert(tmp_path, "#define SET(...) cudaFuncSetAttribute(__VA_ARGS__)\n", own)
    assert "SET(kernel, a, 1);" in text


@pytest.mark.parametrize(
    ("header", "severity"),
    [
        ("#if CUDART_VERSION >= 12000\n#define HAS_IT\n#endif\n", "note"),
        ("#ifdef __CUDA_ARCH__\n#define HAS_IT 1\n#else\n#define HAS_IT 0\n#endif\n", "error"),
        ("#define CUDA_VERSION 12000\n#if CUDA_VERSION >= 12000\n#define HAS_IT\n#endif\n", "error"),
    ],
)
def test_a_macro_that_a_header_defines_for_versions_of_cuda_s_alone_is_not_defined(
    header: str, severity: str, tmp_path: Path
) -> None:
    source = "#ifdef HAS_IT\ncuNothing(1);\n#endif\n"
    _, report = convert(tmp_path, header, source)
    assert [f.severity for f in report.findings if f.rule == "HIPIFY-UNSUPPORTED"] == [severity]
    _, report = convert(tmp_path, header, "#define HAS_IT\n" + source)
    assert [f.severity for f in report.findings if f.rule == "HIPIFY-UNSUPPORTED"] == ["error"]


@pytest.mark.parametrize(
    ("header", "condition", "severity"),
    [
        ("#ifdef USE_ROCM\n#define ON_HIP\n#else\n#define ON_CUDA\n#endif\n", "#ifdef ON_CUDA", "note"),
        ("#ifdef USE_ROCM\n#define ON_HIP\n#else\n#define ON_CUDA\n#endif\n", "#ifdef ON_HIP", "error"),
        ("#ifdef USE_ROCM\n#define HAS_IT 0\n#else\n#define HAS_IT 1\n#endif\n", "#if HAS_IT", "note"),
        ("#ifdef USE_ROCM\n#define HAS_IT 0\n#else\n#define HAS_IT 1\n#endif\n", "#ifdef HAS_IT", "error"),
        ("#ifdef USE_ROCM\n#define HAS_IT 2\n#else\n#define HAS_IT 1\n#endif\n", "#if HAS_IT", "error"),
    ],
)
def test_a_macro_that_a_header_gives_hip_another_value_decides(
    header: str, condition: str, severity: str, tmp_path: Path
) -> None:
    _, report = convert(tmp_path, header, f"{condition}\ncuNothing(1);\n#endif\n")
    assert [f.severity for f in report.findings if f.rule == "HIPIFY-UNSUPPORTED"] == [severity]
    (tmp_path / "tree/b.h").write_text("#define HAS_IT 3\n#define ON_CUDA\n")
    _, report = convert(tmp_path, header, f"{condition}\ncuNothing(1);\n#endif\n")
    assert [f.severity for f in report.findings if f.rule == "HIPIFY-UNSUPPORTED"] == ["error"]


@pytest.mark.parametrize("declaration", ["using Kind = cudaMemcpyKind;", "typedef enum cudaMemcpyKind Kind;"])
def test_a_header_s_name_for_a_type_of_cuda_qualifies_cuda_s_names(declaration: str, tmp_path: Path) -> None:
    text, _ = convert(tmp_path, declaration + "\n", "Kind k = Kind::cudaMemcpyHostToDevice;\n")
    assert "Kind k = Kind::hipMemcpyHostToDevice;" in text


def test_a_name_that_two_headers_give_to_two_types_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/b.h").write_text("using Kind = cudaError_t;\n")
    text, _ = convert(tmp_path, "using Kind = cudaMemcpyKind;\n", "Kind k = Kind::cudaMemcpyHostToDevice;\n")
    assert "Kind::cudaMemcpyHostToDevice" in text


def test_a_ballot_in_a_header_s_type_of_32_bits_is_told(tmp_path: Path) -> None:
    source = "__global__ void k(Lanes *p) { Lanes m = __ballot_sync(0xffffffffu, p[0]); p[1] = m; }\n"
    for declaration, rules in (
        ("using Lanes = std::uint32_t;", ["LINT-BALLOT-32"]),
        ("typedef unsigned long long Lanes;", []),
    ):
        _, report = convert(tmp_path, declaration + "\n", source)
        assert [f.rule for f in report.findings if f.rule == "LINT-BALLOT-32"] == rules


def test_a_function_of_a_header_s_namespace_keeps_its_callers(tmp_path: Path) -> None:
    header = "namespace own { namespace cuda {\ninline cudaError_t cudaFree(void *p) { return ::cudaFree(p); }\n} }\n"
    text, report = convert(tmp_path, header, "void f() { own::cuda::cudaFree(p); other::cudaFree(p); }\n")
    assert "own::cuda::hipFree(p); other::cudaFree(p);" in text
    found = [f for f in report.findings if f.rule == "HIPIFY-OWN-NAME"]
    assert found and {f.severity for f in found} == {"note"}
    assert "inline hipError_t hipFree(void *p) { return ::hipFree(p); }" in (tmp_path / "out/a.h").read_text()


def test_a_header_that_says_something_else_converts_its_users_again(tmp_path: Path) -> None:
    source = "Kind k = Kind::cudaMemcpyHostToDevice;\n"
    text, _ = convert(tmp_path, "using Kind = int;\n", source)
    assert "Kind::cudaMemcpyHostToDevice" in text
    text, _ = convert(tmp_path, "using Kind = cudaMemcpyKind;\n", source)
    assert "Kind::hipMemcpyHostToDevice" in text


def test_a_name_that_hip_lacks_and_the_tree_defines_is_no_error(tmp_path: Path) -> None:
    header = "#ifndef cuNothing\n#define cuNothing 0x80\n#endif\n"
    source = "void f() { g(cuNothing); }\n"
    _, report = convert(tmp_path, "", source)
    assert [f.rule for f in report.findings] == ["HIPIFY-UNSUPPORTED"]
    _, report = convert(tmp_path, header, source)
    assert [f.rule for f in report.findings] == []


def test_a_question_for_a_name_that_hip_lacks_is_a_note(tmp_path: Path) -> None:
    _, report = convert(tmp_path, "", "#ifdef cuNothing\n#endif\n")
    assert [(f.rule, f.severity) for f in report.findings] == [("HIPIFY-UNSUPPORTED", "note")]


def test_a_function_that_another_file_declares_is_no_asynchronous_copy_of_cuda_s(tmp_path: Path) -> None:
    source = "void f() { memcpy_async(p, q, 4); }\n"
    for header, rules in (("", ["LINT-ASYNC-COPY"]), ("void memcpy_async(void *p, const void *q, int n);\n", [])):
        _, report = convert(tmp_path, header, source)
        assert [f.rule for f in report.findings] == rules


@pytest.mark.parametrize(
    ("header", "rules"),
    [
        ("STATIC_FUNCTION(void)\ncudaMineLoad(int *p);\n", []),
        ("INLINE_FUNCTION(const char *)\ncudaMineLoad(int *p) { return 0; }\n", []),
        ("void f() { FOREACH(p) cudaMineLoad(p); }\n", ["HIPIFY-UNKNOWN"] * 2),
        ("", ["HIPIFY-UNKNOWN"]),
    ],
)
def test_a_function_whose_type_a_macro_names_is_the_tree_s(tmp_path: Path, header: str, rules: list[str]) -> None:
    _, report = convert(tmp_path, header, "__global__ void k(int* p) { cudaMineLoad(p); }\n")
    assert [f.rule for f in report.findings if f.rule == "HIPIFY-UNKNOWN"] == rules


def test_the_name_of_a_header_is_no_unknown_name(tmp_path: Path) -> None:
    _, report = convert(tmp_path, "", "#include <cudaProfiler.h>\n")
    assert [f.rule for f in report.findings if f.rule == "HIPIFY-UNKNOWN"] == []


_OPERATOR = "__device__ {0} operator*(const {0} a, const {0} b);\n"


@pytest.mark.parametrize(
    ("header", "is_own"),
    [
        (_OPERATOR.format("cuDoubleComplex"), True),
        ("inline cuComplex& operator/=(cuComplex& a, const cuComplex& b) { return a; }\n", True),
        ("__device__ cuDoubleComplex operator+(cuDoubleComplex a, cuDoubleComplex b);\n", False),
        ("__device__ cuDoubleComplex operator*(cuDoubleComplex a, double b);\n", False),
        (_OPERATOR.format("float4"), False),
        ("// " + _OPERATOR.format("cuDoubleComplex"), False),
    ],
)
def test_operators_of_a_header_make_complex_numbers_a_type_of_their_own(
    header: str, is_own: bool, tmp_path: Path
) -> None:
    text, _ = convert(tmp_path, header, "cuDoubleComplex f() { return make_cuDoubleComplex(1, 2); }\n")
    own = "stackbuild_hip::double_complex f() { return stackbuild_hip::make_double_complex(1, 2); }"
    assert (own in text) is is_own
    assert ('#include "stackbuild_hip_complex.h"' in text) is is_own


@pytest.mark.parametrize(
    ("header", "source", "rocm", "is_before"),
    [
        ("float2 operator-(float2 a, float2 b);", "#include <cufft.h>", "5.7", True),
        ("float2 operator-(float2 a, float2 b);", "#include <cuComplex.h>", "5.7", True),
        ("typedef double2 Z;\nZ operator*(double s, const Z& a);", "#include <cublas_v2.h>", "5.7", True),
        ("bool operator==(cufftComplex a, cufftComplex b);", "#include <cusparse.h>", "5.7", True),
        ("float2 operator-(float2 a, float2 b);", "#include <cufft.h>", "6.4", False),
        ("float2 operator-(float2 a, float2 b);", "#include <cuda_runtime.h>", "5.7", False),
        ("float4 operator-(float4 a, float4 b);", "#include <cufft.h>", "5.7", False),
        ("float2 minus(float2 a, float2 b);", "#include <cufft.h>", "5.7", False),
    ],
)
def test_operators_for_vectors_of_two_leave_out_those_of_complex_numbers(
    header: str, source: str, rocm: str, is_before: bool, tmp_path: Path
) -> None:
    text, _ = convert(tmp_path, header + "\n", source + "\n", rocm=rocm)
    assert ('#include "stackbuild_hip_plain_complex.h"' in text) is is_before
    by_itself, _ = convert(tmp_path / "alone", "", f"{source}\n{header}\n", rocm=rocm)
    assert ('#include "stackbuild_hip_plain_complex.h"' in by_itself) is is_before


@pytest.mark.parametrize(
    ("header", "source", "is_before"),
    [
        ("inline void f() { cublasGemmEx(h); }", "#include <cublas_v2.h>", True),
        ("inline void f() { cublasGemmEx(h); }", "#ifdef USE_ROCM\n#include <hipblas/hipblas.h>\n#endif", True),
        ("inline void f() { cublasGemmEx(h); }", "#include <cuda_runtime.h>", False),
        ("inline void f() { cublasDgemm(h); }", "#include <cublas_v2.h>", False),
    ],
)
def test_a_support_header_of_a_header_comes_before_what_it_changes(
    header: str, source: str, is_before: bool, tmp_path: Path
) -> None:
    text, _ = convert(tmp_path, header + "\n", source + '\n#include "a.h"\n')
    assert ('#include "stackbuild_hipblas_v2.h"' in text) is is_before


def test_a_support_header_that_another_includes_is_written_too(tmp_path: Path) -> None:
    text, _ = convert(tmp_path, "int n;\n", "#include <cooperative_groups.h>\n")
    assert '#include "stackbuild_hip_groups.h"' in text
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"stackbuild_hip_groups.h", "stackbuild_hip_compat.h"} <= written


def test_an_enumerator_of_a_namespace_is_followed_in_other_files(tmp_path: Path) -> None:
    header = "namespace own { enum E { good = 0, cudaSuccess = 1 }; }\n"
    text, _ = convert(tmp_path, header, "own::E f() { return own::cudaSuccess; }\nint g() { return other::cudaSuccess; }\n")
    assert "own::hipSuccess" in text and "other::cudaSuccess" in text


@pytest.mark.parametrize(
    ("header", "count"),
    [("", 1), ("__device__ void atomicAdd(half2* address, half2 val) { f(address, val); }\n", 0), ("void atomicAdd(int* a, int b);\n", 1)],
)
def test_an_atomic_of_halves_that_a_header_of_the_tree_has(tmp_path: Path, header: str, count: int) -> None:
    _, report = convert(tmp_path, header, "__global__ void k(half2* p, half2 v) { atomicAdd(p, v); }\n")
    assert [f.rule for f in report.findings].count("LINT-HALF-ATOMIC") == count


def test_uses_of_a_header_s_operator_that_does_something_else_are_told(tmp_path: Path) -> None:
    header = "inline float operator*(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }\n"
    _, report = convert(tmp_path, header, "__device__ float f(float3 v, float3 w) {\n  return v * w;\n}\n")
    uses = [f for f in report.findings if f.rule == "LINT-VECTOR-OPERATOR-USE"]
    assert [(f.subject, f.place.line) for f in uses if f.place] == [("a.cu", 2)]


@pytest.mark.parametrize(
    ("include", "is_own"), [("", True), ("#include <cub/cub.cuh>\n", False), ("#include <thrust/sort.h>\n", False)]
)
def test_a_namespace_cub_of_a_tree_without_cub_is_its_own(include: str, is_own: bool, tmp_path: Path) -> None:
    text, _ = convert(tmp_path, "namespace cub {\nstruct Bear {};\n}\n", f'{include}#include "a.h"\ncub::Bear bear;\n')
    assert ("\ncub::Bear bear;" in text) is is_own
    assert ("namespace cub {" in (tmp_path / "out" / "a.h").read_text()) is is_own
