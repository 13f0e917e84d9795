"""A recipe's `hipify:` end to end in real sandboxes: a small HIPIFY and C stand in for HIPIFY and HIP, but for
the last test."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from support.build_bench import BASE, BuildBench, ensure_base, link_store
from support.hipify import script

pytestmark = pytest.mark.sandbox

CODE = """\
// A program. nvcc needs no include for what follows.
#include "own.h"

__global__ void kernel(void);

int main(void) {
  void* p;
  cudaMalloc(&p, 64);
  return own() + cudaFree(p);
}
"""
RUNTIME = """\
#pragma once
#include <stdlib.h>
#define __global__
#define hipMalloc(p, n) (*(p) = malloc(n))
static int hipFree(void* p) { free(p); return 0; }
"""
PROGRAM = """\
  program:
    kind: script
    source: code
    hipify: {tool: hipify, exclude: ["hip/**"]MORE}
    run: [[sh, -c, "gcc -x c -I/src/code -o /out/program /src/code/main.cu && /out/program && cp -rL /src/code /out"]]
"""
SOURCES = "sources: {code: {path: code}, hipify: {path: hipify}}\n"
WHY = "Why: a test\nUpstream: https://example.org/7\nRemove-When: never\n\n"


@pytest.fixture(scope="session")
def hip_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ensure_base(tmp_path_factory.mktemp("base"))


@pytest.fixture
def bench(hip_base: Path, tmp_path: Path) -> BuildBench:
    """A CUDA program, with a HIPIFY and a HIP of a few lines."""
    made = with_base(tmp_path, hip_base)
    put(made, "code/main.cu", CODE)
    put(made, "code/own.h", "#define own() 0\n")
    put(made, "code/hip/hip_runtime.h", RUNTIME)
    put(made, "hipify/usr/bin/hipify-perl", script(new_layout=True))
    (tmp_path / "hipify/usr/bin/hipify-perl").chmod(0o755)
    return made


def put(bench: BuildBench, name: str, text: str) -> None:
    path = bench.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def write(bench: BuildBench, more: str = "") -> None:
    bench.write(PROGRAM.replace("MORE", more), SOURCES)


def with_base(folder: Path, base: Path) -> BuildBench:
    made = BuildBench(folder, folder / "store")
    link_store(base / "store", made.store)
    shutil.copy(base / "t.lock.yaml", folder / "t.lock.yaml")
    return made


def how(bench: BuildBench) -> dict[str, str]:
    """How each step of a build came about."""
    return {str(e["step"]): str(e["how"]) for e in bench.events(bench.build("--json"), "StepFinished")}


def failure(bench: BuildBench) -> str:
    """What a build says that fails in a step."""
    return bench.build(check=4).stderr


def patch(bench: BuildBench, name: str, before: str, after: str, line: int) -> None:
    hunk = f"@@ -{line - 1},3 +{line - 1},3 @@\n   void* p;\n-{before}\n+{after}\n   return own() + hipFree(p);\n"
    put(bench, f"patches/program/1/{name}.patch", WHY + "--- a/main.cu\n+++ b/main.cu\n" + hunk)


def test_a_source_is_converted_before_the_commands_see_it(bench: BuildBench) -> None:
    write(bench)
    assert how(bench) == dict.fromkeys(
        ("source.code", "source.hipify", "hipify.program.tables", "hipify.program", "program"), "run"
    ) | {"base": "cached"}
    seen = bench.tree("program") / "code"
    assert (seen / "main.cu").read_text() == CODE.replace(
        '#include "own.h"', '#include <hip/hip_runtime.h>\n#include "own.h"'
    ).replace("cuda", "hip")
    assert sorted(p.name for p in seen.iterdir()) == ["hip", "main.cu", "own.h"]
    assert how(bench)["program"] == "cached"


def test_what_decides_whether_a_source_is_converted_again(bench: BuildBench) -> None:
    write(bench)
    how(bench)
    put(bench, "hipify/README", "The same tables.\n")
    again = how(bench)
    assert (again["hipify.program.tables"], again["hipify.program"], again["program"]) == ("run", "reused", "reused")
    put(bench, "code/own.h", "#define own() 0 // changed\n")
    again = how(bench)
    assert (again["hipify.program.tables"], again["hipify.program"], again["program"]) == ("cached", "run", "run")
    write(bench, ", launch: ggl")
    again = how(bench)
    assert (again["hipify.program"], again["program"]) == ("run", "reused")  # no launch in it: the same text


def test_the_report_is_with_each_run_that_used_it(bench: BuildBench) -> None:
    put(bench, "code/main.cu", CODE.replace("return own()", "return cudaNoSuchInHip + own()"))
    program = PROGRAM.replace("MORE", "").replace("gcc", "gcc -DcudaNoSuchInHip=0")  # so that it compiles
    bench.write(program, SOURCES)
    how(bench)
    log = bench.run("logs", "hipify.program").stdout
    assert "main.cu:9:10: error: cudaNoSuchInHip has no counterpart in HIP [HIPIFY-UNSUPPORTED]" in log
    bench.write(program + "    env: {OTHER: command}\n", SOURCES)
    assert how(bench)["hipify.program"] == "cached"
    told = json.loads(bench.run("report", "last", "--format", "json").stdout)["conversions"]
    assert [(c["step"], c["converted"], c["files"]) for c in told] == [("hipify.program", 1, 2)]
    assert "HIPIFY-UNSUPPORTED" in bench.run("report", "last", "--format", "markdown").stdout
    bench.run("report", "last", "--out", "page.html")
    assert "CUDA as HIP: hipify.program" in (bench.root / "page.html").read_text()


def test_a_compiler_s_error_is_told_against_the_cuda_file(bench: BuildBench) -> None:
    put(bench, "code/main.cu", CODE.replace("own()", "nowhere"))
    write(bench)
    said = failure(bench)
    assert "code/main.cu:9:10: error: 'nowhere' undeclared" in said.replace("‘", "'").replace("’", "'")
    log = bench.run("logs", "program").stdout
    assert "/src/code/main.cu:10:10: error" in log
    assert "# the same places in the CUDA source:\n" in log
    assert "\ncode/main.cu:9:10: error" in log


@pytest.mark.parametrize(
    ("more", "code", "says"),
    [
        (", rules: [own.yaml]", CODE, "rule own-gone (identifier: Gone) matched nothing"),
        (
            ", strict: true",
            CODE + "int x = cudaNoSuchInHip;\n",
            "main.cu:11:9: error: cudaNoSuchInHip has no counterpart in HIP",
        ),
        (", include: ['nowhere/**']", CODE, "none of its 3 C, C++ and CUDA files is picked"),
        (", rules: [over.yaml]", CODE, "main.cu would become own.h, which the source has already"),
    ],
)
def test_what_a_recipe_does_not_allow_fails_by_name(bench: BuildBench, more: str, code: str, says: str) -> None:
    rules = "schema: 1\nname: own\nrules:\n  - {{id: own-gone, why: a test, {}}}\n"
    put(bench, "own.yaml", rules.format("identifier: Gone, to: Come"))
    put(bench, "over.yaml", rules.format("path: main.cu, to: own.h"))
    put(bench, "code/main.cu", code)
    write(bench, more)
    assert says in failure(bench)


def test_twins_are_kept_where_the_recipe_says_so(bench: BuildBench) -> None:
    put(bench, "over.yaml", "schema: 1\nname: own\nrules:\n  - {id: own, why: a test, path: other, to: main}\n")
    put(bench, "code/other.cu", CODE)
    write(bench, ", rules: [over.yaml], twins: keep")
    bench.build(check=4)  # the rule matches nothing but the twin that is left out
    put(bench, "code/other2.cu", "int second;\n")
    how(bench)
    assert sorted(p.name for p in (bench.tree("program") / "code").glob("*.cu")) == [
        "main.cu",
        "main2.cu",
        "other.cu",
        "other2.cu",
    ]


def test_links_stay_links_and_nothing_of_this_machine_is_read_through_them(bench: BuildBench) -> None:
    put(bench, "secret", "cudaMalloc: this machine's own\n")
    (bench.root / "code/out{a,b}.h").symlink_to(bench.root / "secret")
    (bench.root / "code/in.h").symlink_to("own.h")
    write(bench)
    bench.build("--until", "hipify.program")
    seen = bench.tree("hipify.program") / "source"
    assert (seen / "in.h").is_symlink() and (seen / "out{a,b}.h").is_symlink()
    assert "cudaMalloc: " not in "".join(
        p.read_text() for p in bench.tree("hipify.program").rglob("*") if p.is_file() and not p.is_symlink()
    )


def test_a_rule_set_with_a_mistake_is_told_with_its_place(bench: BuildBench) -> None:
    put(bench, "own.yaml", "schema: 1\nname: own\nrules:\n  - {id: x, why: a test, identifier: Gone}\n")
    write(bench, ", rules: [own.yaml]")
    assert "own.yaml:4:5: a identifier rule says what it becomes" in bench.build(check=2).stderr


def test_patches_come_after_and_say_who_moved_a_hunk(bench: BuildBench) -> None:
    write(bench, ", patches: program/1")
    patch(bench, "0001-more-memory", "  hipMalloc(&p, 64);", "  hipMalloc(&p, 128);", 9)
    how(bench)
    assert "hipMalloc(&p, 128)" in (bench.tree("program") / "code/main.cu").read_text()
    patch(bench, "0001-more-memory", "  cudaMalloc(&p, 64);", "  cudaMalloc(&p, 128);", 9)
    explained = bench.run("explain", "--recipe", str(bench.recipe), "program").stdout
    assert "hipify.program, which it needs:" in explained and "~ patches/0001-more-memory.patch" in explained
    by = "HIPIFY (cudaMalloc) (upstream: "
    assert f"0001-more-memory.patch: the hunk at main.cu:8 does not apply; changed there by {by}" in failure(bench)
    put(bench, "code/main.cu", CODE.replace("cuda", "own_").replace("own_Free(p)", "0"))
    said = failure(bench)
    assert (
        "the hunk at main.cu:8 does not apply; no rule changes it: upstream moved (upstream: https://example.org/7)"
        in said
    )


def test_the_other_verbs_know_the_stage(bench: BuildBench) -> None:
    write(bench)
    recipe = str(bench.recipe)
    assert "hipify.program" in bench.build("--dry-run").stdout
    how(bench)
    text = bench.run("explain", "--recipe", recipe, "hipify.program").stdout
    assert "param wavefronts: [64]" in text and 'param rules: ["generic"]' in text
    seen = bench.run(
        "shell", "--recipe", recipe, "program", "--", "sh", "-c", "cat /src/code/main.cu; ls /src/code"
    ).stdout
    assert "hipMalloc" in seen and "hipify.json" not in seen
    assert bench.run("plan", "--recipe", recipe, "--detailed-exitcode").returncode == 0


def test_a_base_without_hipify_clang_is_told(bench: BuildBench) -> None:
    write(bench, ", engine: clang")
    assert "the base has no hipify-clang: add it to its packages, or take `engine: fast`" in failure(bench)


def test_a_base_without_hipify_is_told(bench: BuildBench) -> None:
    shutil.rmtree(bench.root / "hipify/usr")
    put(bench, "hipify/README", "nothing\n")
    write(bench)
    assert "the base has no HIPIFY: add hipify-perl to its packages" in failure(bench)


REAL = """\
  saxpy:
    kind: cmake
    source: code
    uses_gfx: CMAKE_HIP_ARCHITECTURES
    options: {CMAKE_HIP_COMPILER: /usr/bin/clang++-17}
    hipify: {strict: true}
"""
SAXPY = """\
// y = a x + y, and the sum of y, by a warp at a time.
#include <cuda_runtime.h>
#include <math_functions.h>
#include "saxpy.cuh"

__constant__ float factor;

__global__ void saxpy(int n, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = factor * x[i] + y[i];
}

__global__ void sum(int n, const float* y, float* total) {
  float part = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) part += y[i];
  for (int offset = warpSize / 2; offset > 0; offset /= 2) part += __shfl_xor_sync(0xffffffff, part, offset);
  if (threadIdx.x % warpSize == 0) atomicAdd(total, part);
}

float run(int n, float a, const float* x, float* y) {
  float *dx, *dy, *total, result = 0;
  size_t bytes = n * sizeof(float);
  if (cudaMalloc(&dx, bytes) != cudaSuccess) return NAN;
  cudaMalloc(&dy, bytes);
  cudaMalloc(&total, sizeof(float));
  cudaMemcpyToSymbol(factor, &a, sizeof(a));
  cudaMemcpy(dx, x, bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(dy, y, bytes, cudaMemcpyHostToDevice);
  cudaMemset(total, 0, sizeof(float));
  saxpy<<<(n + 255) / 256, 256>>>(n, dx, dy);
  sum<<<1, 256>>>(n, dy, total);
  cudaMemcpy(&result, total, sizeof(float), cudaMemcpyDeviceToHost);
  return result;
}
"""
CMAKE = """\
cmake_minimum_required(VERSION 3.21)
project(saxpy LANGUAGES CXX HIP)
add_library(saxpy SHARED saxpy.cu)
set_source_files_properties(saxpy.cu PROPERTIES LANGUAGE HIP)
install(TARGETS saxpy)
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_cuda_library_is_built_for_amd_gpus(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> None:
    """With Debian's HIP 5.7, hipify-perl 6.0 and CMake: device code of both GPUs, from a CUDA source nobody changed."""
    packages = "[ccache, cmake, g++, hipcc, hipify-perl, libamdhip64-dev, make, ninja-build]"
    recipe = BASE.replace("[ccache, gcc, libc6-dev, make]", packages).replace("[gfx90a]", "[gfx1100, gfx942]")
    bench = with_base(tmp_path, ensure_base(tmp_path_factory.mktemp("hip"), recipe, timeout=780))
    put(bench, "code/saxpy.cu", SAXPY)
    put(bench, "code/saxpy.cuh", "#pragma once\nfloat run(int n, float a, const float* x, float* y);\n")
    put(bench, "code/CMakeLists.txt", CMAKE)
    bench.recipe.write_text(
        recipe.replace("NAME", "t") + "rocm: '5.7'\nsources: {code: {path: code}}\ncomponents:\n" + REAL
    )
    bench.build(timeout=300)
    found = json.loads(bench.run("inspect", str(bench.tree("saxpy") / "lib/libsaxpy.so"), "--json", check=None).stdout)
    assert {t["target"]: t["kernels"] for t in found["files"][0]["targets"]} == {"gfx1100": 2, "gfx942": 2}
