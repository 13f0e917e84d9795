from __future__ import annotations

import pytest

from stackbuild.hipify.compilation.compiled_words import INCLUDE, compiled_words

EVERY = {(path, line) for path in ("k.cu", "inc/a.h") for line in range(1, 40)}


def words(text: str) -> dict[tuple[str, int], set[str]]:
    return compiled_words(text, "/tmp/src", EVERY)


def decided(code: str) -> set[str]:
    """The words of one line of code that are decided."""
    return words(f'# 1 "/tmp/src/k.cu"\n{code}\n').get(("k.cu", 1), set())


def test_line_markers_give_the_places_and_skipped_lines_have_none() -> None:
    text = (
        '# 1 "/tmp/src/k.cu"\n# 1 "<built-in>" 1\nint built;\n# 1 "/tmp/src/k.cu" 2\n'
        '# 1 "/usr/include/x.h" 1 3\nint far;\n# 2 "/tmp/src/k.cu" 2\n# 1 "/tmp/src/k/../inc/a.h" 1\n\nint near;\n# 3 "/tmp/src/k.cu" 2\n\n\nint last;\n'
    )
    assert words(text) == {
        ("k.cu", 1): {INCLUDE},
        ("k.cu", 2): {INCLUDE},
        ("inc/a.h", 2): {"int", "near"},
        ("k.cu", 5): {"int", "last"},
    }


def test_only_wanted_lines_count_and_strings_have_no_words() -> None:
    text = '# 1 "/tmp/src/k.cu"\nf("cudaFoo");\ng();\n'
    assert compiled_words(text, "/tmp/src", {("k.cu", 1)}) == {("k.cu", 1): {"f"}}
    assert compiled_words(text, "/tmp/src", {("other.cu", 1)}) == {}


@pytest.mark.parametrize(
    "code",
    [
        "template <class T> void f(T x) { foo(x); }",
        "template <class T> struct A { void f(T x) { if (x) { foo(x); } foo(x); } };",
        "template <class T, class = enable_if_t<is<T>{}>> void f(T x) { foo(x); }",
        "template <class T> A<T>::A(T x) : a{x}, b{1} { foo(x); }",
        "void g() { h([](auto x) { foo(x); }); }",
        "void g() { h([]<class T>(T x) { foo(x); }); }",
        "void f(auto const &x) { foo(x); }",
        "template <class T> using B = decltype(foo(T()));",
        "template <class T> requires requires(T t) { t.x; } void f(T x) { foo(x); }",
    ],
)
def test_words_of_templates_are_not_decided(code: str) -> None:
    assert "foo" not in decided(code)


@pytest.mark.parametrize(
    "code",
    [
        "template <class T> void f(T x) { } void g() { foo(1); }",
        "template <class T> struct A { T x; }; int i = foo(1);",
        "template void f<int>(int); int i = foo(1);",
        "void g() { for (auto i = 0; i < 3; ++i) { foo(i); } }",
        "void g() { for (auto x : y) { foo(x); } }",
        "void g() { if (a[i] < b) { foo(1); } }",
        'extern "C" { void g() { foo(1); } }',
    ],
)
def test_words_beside_templates_are_decided(code: str) -> None:
    assert "foo" in decided(code)
