"""min and max of mixed integers come from a support header where device code calls them."""

from __future__ import annotations

import pytest

from support.hipify import hip

KERNEL = "__global__ void k(int n) { a[min(n, threadIdx.x)] = 1; }\n"


@pytest.mark.parametrize(
    ("text", "name", "is_included"),
    [
        (KERNEL, "a.cu", True),
        (KERNEL.replace("min", "std::min"), "a.cu", False),
        (KERNEL.replace("min(n, threadIdx.x)", "min"), "a.cu", False),
        (KERNEL.replace("__global__ ", ""), "a.cu", False),
        (KERNEL, "a.cpp", False),
    ],
)
def test_the_header_is_included_where_device_code_calls_them(text: str, name: str, is_included: bool) -> None:
    made = hip(text, name=name)
    assert ("stackbuild_hip_extremes.h" in made.text) is is_included


def test_a_sources_own_function_is_no_finding() -> None:
    assert not hip("template <class T> __device__ T min(T a, T b) { return a; }\n" + KERNEL).findings
