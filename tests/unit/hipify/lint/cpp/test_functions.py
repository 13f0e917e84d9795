"""Ladders through functions, lambdas, other names and recursion; ballots through macros."""

from __future__ import annotations

import pytest

from support.hipify import hip

XOR = "__shfl_xor_sync(0xffffffff, v, "
LOOP = "for (int o = 16; o > 0; o /= 2) v "
RUNGS = "a<16>(v); a<8>(v); a<4>(v); a<2>(v); a<1>(v);"


def ladders(text: str) -> list[str]:
    return [f.rule for f in hip(text).findings if f.rule.startswith("LINT-LADDER")]


@pytest.mark.parametrize(
    "text",
    [
        f"float a(float v, int o) {{ return v + {XOR}o); }} void b() {{ {LOOP} = a(v, o); }}",
        f"template <int O> float a(float v) {{ return v + {XOR}O); }} void b() {{ {RUNGS} }}",
        f"void b() {{ auto a = [&](float v, int o) {{ return v + {XOR}o); }}; {LOOP} = a(v, o); }}",
        "#define shfl __shfl_down_sync\nvoid b() { " + LOOP + "+= shfl(m, v, o); }",
        "#define DOWN __shfl_down_sync\nvoid b() { " + LOOP + "+= DOWN(m, v, o); }",
        "#define DOWN(...) __shfl_down_sync(m, __VA_ARGS__)\nvoid b() { " + LOOP + "+= DOWN(v, o); }",
        f"template <int N> float a(float v) {{ v += {XOR}N); if constexpr (N > 1) return a<N / 2>(v); return v; }} float x = a<16>(1);",
        f"template <int N> struct R {{ static float run(float v) {{ v += {XOR}N / 2); return R<N / 2>::run(v); }} }};\n"
        "template <> struct R<1> { static float run(float v) { return v; } };\nfloat x = R<32>::run(1);",
        f"float a(float v, int o) {{ if (o == 0) return v; v += {XOR}o); return a(v, o / 2); }} float x = a(1, 16);",
        f"template <int N = 32> float a(float v) {{ const int half = N / 2; v += {XOR}half); return half > 1 ? a<half>(v) : v; }} float x = a(1);",
        "template <int N> float a(float v) { v += __shfl_up_sync(m, v, N); if (N < 16) v = a<N * 2>(v); return v; } float x = a<1>(1);",
        f"template <int N> float a(float v) {{ if constexpr (N > 1) {{ v += {XOR}N / 2); return a<N / 2>(v); }} return v; }} float x = a<32>(1);",
        f"template <int N, int O = N / 2> struct R {{ template <class F> static float run(float v, F f) {{ v = f(v, {XOR}O)); return R<N, O / 2>::run(v, f); }} }};\n"
        "template <int N> struct R<N, 0> { template <class F> static float run(float v, F f) { return v; } };\nfloat x = R<32>::run(1, f);",
        f"template <class T, int N> struct R {{ T operator()(T v) {{ T o = {XOR}N >> 1); return R<T, (N >> 1)>()(v + o); }} }};\n"
        "template <class T> struct R<T, 1> { T operator()(T v) { return v; } };\nvoid b() { R<float, 32> r; }",
        f"template <class T> struct R {{ template <int N> T run(T v) {{ v += {XOR}N); if (N > 1) return run<N / 2>(v); return v; }} }};\n"
        "float x = R<float>().run<16>(1);",
    ],
)
def test_a_ladder_of_32_lanes_is_told_whatever_makes_its_steps(text: str) -> None:
    assert ladders(text) == ["LINT-LADDER-32"]


@pytest.mark.parametrize(
    "text",
    [
        f"float a(float v, int o) {{ return v + {XOR}o); }} void b() {{ for (int o = 16; o >= 16; o /= 2) v = a(v, o); }}",
        f"template <int N> float a(float v) {{ v += {XOR}N); if constexpr (N > 8) return a<N / 2>(v); return v; }} float x = a<16>(1);",
    ],
)
def test_one_that_leaves_lanes_out_is_told(text: str) -> None:
    assert ladders(text) == ["LINT-LADDER-INCOMPLETE"]


@pytest.mark.parametrize(
    "text",
    [
        f"template <int N> float a(float v) {{ v += {XOR}N); if (N > 1) return a<N / 2>(v); return v; }}",
        f"float a(float v, int o) {{ v += {XOR}o); return a(v, other); }} float x = a(1, 16);",
    ],
)
def test_a_recursion_that_this_file_does_not_start_or_end_is_noted(text: str) -> None:
    assert ladders(text) == ["LINT-LADDER-UNREAD"]


@pytest.mark.parametrize(
    "text",
    [
        f"float a(float v, int o) {{ return v + {XOR}o); }} void b() {{ for (int o = warpSize / 2; o > 0; o /= 2) v = a(v, o); }}",
        f"float a(float v, int o) {{ return v + {XOR}o, 32); }} void b() {{ {LOOP} = a(v, o); }}",
        f"float a(float v, int o) {{ return v + {XOR}o); }} float b() {{ return a(v, 16) + a(w, 1); }}",
        f"template <int N> float a(float v) {{ v += {XOR}N); if (N > 1) return a<N / 2>(v); return v; }} float x = a<WARP_SIZE / 2>(1);",
        f"template <int N> float a(float v) {{ v += {XOR}N, 16); if (N > 1) return a<N / 2>(v); return v; }} float x = a<8>(1);",
        "template <int N> float a(float v) { if (N < warpSize) { v += __shfl_up_sync(m, v, N); return a<N * 2>(v); } return v; } float x = a<1>(1);",
        f"template <int O> float a(float v) {{ return v + {XOR}O); }} float x = a (1);",
    ],
)
def test_other_functions_are_let_pass(text: str) -> None:
    assert ladders(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "#define B(p) __ballot_sync(m, p)\nunsigned a = B(x);",
        "#define B __ballot_sync\nunsigned a = B(m, x);",
        "#define B(p) __ballot_sync(m, p)\n#define C(p) (B(p))\nint a = __popc(C(x));",
    ],
)
def test_a_ballot_by_another_name_in_32_bits_is_told(text: str) -> None:
    assert [f.rule for f in hip(text).findings].count("LINT-BALLOT-32") == 1


def test_a_question_about_a_ballot_is_no_ballot() -> None:
    text = "#define B(p) (__ballot_sync(m, p) == 5)\n#define W(p) __ballot_sync(m, p)\nunsigned a = B(x); uint64_t b = W(x);"
    assert "LINT-BALLOT-32" not in [f.rule for f in hip(text).findings]
