"""Branches that HIP's compiler leaves out: their findings are notes."""

from __future__ import annotations

import pytest

from support.hipify import hip


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
        ("#define CUDA_VERSION 12000\n#if CUDA_VERSION >= 12000", "error"),
    ],
)
def test_branches_of_versions_that_hip_has_not_are_left_out(condition: str, severity: str) -> None:
    made = hip(f"{condition}\ncuNothing(1);\n#endif\n")
    assert [f.severity.value for f in made.findings if f.rule == "HIPIFY-UNSUPPORTED"] == [severity]


def test_values_of_jinja_are_no_initialisers() -> None:
    text = "float1 f();\n{{ kind }} a = b[i + {{ n }}];\n"
    assert "LINT-ONE-VALUE" not in [f.rule for f in hip(text).findings]
