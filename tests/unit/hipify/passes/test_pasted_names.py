"""Macros that put CUDA's names together."""

from __future__ import annotations

import pytest

from stackbuild.hipify.convert import convert
from stackbuild.hipify.model import Target
from stackbuild.hipify.tables import bundled_tables
from support.hipify import bundled_rules, hip

MACRO = "#define GPU(name) cuda##name\n"


@pytest.mark.parametrize(
    ("text", "hip_text"),
    [
        (MACRO + "GPU(Error_t) e = GPU(Malloc)(p, n);\n", "#define GPU(name) hip##name\n"),
        ("#define BLAS(f) cublas ## f\n", "#define BLAS(f) hipblas ## f\n"),
        (MACRO + "GPU(MyOwnThing)();\n", MACRO),
        (
            "#ifdef A\n" + MACRO + "#else\n#define GPU(name) hip##name\n#endif\nGPU(Free)(p);\n",
            "#ifdef A\n#define GPU(name) hip##name\n#else\n#define GPU(name) hip##name\n#endif\n",
        ),
        ("#define GPU(a, b) cuda##a\n", "#define GPU(a, b) hip##a\n"),
        ("#define CALL(call) CHECK(cuda##call)\nCALL(Free(p));\n", "#define CALL(call) CHECK(hip##call)\n"),
        ("#define CALL(at, c) do { e = cuda##c; if (e) f(at); } while (0)\n", "#define CALL(at, c) do { e = hip##c; if"),
        ("#define CALL(call) CHECK(cuda##call)\nCALL(MyOwnThing(p));\n", "#define CALL(call) CHECK(cuda##call)\n"),
        ("#define GPU(a, b) cuda##a##b\n", "#define GPU(a, b) cuda##a##b\n"),
        ("#define CALL(...) CHECK(cuda##__VA_ARGS__)\nCALL(Free(p));\n", "#define CALL(...) CHECK(hip##__VA_ARGS__)\n"),
        ("#define GPU(a, b) a##cuda##b\n", "#define GPU(a, b) a##cuda##b\n"),
        ("#define GPU(a) cuda##other\n", "#define GPU(a) cuda##other\n"),
        ("#define GPU(a) my_cuda##a\n", "#define GPU(a) my_cuda##a\n"),
    ],
)
def test_the_beginning_of_the_names_becomes_hips(text: str, hip_text: str) -> None:
    assert hip_text in hip(text).text
    assert hip(hip(text).text).text == hip(text).text


@pytest.mark.parametrize(
    ("beginning", "severity"),
    [("cu", "warning"), ("cudaMem", "warning"), ("cudaMineAll", "note"), ("CUDA_", "note")],
)
def test_a_beginning_that_is_no_name_of_cuda_s_is_a_note(beginning: str, severity: str) -> None:
    findings = hip(f"#define GPU(a, b) {beginning}##a##b\n").findings
    assert [f.severity.value for f in findings if f.rule == "HIPIFY-PASTED-NAME"] == [severity]


def test_uses_of_a_macro_that_makes_hips_names_in_another_branch_are_not_reported() -> None:
    text = "#ifdef A\n" + MACRO + "#else\n#define GPU(name) hip##name\n#endif\nauto e = GPU(ErrorMemoryAllocation);\n"
    assert {f.severity.value for f in hip(text).findings if f.rule == "HIPIFY-PASTED-NAME"} <= {"note"}


def test_uses_that_hip_calls_otherwise_are_reported() -> None:
    told = [(f.place.line, f.severity.value) for f in hip(MACRO + "GPU(NoSuchInHip)();\n").findings if f.place]
    assert told == [(1, "note"), (2, "warning")]
    text = "#define CALL(c) CHECK(cuda##c)\nCALL(Free(p));\nCALL(NoSuchInHip(p));\n"
    assert [f.place.line for f in hip(text).findings if f.place and f.severity.value == "warning"] == [3]


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("#define COPY(k) cudaMemcpy##k\nint f() { return COPY(HostToDevice); }\n", "note"),
        ("#define TYPE(x) CUDA_R_##x\nint f() { return TYPE(32F); }\n", "warning"),
        ("#define MINE(x) CUDA_##x\n", "note"),
    ],
)
def test_beginnings_of_names_that_are_converted_or_stay(text: str, severity: str) -> None:
    made = convert(text, bundled_tables.load(), bundled_rules("generic"), Target(rocm="6.4"), "a.cu")
    at_definition = [f.severity.value for f in made.findings if f.rule == "HIPIFY-PASTED-NAME" and f.place and f.place.line == 1]
    assert at_definition == [severity]
