"""Forms of textures and surfaces that HIP lacks, or answers otherwise."""

from __future__ import annotations

import pytest

from stackbuild.hipify.model import Target
from support.hipify import hip
from support.lint_samples import rule_severities


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("surf2Dwrite(1.f, s, 4, 5, cudaBoundaryModeClamp);", ("LINT-BOUNDARY-MODE", "warning")),
        ("surf2Dread(&q, s, 4, 5, ::cudaBoundaryModeTrap);", ("LINT-BOUNDARY-MODE", "warning")),
        ("surf2Dwrite(1.f, s, 4, 5, cudaBoundaryModeZero);", None),
        ("q = surf2Dread<float>(s, 4, 5);", ("LINT-SURFACE-VALUE", "error")),
        ("q = surf2Dread<float>(s, 4, 5, cudaBoundaryModeZero);", ("LINT-SURFACE-VALUE", "error")),
        ("q = surf1Dread<float>(s, 4);", ("LINT-SURFACE-VALUE", "error")),
        ("q = surf2DLayeredread<float>(s, 4, 5, 1);", ("LINT-SURFACE-VALUE", "error")),
        ("surf2Dread<float>(&q, s, 4, 5);", None),
        ("surf1Dread(&q, s, 4);", None),
        ("q = tex2D<float>(t, x, y, &resident);", ("LINT-TEXTURE-RESIDENT", "error")),
        ("q = tex2D<float>(t, x, y);", None),
        ("tex2D(&q, t, x, y);", None),
    ],
)
def test_forms_that_hip_lacks_are_told_at_their_line(text: str, told: tuple[str, str] | None) -> None:
    found = [(rule, s) for rule, _, s in rule_severities(f"__global__ void k() {{ {text} }}\n") if rule != "LINT-TEXTURE-FETCH"]
    assert found == ([told] if told else [])


def test_a_plain_source_of_cpp_calls_no_texture() -> None:
    text = "class texture { public: int tex2D(int a); };\nint f(texture &t) { return t.tex2D(1); }\n"
    told = [[f.rule for f in hip(text, name=name, target=Target(rocm="6.4")).findings] for name in ("a.cpp", "a.cu")]
    assert "LINT-TEXTURE-FETCH" not in told[0]
    assert "LINT-TEXTURE-FETCH" in told[1]


def test_a_texture_of_another_namespace_is_no_reference() -> None:
    assert rule_severities("own::texture<float4> t;\ncuda::texture<float4> u;\n") == []
    assert [line for rule, line, _ in rule_severities("texture<float4> t;\n::texture<float4> u;\n")] == [1, 2]
