"""Ballots and what takes them."""

from __future__ import annotations

import pytest

from support.lint_samples import found_rules, warp_function


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("unsigned m; m = __ballot_sync(~0ull, p);", 1),
        ("unsigned a = 1, m = __ballot_sync(~0ull, p);", 1),
        ("const uint32_t m{__ballot_sync(~0ull, p)};", 1),
        ("uint32_t m(__ballot_sync(~0ull, p));", 1),
        ("std::uint32_t m = __match_all_sync(~0ull, p, &x);", 1),
        ("__shared__ unsigned s[32]; s[w] = __ballot(p);", 1),
        ("unsigned m = 0; m |= __ballot(p);", 1),
        ("unsigned m = full ? __ballot(p) : 0;", 1),
        ("unsigned m = (full == 3) ? __ballot(p) : 0u;", 1),
        ("unsigned m = (a > 2) && (b < 3) ? __ballot(p) : 0u;", 1),
        ("unsigned long long m = (full == 3) ? __ballot(p) : 0u;", 0),
        ("using mask_t = unsigned; mask_t m = __ballot(p);", 1),
        ("return (int)__ballot(p);", 1),
        ("x = static_cast<uint32_t>(__ballot(p));", 1),
        ("x = unsigned(__ballot(p));", 1),
        ("if (__ballot(p) == 0xffffffff) x = 1;", 1),
        ("auto m = __ballot(p); int n = __popc(m); int f = __ffs(m) - 1;", 2),
        ("int n = __popc(__ballot(p) & __lanemask_lt());", 1),
        ("unsigned m = cg::coalesced_threads().ballot(p);", 1),
        ("auto g = cg::coalesced_threads(); unsigned m = g.ballot(p);", 1),
        ("__shared__ unsigned s; atomicOr(&s, __ballot(p));", 1),
        ("auto f = [&]() -> unsigned { return __ballot(p); };", 1),
        ("unsigned m = ~__activemask();", 1),
        ("unsigned long long m = __ballot(p); int n = __popcll(m);", 0),
        ("uint64_t m; m = __ballot(p);", 0),
        ("auto m = __ballot(p);", 0),
        ("bool b = __ballot(p);", 0),
        ("bool b = __ballot(p) != 0;", 0),
        ("int b = __ballot(p) != 0;", 0),
        ("int bit = (__ballot(p) >> lane) & 1;", 0),
        ("if (__ballot(p)) x = 1;", 0),
        ("int n = __popcll(__ballot(p));", 0),
        ("unsigned r = __shfl_sync(__activemask(), v, 0);", 0),
        ("int n = f(__ballot(p));", 0),
        ("unsigned m = my.ballot(p);", 0),
        ("auto t = cg::tiled_partition<32>(b); unsigned m = t.ballot(p);", 0),
        ("int first = __ffsll(__ballot(p)) - 1;", 0),
        ("while (!__ballot(p)) x++;", 0),
    ],
)  # fmt: skip
def test_ballots_are_followed_to_what_takes_them(body: str, expected: int) -> None:
    assert [rule for rule, _ in found_rules(warp_function(body))].count("LINT-BALLOT-32") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("__device__ unsigned f(bool p) { return __ballot(p); }\n", True),
        ("template <int N> __device__ __forceinline__ uint32_t f(bool p) {\n  if (p) { return __ballot(p); }\n  return 0;\n}\n", True),
        ("__device__ unsigned long long f(bool p) { return __ballot(p); }\n", False),
        ("__device__ auto f(bool p) { return __ballot(p); }\n", False),
        ("__device__ bool f(bool p) { return __ballot(p); }\n", False),
        ("__device__ int rank(unsigned m, int lane) { return 0; }\n__device__ int g(bool p) { return rank(__ballot(p), 1); }\n", True),
        ("__device__ int rank(uint64_t m, int lane) { return 0; }\n__device__ int g(bool p) { return rank(__ballot(p), 1); }\n", False),
        ("typedef unsigned int mask_t;\n__device__ mask_t f(bool p) { return __ballot(p); }\n", True),
        ("struct S { unsigned m; };\n__device__ void f(S& s, bool p) { s.m = __ballot(p); }\n", True),
    ],
)  # fmt: skip
def test_ballots_are_followed_out_of_functions(text: str, expected: bool) -> None:
    assert ("LINT-BALLOT-32" in [rule for rule, _ in found_rules(text)]) is expected
