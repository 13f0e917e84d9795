"""Branches that HIP's compiler leaves out: their findings are notes."""

from __future__ import annotations

import pytest

from support.hipify import hip
from support.lint_samples import rule_severities


@pytest.mark.parametrize(
    ("condition", "severity"),
    [
        ("#ifdef MINE_CUDA", "note"),
        ("#if defined(__NVCC__) || defined(__NVCOMPILER_CUDA__)", "note"),
        ("#ifndef MINE_CUDA", "error"),
        ("#ifdef MINE_OTHER", "error"),
    ],
)
def test_a_branch_for_cuda_beside_one_for_hip_is_left_out(condition: str, severity: str) -> None:
    text = f"{condition}\ncuNothing(1);\n#elif defined(MINE_ROCM)\nf();\n#endif\n"
    assert [f.severity.value for f in hip(text).findings if f.rule == "HIPIFY-UNSUPPORTED"] == [severity]
    text = text.replace("MINE_ROCM", "MINE_SYCL")
    assert [f.severity.value for f in hip(text).findings if f.rule == "HIPIFY-UNSUPPORTED"] == ["error"]


@pytest.mark.parametrize(
    ("condition", "severity"),
    [
        ("#if CUDA_VERSION >= 12000", "note"),
        ("#if defined(CUDA_VERSION) && CUDA_VERSION >= 13000", "note"),
        ("#ifdef NV_NPPIDEFS_H", "note"),
        ("#if (CUDART_VERSION > 9000)", "note"),
        ("#if CUDA_VERSION < 12000\n#else", "note"),
        ("#if !defined(NVML_DEVICE_SERIAL_BUFFER_SIZE)\n#else", "note"),
        ("#ifndef CUDA_VERSION\n#else", "note"),
        ("#ifdef __JETBRAINS_IDE__", "note"),
        ("#if defined(CUSPARSE_VER_MAJOR) && defined(CUSPARSE_VER_MINOR)", "note"),
        ("#ifdef MINE_ROCTX\n#else", "note"),
        ("#ifdef MINE_ROCK\n#else", "error"),
        ("#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 900)", "note"),
        ("#if __CUDA_ARCH__ < 700", "error"),
        ("#if !defined(__xlC__) || (__xlC__ >= 0x0d00)\n#else", "note"),
        ("#if !defined(__xlC__) && MINE\n#else", "error"),
        ("#ifndef CUDA_VERSION", "error"),
        ("#if !defined(MINE)\n#else", "error"),
        ("#if CUDA_VERSION < 12000", "error"),
        ("#if CUDA_VERSION >= 12000 || MINE", "error"),
        ("#if MINE >= 12000", "error"),
        ("#if 0", "note"),
        ("#if __CUDA_ARCH__", "note"),
        ("#if MINE", "error"),
        ("#if 1\n#else", "note"),
        ("#if 1", "error"),
        ("#ifdef CUPTI_METRIC_COLLECTION_SCOPE_CONTEXT", "note"),
        ("#if defined(CUTE_ARCH_CP_ASYNC_SM80_ENABLED)", "note"),
        ("#ifdef CUTE_MINE", "error"),
        ("#ifndef _MSC_VER\n#else", "note"),
        ("#ifdef _MSC_VER\n#else", "error"),
        ("#ifdef LIBCUDACXX_VERSION", "note"),
        ("#ifdef USE_ROCM\n#define HAS_IT 0\n#else\n#define HAS_IT 1\n#endif\n#if HAS_IT", "note"),
        ("#ifdef USE_ROCM\n#define HAS_IT 0\n#else\n#define HAS_IT 1\n#endif\n#if (HAS_IT) && MINE", "note"),
        ("#ifdef USE_ROCM\n#define HAS_IT 0\n#else\n#define HAS_IT 1\n#endif\n#ifdef HAS_IT", "error"),
        ("#ifdef USE_ROCM\n#define HAS_IT 1\n#else\n#define HAS_IT 0\n#endif\n#if HAS_IT", "error"),
        ("#define HAS_IT 0\n#if HAS_IT", "error"),
        ("#ifdef __HIP_PLATFORM_NVCC__", "note"),
        ("#ifdef __HIP_PLATFORM_NVCC__\n#else", "error"),
        ("#if CUDA_VERSION >= 12000\n#define HAS_IT\n#endif\n#ifdef HAS_IT", "note"),
        ("#if CUDA_VERSION >= 12000\n#define HAS_IT\n#endif\n#define HAS_IT\n#ifdef HAS_IT", "error"),
        ("#define MINE_VERSION CUDA_VERSION\n#if MINE_VERSION >= 12000", "note"),
        ("#define MINE_VERSION OTHER_VERSION\n#if MINE_VERSION >= 12000", "error"),
        ("#define CUDA_VERSION 12000\n#if CUDA_VERSION >= 12000", "error"),
    ],
)
def test_branches_of_versions_that_hip_has_not_are_left_out(condition: str, severity: str) -> None:
    made = hip(f"{condition}\ncuNothing(1);\n#endif\n")
    assert [f.severity.value for f in made.findings if f.rule == "HIPIFY-UNSUPPORTED"] == [severity]


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("#if __CUDA_ARCH__ >= 700\nf();\n#else\ng();\n#endif\n", "note"),
        ("#ifdef __CUDA_ARCH__\nf();\n#endif\n", "note"),
        ("#if CUDA_VERSION < 9000\nf();\n#endif\n", "note"),
        ("#if CUDA_VERSION >= 9000 || MINE\nf();\n#else\n#error old\n#endif\n", "note"),
        ("#if __CUDA_ARCH__ >= 700\nf();\n#else\n#error too old\n#endif\n", "warning"),
        ("#ifndef CUDA_VERSION\n#error no CUDA\n#endif\n", "warning"),
        ("#ifndef CUDA_VERSION\nf();\n#else\n#error CUDA\n#endif\n", "note"),
        ("#ifdef __CUDA_ARCH__\n#define BOTH __device__\n#else\n#define BOTH\n#endif\n", "warning"),
        ("int v = CUDA_VERSION;\n", "warning"),
        ("void k() {\n#if __CUDA_ARCH__ >= 700\nf();\n#endif\n}\n", "warning"),
        ("void k() {\n#if __CUDA_ARCH__ >= 700\nf();\n#endif  // old\n}\n", "warning"),
        ("void k() {\n#if __CUDA_ARCH__ >= 700\nf();\n#else\ng();\n#endif\n}\n", "note"),
        ("void k() {\ng();\n#if __CUDA_ARCH__ >= 700\nf();\n#endif\n}\n", "note"),
        ("void k() {\n#if __CUDA_ARCH__ >= 700\nf();\n#endif\ng();\n}\n", "note"),
        ("struct S {\n#if __CUDA_ARCH__ >= 700\nint i;\n#endif\n};\n", "note"),
        ("#if __CUDA_ARCH__ >= 700\nf();\n", "note"),
    ],
)
def test_a_guard_is_a_warning_where_what_hip_takes_is_surely_wrong(text: str, severity: str) -> None:
    found = [f for f in hip(text).findings if f.rule in ("LINT-CUDA-ARCH", "LINT-CUDA-VERSION")]
    assert [f.severity.value for f in found] == [severity]


def test_a_guard_in_a_text_with_branches_for_hip_is_a_note() -> None:
    text = "#if CUDA_VERSION >= 9000\nf();\n#else\n#error old\n#endif\n"
    for other, severity in (("", "warning"), ("#ifdef MINE_ROCM\ng();\n#endif\n", "note")):
        found = [f for f in hip(text + other).findings if f.rule == "LINT-CUDA-VERSION"]
        assert [f.severity.value for f in found] == [severity]


def test_the_first_test_that_is_a_warning_is_told() -> None:
    text = "#if CUDA_VERSION >= 9000\nf();\n#endif\n"
    for other, line in (("", 1), ("int v = CUDA_VERSION;\n", 4)):
        found = [f for f in hip(text + other).findings if f.rule == "LINT-CUDA-VERSION"]
        assert [f.place.line for f in found if f.place] == [line]


def test_what_a_macro_drops_in_hip_is_a_note() -> None:
    text = "#if CUDA_VERSION >= 12000\n#define KEEP(a) a\n#else\n#define KEEP(a){}\n#endif\nKEEP(cuNothing(1)) cuNothing(2);\n"
    for body, severities in (("", ["note", "error"]), (" a", ["error", "error"])):
        found = [f for f in hip(text.format(body)).findings if f.rule == "HIPIFY-UNSUPPORTED"]
        assert [f.severity.value for f in found] == severities


def test_values_of_jinja_are_no_initialisers() -> None:
    text = "float1 f();\n{{ kind }} a = b[i + {{ n }}];\n"
    assert "LINT-ONE-VALUE" not in [f.rule for f in hip(text).findings]


_BOTH = "#ifdef __CUDA_ARCH__\n  return 1;\n#else\n  return 2;\n#endif\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"__host__ __device__ int f() {{\n{_BOTH}}}\n", True),
        (f"template <class T> struct S {{\n__device__ __host__ int f(T a) {{\n{_BOTH}}}\n}};\n", True),
        (f"#define BOTH __host__ __device__\nBOTH int f() {{\n{_BOTH}}}\n", True),
        ("__host__ __device__ int f() {\n#if !defined(__CUDA_ARCH__)\n  throw 1;\n#endif\n  return 2;\n}\n", True),
        ("__host__ __device__ int f() {\n#if defined(__CUDA_ARCH__)\n  return 1;\n#else\n  return 2;\n#endif\n}\n", True),
        (f"__device__ int f() {{\n{_BOTH}}}\n", False),
        ("__host__ __device__ int f() {\n#if __CUDA_ARCH__ >= 350\n  return 1;\n#else\n  return 2;\n#endif\n}\n", False),
        ("__host__ __device__ int f() {\n#ifdef __CUDA_ARCH__\n  g();\n#endif\n  return 2;\n}\n", False),
        ("__host__ __device__ int f() {\n#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)\n  return 1;\n#else\n  return 2;\n#endif\n}\n", False),
    ],
)
def test_branches_of_functions_for_both_sides(text: str, told: bool) -> None:
    found = [severity for rule, _, severity in rule_severities(text) if rule == "LINT-ARCH-BOTH-SIDES"]
    assert found == (["warning"] if told else [])
