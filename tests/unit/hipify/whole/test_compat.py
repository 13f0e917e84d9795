"""The text that HIPIFY would make, where this package's own is another on purpose, and its argument changes."""

from __future__ import annotations

import pytest

from stackbuild.hipify import Target, open_engine
from stackbuild.hipify.model import Compat, Launch
from stackbuild.hipify.tables.tables import Flavour


def text(cuda: str, compat: Compat = "hipify", launch: Launch = "keep", flavour: Flavour = "hip") -> str:
    target = Target(compat=compat, launch=launch, flavour=flavour, lint=False)
    return open_engine(target=target).run(cuda, "a.cu").text.replace("#include <hip/hip_runtime.h>\n", "", 1)


@pytest.mark.parametrize(
    ("cuda", "like_hipify", "own"),
    [
        ("#include <cublas_v2.h>\n", "#include <hipblas.h>\n", "#include <hipblas/hipblas.h>\n"),
        ("cudaHostGetDevicePointer(&p, q, 0);\n", "hipHostGetDevicePointer(&p, q, 0);\n", "hipHostGetDevicePointer((void**)(&p), q, 0);\n"),
        ("cudaMallocHost(&p, 4);\n", "hipHostMalloc(&p, 4, hipHostMallocDefault);\n", "hipHostMalloc(&p, 4, hipHostMallocDefault);\n"),
        ("cudaEventCreate(&e, 1);\n", "hipEventCreateWithFlags(&e, 1);\n", "hipEventCreateWithFlags(&e, 1);\n"),
    ],
)  # fmt: skip
def test_headers_and_casts_are_hipifys(cuda: str, like_hipify: str, own: str) -> None:
    assert text(cuda).endswith(like_hipify)
    assert text(cuda, compat="").endswith(own)


@pytest.mark.parametrize(
    ("cuda", "like_hipify", "own"),
    [
        ("k<float><<<1, 2>>>(a);\n", "hipLaunchKernelGGL(HIP_KERNEL_NAME(k<float>), dim3(1), dim3(2), 0, 0, a);\n",
         "hipLaunchKernelGGL(k<float>, dim3(1), dim3(2), 0, 0, a);\n"),
        ("template <typename T> __global__ void k(T a) {}\nk<<<1, 2>>>(a);\n", "hipLaunchKernelGGL(HIP_KERNEL_NAME(k), dim3(1), dim3(2), 0, 0, a);\n",
         "hipLaunchKernelGGL(k, dim3(1), dim3(2), 0, 0, a);\n"),
        ("k<<<dim3(1, 2), dim3(4)>>>( );\n", "hipLaunchKernelGGL(k, dim3(1, 2), dim3(4), 0, 0);\n", "hipLaunchKernelGGL(k, dim3(1, 2), dim3(4), 0, 0);\n"),
        ("k<<<dim3(1), dim3(4) * 2>>>(b);\n", "hipLaunchKernelGGL(k, dim3(1), dim3(dim3(4) * 2), 0, 0, b);\n",
         "hipLaunchKernelGGL(k, dim3(1), dim3(dim3(4) * 2), 0, 0, b);\n"),
    ],
)  # fmt: skip
def test_launches_are_hipifys(cuda: str, like_hipify: str, own: str) -> None:
    assert text(cuda, launch="ggl").endswith(like_hipify)
    assert text(cuda, compat="", launch="ggl").endswith(own)


def test_the_roc_librarys_arguments_are_moved_and_told() -> None:
    call = "cusparseScsrsv2_solve(h, t, m, n, a, d, v, r, c, i, x, y, p, b);\n"
    target = Target(flavour="roc", lint=False)
    made = open_engine(target=target).run(call, "a.cu")
    assert "rocsparse_scsrsv_solve(h, t, m, n, a, d, v, r, c, i, x, y, rocsparse_solve_policy_auto, b);" in made.text
    told = [f for f in made.findings if f.rule == "HIPIFY-BY-HAND"]
    assert [f.severity.value for f in told] == ["warning"] and "hipify-clang" in told[0].found
    other = open_engine(target=target).run("cusparseScsrsv2_solve(h, t);\n", "a.cu")
    assert [f.severity.value for f in other.findings if f.rule == "HIPIFY-BY-HAND"] == ["error"]
