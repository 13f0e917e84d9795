"""Forms that HIP's headers do not take."""

from __future__ import annotations

import pytest

from stackbuild.hipify.model import Target
from support.hipify import hip
from support.lint_samples import rule_severities


def test_braces_for_half_precision_variables() -> None:
    text = "__device__ void f() {\n  half2 r;\n  r = {};\n  half2 s = {};\n  float g;\n  g = {};\n}\n"
    assert rule_severities(text) == [("LINT-HALF-BRACES", 3, "error")]


@pytest.mark.parametrize(("rocm", "lines"), [("5.7", [5, 6]), ("6.1", [5, 6]), ("6.4", []), ("", [])])
def test_votes_of_groups_before_hip_has_them(rocm: str, lines: list[int]) -> None:
    text = (
        "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n__device__ void f(Bits bits) {\n"
        "  auto tile = cg::tiled_partition<32>(cg::this_thread_block());\n  if (tile.any(1)) {}\n  tile.ballot(0);\n"
        "  bits.any();\n  tile.sync();\n}\n"
    )
    findings = [f for f in hip(text, target=Target(rocm=rocm)).findings if f.rule == "LINT-GROUPS"]
    assert [f.place.line for f in findings if f.place] == lines
    assert {f.severity.value for f in findings} <= {"error"}


@pytest.mark.parametrize(
    ("text", "rocm", "is_told"),
    [
        ("__device__ curandState s;", "5.7", True),
        ("static __device__ curandStateXORWOW_t s, t;", "6.4", True),
        ("__global__ void k() { __shared__ curandStatePhilox4_32_10_t s[32]; }", "6.4", True),
        ("__managed__ __device__ curandStateMRG32k3a s[4];", "", True),
        ("__device__ curandStateSobol32 s;", "6.4", True),
        ("__device__ curandStateSobol32 s;", "5.7", False),
        ("__device__ curandState *s;", "6.4", False),
        ("__device__ curandState f(int i);", "6.4", False),
        ("__global__ void k() { curandState s; }", "6.4", False),
        ("__global__ void k() { extern __shared__ curandState s[]; }", "6.4", False),
        ("struct S { curandState s; };", "6.4", False),
        ("__device__ float f(curandState s, int i);", "6.4", False),
    ],
)
def test_states_of_generators_as_variables_of_the_device(text: str, rocm: str, is_told: bool) -> None:
    found = [f.severity.value for f in hip(text + "\n", target=Target(rocm=rocm)).findings if f.rule == "LINT-RANDOM-STATE"]
    assert found == (["error"] if is_told else [])


def test_tiles_of_tiles_do_not_exist() -> None:
    text = (
        "__device__ void f(cg::thread_block_tile<16> u) {\n  auto t = cg::tiled_partition<32>(cg::this_thread_block());\n"
        "  auto s = cg::tiled_partition<4>(t);\n  cg::tiled_partition<2>(u);\n  cg::tiled_partition<8>(block);\n}\n"
    )
    assert [row for row in rule_severities(text) if row[0] == "LINT-GROUPS"] == [
        ("LINT-GROUPS", 3, "error"),
        ("LINT-GROUPS", 4, "error"),
    ]
