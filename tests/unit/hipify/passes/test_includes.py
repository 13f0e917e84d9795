from __future__ import annotations

import pytest

from stackbuild.hipify.convert import convert
from stackbuild.hipify.model import Target
from stackbuild.hipify.rules.target_headers import resolve_headers
from stackbuild.hipify.tables import bundled_tables
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
    text = "#include <thrust/system/cuda/vector.h>\n#include <vector>\n#include <cuda/std/type_traits>\n"
    assert hip(text, "a.h", target=Target(headers=frozenset())).findings == ()


def test_only_headers_that_may_be_named_are_looked_for(tmp_path) -> None:  # type: ignore[no-untyped-def]

    from support.hipify import small_tables

    (tmp_path / "hipblas").mkdir()
    (tmp_path / "hipblas" / "hipblas.h").touch()
    (tmp_path / "other.h").touch()
    target = resolve_headers(Target(), [tmp_path], small_tables(), bundled_rules("generic"))
    assert target.headers == {"hipblas/hipblas.h"}


def test_a_support_header_is_found_from_the_file_and_only_where_needed() -> None:
    made = hip("#include <vector>\n__global__ void k() { __syncwarp(); }\n", "a/b/k.cu")
    assert made.text.startswith('#include "../../stackbuild_hip_compat.h"\n#include <vector>\n')
    assert made.needs == ("stackbuild_hip_compat.h",)
    assert hip("__global__ void k() {}\n").needs == ()


def test_cooperative_groups_reduce_becomes_a_support_header() -> None:
    made = hip("#include <cooperative_groups/reduce.h>\nint x;\n", "k.h")
    assert made.text == '#include "stackbuild_hip_cg_reduce.h"\nint x;\n'
    included = {"stackbuild_hip_cg_reduce.h", "stackbuild_hip_groups.h", "stackbuild_hip_compat.h"}
    assert set(made.needs) == included


def test_math_h_is_included_where_only_cudas_runtime_brought_it() -> None:
    host = "#include <cuda_runtime.h>\ntemplate <class T> bool f(T x) { return isfinite(x); }\n"
    made = hip(host, "a.h").text
    assert made == host.replace("#include <cuda_runtime.h>", "#include <math.h>\n#include <hip/hip_runtime.h>")
    assert hip(made, "a.h").text == made
    assert "math.h" not in hip(host.replace("isfinite(x)", "std::isfinite(x)"), "a.h").text
    assert hip("#include <math.h>\n" + host, "a.h").text.count("math.h") == 1
    assert "math.h" not in hip("bool f(float x) { return isnan(x); }\n", "a.cpp").text


def test_helper_headers_that_the_tree_has_are_kept() -> None:
    text = "#include <helper_cuda.h>\n#include <helper_string.h>\n"
    tables, rules = bundled_tables.load(), bundled_rules("generic")
    made = convert(text, tables, rules, Target(), "a.h")
    assert made.text == "#include <hip/hip_runtime_api.h>\n#include <helper_string.h>\n"
    assert [f.rule for f in made.findings] == ["LINT-HEADER"]
    made = convert(text, tables, rules, Target(own_headers=frozenset({"Common/helper_cuda.h"})), "s/a.h")
    assert made.text == text and made.findings == ()


def test_include_guards_of_cudas_headers_become_hips() -> None:
    text = "#ifdef __DRIVER_TYPES_H__\nint x;\n#endif\n"
    assert hip(text, "a.h", bundled_rules("generic")).text == text.replace(
        "__DRIVER_TYPES_H__", "HIP_INCLUDE_HIP_DRIVER_TYPES_H"
    )


def test_the_runtime_comes_before_the_projects_own_headers_as_nvcc_has_it() -> None:
    text = '#include <vector>\n#include "own.h"\n#include <cuda_runtime.h>\n'
    made = hip(text).text
    assert made.startswith("#include <hip/hip_runtime.h>\n#include <vector>\n") and hip(made).text == made
    first = '#include <cuda_runtime.h>\n#include "own.h"\n'
    assert hip(first).text == first.replace("cuda_runtime.h", "hip/hip_runtime.h")
    assert hip(text, "a.cpp").text == text.replace("cuda_runtime.h", "hip/hip_runtime.h")


def test_a_runtime_that_comes_late_is_included_first_and_once() -> None:
    text = '#include "mine.h"\n#include <cuda_runtime.h>\nint a;\n'
    assert hip(text).text == '#include <hip/hip_runtime.h>\n#include "mine.h"\nint a;\n'


def test_constants_bring_their_header() -> None:
    tables = bundled_tables.load()
    text = "#include <cuda_runtime.h>\n__global__ void k(float *x) { *x = CUDART_INF_F; }\n"
    made = convert(text, tables, bundled_rules("generic"), Target(), "a.cu").text
    assert made.startswith("#include <hip/hip_math_constants.h>\n#include <hip/hip_runtime.h>\n")
    assert convert(made, tables, bundled_rules("generic"), Target(), "a.cu").text == made
    assert (
        "constants" not in convert("int v = CUDART_VERSION;\n", tables, bundled_rules("generic"), Target(), "a.cu").text
    )


def test_the_driver_s_linker_brings_the_header_of_hip_s() -> None:
    tables = bundled_tables.load()
    text = "#include <cuda.h>\nvoid f(CUlinkState s) { cuLinkDestroy(s); }\n"
    made = convert(text, tables, bundled_rules("generic"), Target(), "a.cpp").text
    assert made.startswith("#include <hip/hiprtc.h>\n#include <hip/hip_runtime.h>\n")
    assert convert(made, tables, bundled_rules("generic"), Target(), "a.cpp").text == made


def test_hipdnns_header_is_told_unless_miopen_is_asked_for() -> None:
    def warnings(target: Target) -> list[str]:
        made = convert("#include <cudnn.h>\n", bundled_tables.load(), bundled_rules(), target, "a.cu")
        return [f.fix for f in made.findings if (f.rule, f.severity.value) == ("HIPIFY-HEADER-MISSING", "warning")]

    assert len(warnings(Target(rocm="6.4"))) == 1
    assert "--flavour miopen" in warnings(Target(rocm="6.4"))[0]
    assert warnings(Target(rocm="6.4", flavour="miopen")) == []
    assert warnings(Target(rocm="6.4", headers=frozenset(("hipDNN.h",)))) == []
