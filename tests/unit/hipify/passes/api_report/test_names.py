"""What a second attacker found in the report: variables taken for APIs, names joined by any macro, advice for another name."""

from __future__ import annotations

import pytest

from stackbuild.hipify.convert import convert
from stackbuild.hipify.model import FileReport, Report, Target
from stackbuild.hipify.tables import bundled_tables
from stackbuild.views import hipify
from support.hipify import bundled_rules, hip


def told(text: str, rule: str) -> list[str]:
    return [f.found for f in hip(text).findings if f.rule == rule]


@pytest.mark.parametrize(
    ("guilty", "innocent"),
    [
        ("f(cudaStatus);\n", "int cudaStatus = 0; f(cudaStatus);\n"),
        ("return cudaBrandNew;\n", "void f(cudaStream_t* cudaBrandNew) { g(cudaBrandNew, 1); }\n"),
        ("cudaBrandNew(&x);\n", "void g(T a, cudaStream_t cudaBrandNew = 0) { f(cudaBrandNew); }\n"),
        ("x = flags & cudaBrandNew;\n", "cudaError_t &cudaBrandNew = x;\n"),
        ("x = flags > cudaBrandNew;\n", "my_t cudaBrandNew{x};\n"),
        ("struct cudaBrandNew;\n", "std::vector<int> cudaBrandNew; f(cudaBrandNew);\n"),
        ("cudaBrandNew;\n", "int cudaBrandNew[4]; f(cudaBrandNew);\n"),
        ("f(*cudaBrandNew);\n", "struct api { int (*cudaBrandNew)(int); }; int x = a.f(cudaBrandNew);\n"),
    ],
)
def test_variables_that_a_text_declares_are_no_unknown_apis(guilty: str, innocent: str) -> None:
    assert len(told(guilty, "HIPIFY-UNKNOWN")) == 1
    assert told(innocent, "HIPIFY-UNKNOWN") == []


def test_names_that_any_macro_joins_are_told_where_it_is_used() -> None:
    joins = "#define CAT(a, b) a##b\n"
    assert told(joins + "CAT(cuda, Free)(0);\n", "HIPIFY-PASTED-NAME") == ["CAT makes a name of cuda and another word"]
    assert told(joins + "CAT(my, Free)(0); int cuda;\n", "HIPIFY-PASTED-NAME") == []
    assert told("#define CAT(a, b) a + b\nCAT(cuda, Free);\n", "HIPIFY-PASTED-NAME") == []


def test_advice_is_given_for_each_name(capsys: pytest.CaptureFixture[str]) -> None:
    findings = hip("atomicAdd_block(a, 1); atomicAnd_block(a, 1);\n").findings
    file = FileReport("a.cu", "a.cu", "converted", findings)
    hipify.draw_report(Report("fast", "t", Target(), (file,), 1))
    said = " ".join(capsys.readouterr().out.split())
    assert "where atomicAdd_block is not in HIP: use __hip_atomic_fetch_add" in said
    assert "where atomicAnd_block is not in HIP: use __hip_atomic_fetch_and" in said
    hipify.draw_report(Report("fast", "t", Target(), (FileReport("a.cu", "a.cu", "converted", findings[:1]),), 1))
    assert " do: use __hip_atomic_fetch_add" in " ".join(capsys.readouterr().out.split())


def test_curand4_becomes_hiprand4() -> None:
    assert hip("uint4 u = curand4(&s); x.curand4(); my_curand4(1);\n").text.endswith(
        "uint4 u = hiprand4(&s); x.curand4(); my_curand4(1);\n"
    )


@pytest.mark.parametrize(
    ("name", "severity"),
    [("cudaMalloc_v2", "warning"), ("cudaFree_ptsz", "warning"), ("cublasSetWorkspace_v2", "warning"), ("cudaOfMine_v2", "note")],
)
def test_versions_of_known_names_are_cudas(name: str, severity: str) -> None:
    found = [f.severity.value for f in hip(f"void f() {{ {name}(p, 0); }}\n").findings if f.rule == "HIPIFY-UNKNOWN"]
    assert found == [severity]


def test_what_a_rule_replaces_is_not_said_to_stay() -> None:
    made = convert(
        "#include <cuda_runtime.h>\nint f() { return cudaMemoryTypeUnregistered; }\n",
        bundled_tables.load(),
        bundled_rules("generic"),
        Target(rocm="6.4"),
        "a.cu",
    )
    told = [f for f in made.findings if f.rule == "HIPIFY-UNSUPPORTED"]
    assert [(f.severity.value, "does not compile" in f.why) for f in told] == [("note", False)]
