"""A least version of CUDA is one that HIP passes, and a branch for CUDA's compiler stays beside one for HIP's."""

from __future__ import annotations

import pytest

from support.hipify import hip

LADDER = """\
#if CUDA_VERSION < 7000
#  error "CUDA 7.0 or higher"
#elif (CUDA_VERSION >= 7000 && CUDA_VERSION < 8000)
#  define LEVEL 1
#elif (CUDA_VERSION >= 8000)
#  define LEVEL 2
#endif
"""


def versions(text: str) -> list[int]:
    return [f.place.line for f in hip(text).findings if f.rule == "LINT-CUDA-VERSION" and f.place]


def test_the_branch_of_the_newest_version_is_hips() -> None:
    made = hip(LADDER)
    assert "#if (defined(CUDA_VERSION) && CUDA_VERSION < 7000)\n" in made.text
    assert "#elif !defined(CUDA_VERSION) || (CUDA_VERSION >= 8000)\n" in made.text
    assert "#elif (CUDA_VERSION >= 7000 && CUDA_VERSION < 8000)\n" in made.text
    assert hip(made.text).text == made.text


@pytest.mark.parametrize(
    ("text", "converted"),
    [
        ("#if CUDART_VERSION < 9000\n#error old\n#endif\n", "#if (defined(CUDART_VERSION) && CUDART_VERSION < 9000)\n"),
        (
            "#if defined(X) && (__CUDACC_VER_MAJOR__ <= 8)\n#error old // too old\n#endif\n",
            "#if defined(X) && ((defined(__CUDACC_VER_MAJOR__) && __CUDACC_VER_MAJOR__ <= 8))\n",
        ),
        (LADDER.replace("#elif (CUDA_VERSION >= 8000)", "#else"), "#if (defined(CUDA_VERSION) && CUDA_VERSION < 7000)\n"),
    ],
)
def test_a_least_version_is_asked_where_the_macro_is_defined(text: str, converted: str) -> None:
    made = hip(text)
    assert converted in made.text and versions(text) == []
    assert hip(made.text).text == made.text


@pytest.mark.parametrize(
    "text",
    [
        "#if CUDART_VERSION < 9000\nint old;\n#error old\n#endif\n",
        "#if CUDART_VERSION < 9000\nint old;\n#endif\n",
        "#if CUDART_VERSION >= 9000\n#error new\n#endif\n",
        "#if !defined(CUDART_VERSION) || CUDART_VERSION < 9000\n#error old\n#endif\n",
        "#if !(CUDART_VERSION < 9000)\n#error new\n#endif\n",
        "#if THRUST_VERSION < 100800\n#error old\n#endif\n",
    ],
)
def test_other_questions_for_a_version_stay(text: str) -> None:
    assert hip(text).text == text


@pytest.mark.parametrize(
    ("others", "stays"),
    [
        ("#elif defined(__HIP__)\nint hip;\n", True),
        ("#elif defined(__clang__)\nint clang;\n#elif defined(__HIPCC__) && X\nint hip;\n", True),
        ("#elif !defined(__HIP__)\nint host;\n", False),
        ("#elif defined(USE_HIP)\nint hip;\n", False),
        ("#else\nint host; // __HIP__\n", False),
    ],
)
def test_a_branch_for_cudas_compiler_stays_before_one_for_hips(others: str, stays: bool) -> None:
    text = f"#if defined(__CUDACC__)\nint cuda;\n{others}#endif\n#ifdef __CUDACC__\nint too;\n#endif\n"
    made = hip(text).text
    assert ("#if defined(__CUDACC__)\n" in made) is stays
    assert "#ifdef __HIPCC__\nint too;" in made
    assert hip(made).text == made
