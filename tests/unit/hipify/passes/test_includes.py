from __future__ import annotations

import pytest

from stackbuild.hipify.model import Target
from stackbuild.hipify.rules.target_headers import resolved
from support.hipify import bundled_rules, hip


@pytest.mark.parametrize(
    ("cuda", "expected"),
    [
        ("#include <cuda_runtime.h>", "#include <hip/hip_runtime.h>"),
        ('#  include "cuda_fp16.h"  // half', '#  include "hip/hip_fp16.h"  // half'),
        ("#include <cublas_v2.h>", "#include <hipblas/hipblas.h>"),
        ("#include <curand.h>", "#include <hiprand/hiprand.h>"),
        ("#include <cub/device/device_reduce.cuh>", "#include <hipcub/hipcub.hpp>"),
        ("#include <thrust/system/cuda/execution_policy.h>", "#include <thrust/system/hip/execution_policy.h>"),
        ("#include <nvtx3/nvToolsExt.h>", "#include <roctracer/roctx.h>"),
        ("#include <my/cuda_runtime.h>", "#include <my/cuda_runtime.h>"),
        ("// #include <cuda_runtime.h>", "// #include <cuda_runtime.h>"),
        ("#include <hipblas.h>", "#include <hipblas/hipblas.h>"),
        ("int cublas_h = 1;", "int cublas_h = 1;"),
    ],
)
def test_headers(cuda: str, expected: str) -> None:
    assert hip(cuda + "\n", "a.h").text == expected + "\n"


def test_each_header_once_on_every_path() -> None:
    text = "#include <cuda.h>\n#include <cuda_runtime.h>\n#ifdef A\n#include <cuda.h>\n#endif\n"
    assert hip(text, "a.h").text == "#include <hip/hip_runtime.h>\n#ifdef A\n#endif\n"
    text = "#ifdef A\n#include <cuda.h>\n#else\n#include <cuda.h>\n#endif\n#include <cuda_runtime.h>\n"
    assert hip(text, "a.h").text == text.replace("cuda.h", "hip/hip_runtime.h").replace(
        "cuda_runtime.h", "hip/hip_runtime.h"
    )


@pytest.mark.parametrize(
    "dropped", ["device_launch_parameters.h", "texture_fetch_functions.h", "sm_20_atomic_functions.h"]
)
def test_headers_that_have_no_counterpart_are_dropped(dropped: str) -> None:
    assert hip(f"#pragma once\n#include <{dropped}>\nint x;\n", "a.h").text == "#pragma once\nint x;\n"


KERNEL = "__global__ void k() {}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", KERNEL),
        ("// licence\n/* more\n */\n", KERNEL),
        ("#pragma once\n", KERNEL),
        ("// l\n#ifndef A_H\n#define A_H\n", KERNEL + "#endif\n"),
        ("#if !defined(A_H)\n#define A_H\n\n", "#include <vector>\n" + KERNEL + "#endif\n"),
        ("#define FIRST 1\n", "#include <vector>\n" + KERNEL),
        ("", KERNEL + "#include <late>\n"),
        ("", "#ifdef A\n#include <vector>\n#endif\n" + KERNEL),
    ],
)
def test_the_runtime_is_included_where_it_belongs(before: str, after: str) -> None:
    assert hip(before + after).text == before + "#include <hip/hip_runtime.h>\n" + after


def test_the_runtime_is_not_included_where_nothing_needs_it() -> None:
    assert hip("int x;\n").text == "int x;\n"
    assert hip("__device__ int f();\n", "a.h").text == "__device__ int f();\n"
    assert hip("cudaFree(p);\n", "a.cpp").text == "hipFree(p);\n"
    assert hip("cudaFree(p);\n", "a.cu").text == "#include <hip/hip_runtime.h>\nhipFree(p);\n"


def test_headers_are_resolved_against_the_target() -> None:
    target = Target(headers=frozenset({"hipblas.h"}))
    assert hip("#include <cublas_v2.h>\n", "a.h", target=target).text == "#include <hipblas.h>\n"
    made = hip("#include <cublas_v2.h>\n", "a.h", target=Target(headers=frozenset()))
    (finding,) = made.findings
    assert finding.rule == "HIPIFY-HEADER-MISSING" and "hipblas/hipblas.h" in finding.found


def test_whole_folders_and_headers_of_other_libraries_are_not_looked_for() -> None:
    text = "#include <thrust/system/cuda/vector.h>\n#include <vector>\n"
    assert hip(text, "a.h", target=Target(headers=frozenset())).findings == ()


def test_only_headers_that_may_be_named_are_looked_for(tmp_path) -> None:  # type: ignore[no-untyped-def]
    from support.hipify import small_tables

    (tmp_path / "hipblas").mkdir()
    (tmp_path / "hipblas" / "hipblas.h").touch()
    (tmp_path / "other.h").touch()
    target = resolved(Target(), [tmp_path], small_tables(), bundled_rules("generic"))
    assert target.headers == {"hipblas/hipblas.h"}


def test_a_support_header_is_found_from_the_file_and_only_where_needed() -> None:
    made = hip("#include <vector>\n__global__ void k() { __syncwarp(); }\n", "a/b/k.cu")
    assert made.text.startswith('#include "../../stackbuild_hip_compat.h"\n#include <vector>\n')
    assert made.needs == ("stackbuild_hip_compat.h",)
    assert hip("__global__ void k() {}\n").needs == ()


def test_cooperative_groups_reduce_becomes_a_support_header() -> None:
    made = hip("#include <cooperative_groups/reduce.h>\nint x;\n", "k.h")
    assert made.text == '#include "stackbuild_hip_cg_reduce.h"\nint x;\n'
    assert made.needs == ("stackbuild_hip_cg_reduce.h",)
