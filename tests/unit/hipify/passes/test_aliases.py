"""Functions by other names: macros that stand for them, or hand their arguments on."""

from __future__ import annotations

import pytest

from stackbuild.hipify.rules.rules import join, read
from support.hipify import bundled_rules, hip

OWN = """schema: 1
name: own
rules:
  - {id: own-flags, call: [foo_api, bar_api], count: 2, to: new_api, insert: {2: "0"}, why: w}
  - {id: own-turned, call: foo_turn, count: 3, to: new_turn, arguments: "{2}, {1}, {0}", why: w}
"""


def converted(text: str, name: str = "a.cu") -> str:
    made = hip(text, name, rules=join([read(OWN, "own.yaml"), bundled_rules("generic")])).text.splitlines()
    return "\n".join(line for line in made if not line.startswith("#include"))


def told(text: str, name: str = "a.cu") -> list[str]:
    found = hip(text, name, rules=join([read(OWN, "own.yaml"), bundled_rules("generic")])).findings
    return [f.found for f in found if f.rule == "HIPIFY-ARGUMENTS"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#define SET cudaFuncSetAttribute\nSET(k<1, 2>, a, 3);", "SET(reinterpret_cast<const void*>(k<1, 2>), a, 3);"),
        ("#define SET (::cudaFuncSetAttribute)\nSET(k, a, 3);", "SET(reinterpret_cast<const void*>(k), a, 3);"),
        ("#define S cudaFuncSetAttribute\n#define T S\nT(k, a, 3);", "T(reinterpret_cast<const void*>(k), a, 3);"),
        ("#define TO(...) CHECK(cudaMemcpyToSymbol(__VA_ARGS__))\nTO(c, h, 4);", "TO(HIP_SYMBOL(c), h, 4);"),
        ("#define TO(args...) cudaMemcpyToSymbol(args)\nTO(c, h, 4);", "TO(HIP_SYMBOL(c), h, 4);"),
        ("#define FROM(dst, ...) cudaMemcpyFromSymbol(dst, __VA_ARGS__)\nFROM(h, c, 4);", "FROM(h, HIP_SYMBOL(c), 4);"),
        ("#define FROM(n, ...) cudaMemcpyFromSymbol(buf, __VA_ARGS__, n)\nFROM(4, c);", "FROM(4, c);"),
        ("#define CALL(f, ...) CHECK(f(__VA_ARGS__))\nCALL(cudaMemcpyToSymbol, c, h, 4);", "CALL(hipMemcpyToSymbol, HIP_SYMBOL(c), h, 4);"),
        ("#define CALL(f, list) CHECK(f list)\nCALL(cudaMemcpyToSymbol, (c, h, 4));", "CALL(hipMemcpyToSymbol, (HIP_SYMBOL(c), h, 4));"),
        ("#define C(f, ...) f(__VA_ARGS__)\n#define D(f, ...) C(f, __VA_ARGS__)\nD(cudaMemcpyToSymbol, c, h, 4);", "D(hipMemcpyToSymbol, HIP_SYMBOL(c), h, 4);"),
        ("#define F foo_api\nF(1, 2); F(1);", "new_api(1, 2, 0); F(1);"),
        ("#define CALL(f, ...) CHECK(f(__VA_ARGS__))\nCALL(foo_api, 1, 2);", "CALL(new_api, 1, 2, 0);"),
        ("#define F foo_turn\nF(1, 2, 3);", "new_turn(3, 2, 1);"),
        ("#ifdef A\n#define TO cudaMemcpyToSymbol\n#else\n#define TO cudaMemcpyToSymbolAsync\n#endif\nTO(c, h, 4);", "TO(HIP_SYMBOL(c), h, 4);"),
    ],
)  # fmt: skip
def test_a_call_by_another_name_has_the_arguments_of_its_function(text: str, expected: str) -> None:
    once = converted(text)
    assert once.splitlines()[-1] == expected
    assert converted(once) == once


def test_what_a_macro_hands_on_is_left_in_its_body() -> None:
    text = "#define TO(...) cudaMemcpyToSymbol(__VA_ARGS__)\ntemplate <class... A> void f(A... a) { cudaFuncSetAttribute(a...); }\n"
    made = converted(text)
    assert "hipMemcpyToSymbol(__VA_ARGS__)" in made and "hipFuncSetAttribute(a...)" in made
    assert told(text) == [
        "cudaMemcpyToSymbol is given what the macro TO is given",
        "cudaFuncSetAttribute is given a pack that its caller is given",
    ]
    assert told("#define TO(...) cudaMemcpyToSymbol(__VA_ARGS__)\nTO(c, h, 4);\n") == []
    # In a header both the body and its use.
    assert len(told("#define TO(...) cudaMemcpyToSymbol(__VA_ARGS__)\nTO(c, h, 4);\n", "a.cuh")) == 2


def test_a_call_that_is_not_certainly_the_functions_is_told_and_left() -> None:
    text = "#ifdef A\n#define F foo_api\n#else\n#define F other\n#endif\nF(1, 2);\n"
    assert "F(1, 2);" in converted(text)
    assert told(text) == ["F calls foo_api, and not in every case, or gives it some arguments itself"]


def test_a_call_that_the_source_makes_of_hips_function_too_is_left_without_a_finding() -> None:
    text = "#ifdef A\n#define F foo_api\n#elif defined(USE_HIP)\n#define F hipFooApi\n#endif\nF(1, 2);\n"
    assert "F(1, 2);" in converted(text)
    assert told(text) == []


def test_a_function_that_is_named_and_not_called_is_told() -> None:
    assert told("auto* p = &foo_api;\n") == ["foo_api is named here and not called"]
    assert told("#define F foo_api\nint x = F(1);\n") == []
    assert told("#define F foo_api\n") == ["foo_api is named here and not called"]
    assert told("extern void foo_api(int a, int b);\nfoo_api(1, 2);\n") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#define SH(...) __shfl_down_sync(__VA_ARGS__)\nx = SH(0xffffffff, v, 1);", "x = SH(0xffffffffffffffffULL, v, 1);"),
        ("#define SH(v, ...) __shfl_down_sync(M, v, __VA_ARGS__)\nx = SH(v, 1);", "x = SH(v, 1);"),
        ("#define SH(a, ...) __shfl_down_sync(__VA_ARGS__, a)\n#define S(a, ...) __any_sync(__VA_ARGS__)\nx = S(1);", "x = S(1);"),
        ("#define A __any_sync\n#define B A\nx = B(m, v);", "x = B(stackbuild_hip::lane_mask(m), v);"),
        ("#define C(f, ...) f(__VA_ARGS__)\nx = C(__any_sync, 0xffffffff, v);", "x = C(__any_sync, 0xffffffffffffffffULL, v);"),
    ],
)  # fmt: skip
def test_a_lane_mask_is_found_by_other_names(text: str, expected: str) -> None:
    once = converted(text)
    assert once.splitlines()[-1] == expected and "lane_mask(__VA_ARGS__)" not in once
    assert converted(once) == once


def test_a_lane_mask_that_a_header_hands_on_is_told() -> None:
    text = "#define SH(...) __shfl_down_sync(__VA_ARGS__)\n"
    assert told(text, "a.cuh") == ["__shfl_down_sync is given what the macro SH is given"]


def test_all_lanes_are_those_that_are_there_where_hip_compares_with_them() -> None:
    made = converted(
        "#define FULL 0xffffffff\nx = __all_sync(0xffffffff, p) + __all_sync(FULL, p) + __any_sync(FULL, p);\n"
    )
    assert "__all_sync(stackbuild_hip::lane_mask(0xffffffff), p)" in made
    assert "__all_sync(stackbuild_hip::lane_mask(FULL), p) + __any_sync(FULL, p)" in made
    assert converted(made) == made


@pytest.mark.parametrize(
    "mask", ["(1ull << warpSize) - 1", "((uint64_t)1 << WARP_SIZE) - 1", "(uint64_t(1) << kWarpSize) - 1"]
)
def test_ones_for_each_lane_of_a_warp_are_all_lanes(mask: str) -> None:
    assert converted(f"x = __any_sync({mask}, p);\n") == "x = __any_sync(0xffffffffffffffffULL, p);"
    rules = [f.rule for f in hip(f"x = __any_sync({mask}, p); y = {mask};\n").findings]
    assert rules.count("LINT-SHIFT-WAVE") == 1 and "LINT-LANE-MASK-32" not in rules


@pytest.mark.parametrize("mask", ["(1ull << lane) - 1", "(1ull << kHalfWarpSize) - 1", "(1ull << warp_id) - 1"])
def test_ones_for_other_numbers_of_lanes_stay(mask: str) -> None:
    assert f"lane_mask({mask})" in converted(f"x = __any_sync({mask}, p);\n")


def test_a_macro_with_an_empty_parameter_ends() -> None:
    text = "#define C(f,, ...) f(__VA_ARGS__)\nfoo_api(1);\n"
    assert converted(text) == text.strip()


def test_what_no_rule_can_place_is_told() -> None:
    text = "#define FROM(n, ...) cudaMemcpyFromSymbol(buf, __VA_ARGS__, n)\nFROM(4, c);\n"
    given = "cudaMemcpyFromSymbol is given what the macro FROM is given"
    assert told(text) == [given, f"FROM has in its body: {given}"]
