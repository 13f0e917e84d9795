"""Braces that branches of the preprocessor's open more than once."""

from __future__ import annotations

import pytest

from stackbuild.hipify.cpp.braces import Braces
from support.lint_samples import found_rules


@pytest.mark.parametrize(
    ("code", "depth"),
    [
        ("a {\n#ifdef X\n if (b) {\n#else\n if (c) {\n#endif\n }\n}\n@", 0),
        ("a {\n#ifdef X\n if (b) {\n#else\n if (c) {\n#endif\n @}\n}\n", 2),
        ("a {\n#if X\n {\n#elif Y\n {\n#elif Z\n {\n#else\n {\n#endif\n }\n@}\n", 1),
        ("a {\n#ifdef X\n }\n#else\n }\n#endif\n@", 0),
        ("a {\n#ifdef X\n b {\n#endif\n#ifdef X\n }\n#endif\n@}\n", 1),
        ("#else\na {\n#endif\n@", 1),
    ],
)
def test_each_branch_begins_with_the_braces_of_the_first(code: str, depth: int) -> None:
    at = code.index("@")
    assert len(list(Braces(code.replace("@", " ")).around(at))) == depth


def test_a_pair_that_a_branch_opens_ends_with_it() -> None:
    code = "a {\n#ifdef X\n b {\n#else\n c {\n#endif\n }\n}\n"
    braces = Braces(code)
    assert braces.span(1) == (code.index("b {") + 2, code.index("#else"))
    assert braces.span(2) == (code.index("c {") + 2, code.index(" }\n}") + 1)


def test_a_launch_after_a_kernel_with_two_heads_is_no_launch_in_a_kernel() -> None:
    kernel = "__global__ void k(int n) {\n#ifdef X\n  if (n) {\n#else\n  if (!n) {\n#endif\n  }\n}\n"
    host = "void f() {\n  k<<<1, 1>>>(2);\n}\n"
    assert "LINT-DEVICE-LAUNCH" not in [rule for rule, _ in found_rules(kernel + host)]
    assert ("LINT-DEVICE-LAUNCH", 2) in found_rules("__global__ void k() {\n  k<<<1, 1>>>();\n}\n")
