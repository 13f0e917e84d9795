from __future__ import annotations

import pytest

from stackbuild.hipify.model import Target
from stackbuild.model.findings import Severity
from support.hipify import DEVICE, UNSUPPORTED, hip


def told(text: str, target: Target | None = None) -> list[tuple[str, int, int]]:
    return [(f.rule, f.place.line, f.place.column) for f in hip(text, "a.cpp", target=target).findings if f.place]


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_every_name_that_hip_lacks_is_reported(name: str) -> None:
    assert told(f"\n  {name}(x);") == [("HIPIFY-UNSUPPORTED", 2, 3)]


@pytest.mark.parametrize("name", DEVICE)
def test_device_functions_are_reported_where_they_are_called(name: str) -> None:
    assert [rule for rule, _, _ in told(f"x = {name} (a, b);")] == ["HIPIFY-UNSUPPORTED-DEVICE"]
    assert told(f"int {name} = 1; y::{name}(a); // {name}(a)") == []


def test_lines_are_those_of_the_original() -> None:
    text = "#include <device_launch_parameters.h>\n__global__ void k();\n\ncuNothing();\n"
    assert ("HIPIFY-UNSUPPORTED", 4, 1) in told(text)


def test_names_that_a_support_header_defines_are_mere_notes() -> None:
    (finding,) = [f for f in hip("__global__ void k() { __vsub4(a, b); }").findings if "vsub4" in f.found]
    assert finding.severity is Severity.NOTE and "support header" in finding.fix


def test_version_gates() -> None:
    (finding,) = hip("cudaGraphAddNode(x);", "a.cpp", target=Target(rocm="6.1", lint=False)).findings
    assert finding.found == "cudaGraphAddNode becomes hipGraphAddNode, which needs ROCm 6.2.0; the target is 6.1"
    assert told("cudaGraphAddNode(x);", Target(rocm="6.2", lint=False)) == []
    assert told("cudaGraphAddNode(x);", Target(lint=False)) == []
    assert told("cudaFree(x);", Target(rocm="6.3")) == [("HIPIFY-GONE-FROM-ROCM", 1, 1)]
    assert told("cudaFree(x);", Target(rocm="6.2")) == []


def test_experimental_names_are_converted_only_on_request() -> None:
    made = hip("cudaTrial();", "a.cpp")
    assert made.text == "cudaTrial();" and made.findings[0].rule == "HIPIFY-EXPERIMENTAL"
    made = hip("cudaTrial();", "a.cpp", target=Target(experimental=True))
    assert made.text == "hipTrial();" and made.findings == ()


def test_unknown_names_of_cudas_spelling_are_reported_but_for_the_whitelist() -> None:
    assert told("cudaBrandNew(x); cudaDevices d; cudalite(); p->cudaThing();") == [("HIPIFY-UNKNOWN", 1, 1)]
    assert told("cublasBrandNew(x); cublasHandle h;") == [("HIPIFY-UNKNOWN", 1, 1)]
    assert told("cublasBrandNew_t x; cuOwn_t y;") == [("HIPIFY-UNKNOWN", 1, 1)]
    assert told("struct cublasOwn_t {}; cublasOwn_t x;") == []


def test_deprecated_names_are_notes() -> None:
    (finding,) = hip("cudaThreadExit();", "a.cpp").findings
    assert finding.severity is Severity.NOTE and "deprecated since CUDA 10.0" in finding.found


def test_findings_are_in_order_and_each_once() -> None:
    text = "cuNothing(); cudaNoSuchInHip();\ncuNothing();\n"
    assert told(text) == [("HIPIFY-UNSUPPORTED", 1, 1), ("HIPIFY-UNSUPPORTED", 1, 14), ("HIPIFY-UNSUPPORTED", 2, 1)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#include <nppi.h>\n", ["HIPIFY-NO-TABLE"]),
        ("void f() { ncclAllReduce(a, b); }\n", []),
        ("cuptiSubscribe(&s, a, b);\n", ["HIPIFY-NO-TABLE"]),
        ("nvshmem_init();\n", ["HIPIFY-NO-TABLE"]),
        ("nvjpegCreateSimple(&h);\n", ["HIPIFY-NO-TABLE"]),
        ("nvmlInit();\n", ["HIPIFY-NO-TABLE"]),
        ("cuFooBarBaz(1);\n", ["HIPIFY-UNKNOWN"]),
        ("x = CUBLAS_BRAND_NEW;\n", ["HIPIFY-UNKNOWN"]),
        ("CUBLAS_CHECK(x); CU_CHECK(y);\n", []),
        ("#define CUDA_MY_OWN 1\nint x = CUDA_MY_OWN;\n", []),
        ("int customCall(); customCall(1); cuts(2); cu8(3);\n", []),
        ("#define CALL(x) cuda##x\n", ["HIPIFY-PASTED-NAME"]),
        ("#define CALL(x) my_cuda##x\n", []),
        ("#define CALL(x) nccl##x\n", []),
        ("#define CAT(a, b) a##b\nvoid f() { CAT(nccl, Send)(p); }\n", []),
        ("#define CAT(a, b) a##b\nvoid f() { CAT(cublas, Sgemm)(p); }\n", ["HIPIFY-PASTED-NAME"]),
        ("#define NEXT(current, type) (type*)(current##_size)\n#define G(cuda) cuda##_x\n", []),
        ("#define CALL(x) cu##x\n", ["HIPIFY-PASTED-NAME"]),
        ("#define TEST(X, Y) void cuda_test_##X##Y()\n#define F(bit) nppiStTranspose_##bit()\n", []),
        ("#define KERNEL(NAME, CURAND_FUNC) void NAME() { float x = CURAND_FUNC(s); }\n", []),
        ("#define CALL(x) cuda ## x ## Async\n", ["HIPIFY-PASTED-NAME"]),
        ("#if __has_include(<device_launch_parameters.h>)\n#endif\n", ["HIPIFY-HEADER-UNREAD"]),
        ("#if __has_include(<cuda_fp16.h>)\n#endif\n", []),
        ("#define CUDA_HEADER <cuda_fp16.h>\n#include CUDA_HEADER\n", []),
        ("#if __has_include(<vector>)\n#endif\n", []),
        ("#include CUDA_HEADER\n", ["HIPIFY-HEADER-UNREAD"]),
        ("#include BOOST_PP_ITERATE()\n", []),
        ("#include <snpp.h>\n", []),
    ],
)  # fmt: skip
def test_what_no_table_has_is_told(text: str, expected: list[str]) -> None:
    assert [rule for rule, _, _ in told(text)] == expected


def test_what_takes_a_call_of_cudas_for_its_argument_is_the_projects() -> None:
    assert [f.rule for f in hip("void f() { cudaMineChk(cudaMalloc(&p, 4)); }").findings] == []
    assert [f.rule for f in hip("void f() { cudaMineChk(p); }").findings] == ["HIPIFY-UNKNOWN"]


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("extern tcuNothing *cuNothing;\n", Severity.NOTE),
        ("class cuNothing;\n", Severity.NOTE),
        ("typedef enum cuNothing cuSomething_t;\n", Severity.NOTE),
        ("enum Face { cuNothing = 4, B };\n", Severity.NOTE),
        ("void cuNothing(int a) { f(a); }\n", Severity.NOTE),
        ("int x = cuNothing(4);\n", Severity.ERROR),
    ],
)
def test_a_declaration_of_what_hip_lacks_is_a_note(text: str, severity: Severity) -> None:
    assert [f.severity for f in hip(text, "a.cpp").findings if f.rule == "HIPIFY-UNSUPPORTED"] == [severity]


@pytest.mark.parametrize(
    ("name", "severity"),
    [("nvtxRangePushEx", "warning"), ("nvtxRangePushMine", "note"), ("cutensorInit", "warning"), ("cudaLaunchKernelEx", "warning"), ("cudaMineThing", "note")],
)
def test_a_name_that_only_looks_like_cuda_s_is_a_note(name: str, severity: str) -> None:
    found = hip(f"void f() {{ {name}(1); }}\n").findings
    assert [f.severity.value for f in found if f.rule == "HIPIFY-UNKNOWN"] == [severity]
