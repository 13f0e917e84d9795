"""A namespace is the same one where its first part is brought, around it, or has another name."""

from __future__ import annotations

import pytest

from stackbuild.core.errors import RecipeError
from stackbuild.hipify.rules.rules import read
from support.hipify import hip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("using namespace thrust;\nauto p = cuda::par;", "using namespace thrust;\nauto p = hip::par;"),
        ("using namespace ::thrust;\nauto p = cuda :: par.on(s);", "using namespace ::thrust;\nauto p = hip :: par.on(s);"),
        ("namespace t = thrust;\nauto p = t::cuda::par, q = t::cuda::other;", "namespace t = thrust;\nauto p = t::hip::par, q = t::hip::other;"),
        ("namespace thrust { namespace cuda { struct S; } }", "namespace thrust { namespace hip { struct S; } }"),
        ("namespace thrust { auto p = cuda::par; }", "namespace thrust { auto p = hip::par; }"),
        ("void f() { using namespace thrust::system; cuda::vector<int> v; }", "void f() { using namespace thrust::system; hip::vector<int> v; }"),
    ],
)  # fmt: skip
def test_thrusts_cuda_by_a_shorter_name_is_converted(text: str, expected: str) -> None:
    assert hip(text).text == expected
    assert hip(expected).text == expected


@pytest.mark.parametrize(
    "text",
    [
        "using namespace thrust;\ncuda::std::array<int, 3> a; cuda::atomic<int> b;",
        "auto p = cuda::par; using namespace thrust;",
        "void f() { using namespace thrust; }\nauto p = cuda::par;",
        "using namespace thrust;\nauto p = my::cuda::par + ::cuda::par + x.cuda;",
        "namespace mine { namespace cuda { } } using namespace thrust;",
    ],
)
def test_another_namespace_of_that_name_stays(text: str) -> None:
    assert hip(text).text == text


def test_only_a_namespace_rule_has_members() -> None:
    with pytest.raises(RecipeError, match="a identifier rule has no `members`"):
        read("schema: 1\nname: x\nrules:\n  - {id: a, identifier: b, to: c, why: d, members: [e]}\n", "x.yaml")
