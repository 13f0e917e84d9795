"""Generated and hostile text takes time that grows with its size: these took it by the square, most of them minutes."""

from __future__ import annotations

import time

import pytest

from support.hipify import hip

TEXTS = {
    "declarations without an end": "int cudaMalloc,\n" * 5000,
    "calls without an end": "T cudaMalloc(x) -> y\n" * 10000,
    "one enumeration": "enum E {\n" + "cudaMalloc,\n" * 20000 + "};\n",
    "classes": "".join(f"struct S{i} {{ int cudaMalloc; }};\n" for i in range(4000)),
    "functions": "".join(f"int cudaMalloc(int a) {{ return {i}; }}\n" for i in range(12000)),
    "braces before": "{" * 30000 + "}" * 30000 + "int cudaMalloc(int);\n" * 4000,
    "braces around": "namespace a {" * 20000 + "int cudaMalloc;" * 20000 + "}" * 20000,
    "brackets in a head": "f" + "(" * 20000 + ")" * 20000 + "{ int cudaMalloc; }",
    "one header in many branches": "#if A\n#include <cuda_runtime.h>\n#endif\n" * 8000,
    "branches in branches": "#if A\n" * 8000 + "#include <cuda_runtime.h>\n" * 8000 + "#endif\n" * 8000,
    "masks": "".join(f"#define M{i} 0xffffffff\nint x{i} = __any_sync(M{i}, 1);\n" for i in range(4000)),
    "macros that hand arguments on": "".join(
        f"#define A{i}(...) cudaMemcpyToSymbol(__VA_ARGS__)\n" for i in range(8000)
    ),
    "macros of macros": "#define A0 cudaMemcpyToSymbol\n"
    + "".join(f"#define A{i + 1} A{i}\nA{i}(a, b);\n" for i in range(8000)),
    "one function of shuffles": "float f(float v, int o) {"
    + "v += __shfl_down_sync(m, v, o);\n" * 8000
    + "} void g() { f(v, 1); }",
    "aliases of shuffles": "".join(f"#define S{i} __shfl_down_sync\nv += S{i}(m, v, 1);\n" for i in range(6000)),
}


@pytest.mark.parametrize("what", TEXTS)
def test_text_without_an_end_is_converted_in_time(what: str) -> None:
    began = time.process_time()
    hip(TEXTS[what])
    assert time.process_time() - began < 8


def test_an_include_deep_in_branches_stays() -> None:
    text = "#if A\n" * 300 + "#include <cuda_runtime.h>\n#include <cuda.h>\n" + "#endif\n" * 300
    assert hip(text).text.count("#include <hip/hip_runtime.h>") == 2
    assert hip(text.replace("#if A\n" * 300, "#if A\n")).text.count("#include <hip/hip_runtime.h>") == 1
