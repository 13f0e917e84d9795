"""Before ROCm 6.0 the parts of threadIdx and its like are no numbers for overloads and templates."""

from __future__ import annotations

import pytest

from stackbuild.hipify.model import Target
from support.hipify import hip


@pytest.mark.parametrize(
    ("cuda", "converted"),
    [
        ("min(blockDim.x, n);", "min((unsigned)blockDim.x, n);"),
        ("std::max<int>(n, gridDim.y);", "std::max<int>(n, (unsigned)gridDim.y);"),
        ("f<T>( threadIdx.x );", "f<T>( (unsigned)threadIdx.x );"),
        ('printf("%d", blockIdx.z);', 'printf("%d", (unsigned)blockIdx.z);'),
        ("auto i = threadIdx.x;", "auto i = (unsigned)threadIdx.x;"),
        ("const auto i = blockIdx . x ;", "const auto i = (unsigned)blockIdx . x ;"),
        ("int i = threadIdx.x;", "int i = threadIdx.x;"),
        ("f(threadIdx.x + 1);", "f(threadIdx.x + 1);"),
        ("g(int(threadIdx.x), static_cast<int>(blockIdx.x));", "g(int(threadIdx.x), static_cast<int>(blockIdx.x));"),
        ("if (threadIdx.x) g();", "if (threadIdx.x) g();"),
        ("a[threadIdx.x] = p.threadIdx.x;", "a[threadIdx.x] = p.threadIdx.x;"),
        ("f(my.threadIdx.x);", "f(my.threadIdx.x);"),
        ("min((unsigned)blockDim.x, n);", "min((unsigned)blockDim.x, n);"),
    ],
)
def test_positions_are_cast_where_their_type_counts(cuda: str, converted: str) -> None:
    text = "__global__ void k(int n) {{ {} }}\n"
    old = Target(rocm="5.7")
    made = hip(text.format(cuda), target=old)
    assert made.text.endswith(text.format(converted))
    assert hip(made.text, target=old).text == made.text
    assert hip(text.format(cuda)).text.endswith(text.format(cuda))
