"""Launches with blanks between their signs, as editors write them, have clang's signs."""

from __future__ import annotations

import pytest

from support.hipify import hip


@pytest.mark.parametrize(
    ("text", "launch"),
    [
        ("k << <1, 2 >> > (p);", "k <<<1, 2 >>> (p);"),
        ("k <<< 1, 2 >> > (p);", "k <<< 1, 2 >>> (p);"),
        ("k << < dim3(1, 2), n >> 1 > > > (p);", "k <<< dim3(1, 2), n >> 1 >>> (p);"),
        ("k<int> << <f<A<B> >(x), 2, 0, s >> >\n  (p);", "k<int> <<<f<A<B> >(x), 2, 0, s >>>\n  (p);"),
        ("k < << 1, 2 >>> (p);", "k <<< 1, 2 >>> (p);"),
        ("k << <1, 2 >>> (p); k << <3, 4 >> > (q);", "k <<<1, 2 >>> (p); k <<<3, 4 >>> (q);"),
    ],
)
def test_blanks_between_the_signs_of_a_launch_go(text: str, launch: str) -> None:
    made = hip(f"__global__ void k(int* p);\nvoid f(int* p) {{\n  {text}\n}}\n").text
    assert launch in made
    assert hip(made).text == made


@pytest.mark.parametrize(
    "text",
    [
        "x = a << b; y = c < d;",
        "std::vector<std::vector<std::vector<int> > > (n);",
        "k<<<1, 2>>>(p); std::vector<std::vector<std::vector<int> > > (n);",
        "a << <unfinished;",
        "x = 1 << // <\n  2;",
    ],
)
def test_other_signs_stay(text: str) -> None:
    assert f"  {text}\n" in hip(f"void f(int* p) {{\n  {text}\n}}\n").text
