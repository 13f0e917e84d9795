"""Notes at the uses of a type alias whose type HIP lacks."""

from __future__ import annotations

from support.hipify import hip


def notes(text: str) -> list[int]:
    return [f.place.line for f in hip(text).findings if f.place and f.severity == "note"]


def test_each_line_that_uses_an_alias_of_what_hip_lacks_has_a_note() -> None:
    text = (
        "using T = cuda::std::tuple<int, int>;\n"
        "using Row = my::range<T>;\n"
        "struct s { T a; Row b(T x, T y); };\n"
        "typedef Row Rows;\n"
        "Rows f();\n"
        "int other;\n"
    )
    assert sorted(notes(text)) == [2, 3, 3, 4, 5]


def test_an_alias_of_what_hip_has_gets_none() -> None:
    assert notes("using T = float4;\nT a;\n") == []
    assert notes("cuda::std::tuple<int> a;\nusing T = int;\nT b;\n") == []
    assert notes("using T = cuda::std::tuple<int>;\nx.T = 1; other::T y;\n") == []


def test_lines_that_use_a_variable_of_a_type_that_hip_lacks_have_a_note() -> None:
    text = (
        "void f(cuNothing p,\n"
        "       int q) {\n"
        "  p.a = q;\n"
        "  cuNothing *v = make();\n"
        "  v->a = 1; v->b = 2;\n"
        "}\n"
        "void g(int p, int v) {\n"
        "  p = v;\n"
        "}\n"
    )
    assert sorted(notes(text)) == [3, 5]
    assert notes(text.replace("cuNothing", "float4")) == []


def test_the_words_of_an_asm_statement_are_no_declaration() -> None:
    text = '__device__ void f(float *a) {\n  asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(x) : "l"(a));\n  asm volatile("" ::: "memory");\n}\n'
    assert notes(text) == []
