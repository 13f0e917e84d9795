"""Forms that clang reads otherwise than nvcc."""

from __future__ import annotations

import pytest

from support.lint_samples import rule_severities


def test_member_templates_of_dependent_types() -> None:
    text = "template <typename T, size_t n>\nvoid f(T *p) {\n  cast<T, int>::apply<n>(p);\n  cast<float>::apply<n>(p);\n  cast<T>::template apply<n>(p);\n}\n"
    assert rule_severities(text) == [("LINT-TEMPLATE-KEYWORD", 3, "warning")]
    assert rule_severities("void f() {\n  cast<T, int>::apply<4>(p);\n}\n") == []
    text = "template <typename T>\nstruct S;\n#define MAKE(T) \\\ntemplate void alg<T, 3>::apply<float>(int); \\\n  extern template int alg<T>::apply<T>(T);\n"
    assert rule_severities(text) == []


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("struct S { float1 a; int b; };\nS s = {{1}, 2};\n", [2]),
        ("void g(char1 v);\nvoid f() { g({1}); }\n", [2]),
        ("float1 v[2] = {{1},\n  {2}};\n", []),
        ("float2 v = {1, 2};\ng({1});\n", []),
        ('float1 f();\nTensor t({{n}, "N"}, 3);\n', []),
        ("float1 f();\nif (a) { b; }\ng({});\n", []),
    ],
)
def test_braces_of_one_value_beside_vectors_of_one_component(text: str, lines: list[int]) -> None:
    assert [line for rule, line, _ in rule_severities(text) if rule == "LINT-ONE-VALUE"] == lines
