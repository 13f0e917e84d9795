"""Types and constexpr functions of libcu++ become the standard library's."""

from __future__ import annotations

import pytest

from support.hipify import hip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("using D = typename cuda::std::iterator_traits<I>::difference_type;", "using D = typename std::iterator_traits<I>::difference_type;"),
        ("static_assert(::cuda::std::is_same_v<T, U>);", "static_assert(::std::is_same_v<T, U>);"),
        ("template <class T, cuda :: std :: enable_if_t<c, int> = 0> void f();", "template <class T, std::enable_if_t<c, int> = 0> void f();"),
        ("using cuda::std::uint32_t;", "using std::uint32_t;"),
        ("x = cuda::std::numeric_limits<float>::max() + cuda::std::max(a, b);", "x = std::numeric_limits<float>::max() + std::max(a, b);"),
        ("auto s = cuda::std::make_index_sequence<4>{};", "auto s = std::make_index_sequence<4>{};"),
    ],
)  # fmt: skip
def test_a_type_or_constexpr_function_is_the_standard_library_s(text: str, expected: str) -> None:
    made = hip(text)
    assert made.text == expected
    assert not [f for f in made.findings if f.rule == "LINT-CUDA-STD"]
    assert hip(expected).text == expected


@pytest.mark.parametrize(
    "text",
    [
        "cuda::std::tuple<int, float> t;",
        "cuda::std::atomic<int> a;",
        "bool b = cuda::std::is_sorted(a, e);",
        "bool b = cuda::std::is_constant_evaluated();",
        "auto e = cuda::std::remove(a, e, 3);",
        "using namespace cuda::std;",
    ],
)
def test_what_has_state_or_is_constexpr_later_stays_and_is_reported(text: str) -> None:
    made = hip(text)
    assert made.text == text
    assert [f.rule for f in made.findings] == ["LINT-CUDA-STD"]


def test_a_project_s_own_namespace_stays() -> None:
    text = "my::cuda::std::is_same<a, b> c; mycuda::std::is_same<a, b> d;"
    assert hip(text).text == text


def test_the_header_goes_with_its_names() -> None:
    made = hip("#include <cuda/std/type_traits>\n#include <cuda/std/atomic>\n")
    assert made.text == "#include <type_traits>\n#include <cuda/std/atomic>\n"
    assert [f.rule for f in made.findings] == ["LINT-CUDA-STD"]
