"""What of Thrust a file names is included, where CUDA's headers bring it by others."""

from __future__ import annotations

from support.hipify import hip

HEADER = "#include <thrust/sort.h>\n"


def test_the_headers_of_what_is_named_are_added_once() -> None:
    text = hip(HEADER + "void f() { thrust::sequence(a, b); thrust ::count_if(a, b, c); thrust::sort(a, b); }\n").text
    assert f"{HEADER}#include <thrust/count.h>\n#include <thrust/sequence.h>\n" in text
    assert hip(text).text == text


def test_a_file_without_thrust_s_headers_or_with_a_conditional_one_gets_none() -> None:
    for text in (
        "thrust::sequence(a, b);\n",
        f"#ifdef X\n{HEADER}#endif\nthrust::sequence(a, b);\n",
        f"{HEADER}other::sequence(a);\n",
    ):
        assert "sequence.h" not in hip(text, name="a.h").text


def test_memory_of_the_device_has_headers_of_its_own() -> None:
    text = hip(HEADER + "void f() { thrust::device_free(thrust::device_malloc<int>(4)); }\n").text
    assert f"{HEADER}#include <thrust/device_free.h>\n#include <thrust/device_malloc.h>\n" in text
