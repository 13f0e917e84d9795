from __future__ import annotations

from stackbuild.hipify.compilation.diagnostics import diagnostics_of

LOG = """\
In file included from /tmp/src/main.cu:3:
/tmp/src/inc/../inc/own.h:7:3: error: unknown type name 'half3'
In file included from /tmp/src/main.cu:4:
In file included from /usr/include/hipcub/hipcub.hpp:10:
/usr/include/hipcub/block.hpp:99:5: error: static assertion failed
/tmp/src/main.cu:20:9: note: in instantiation of function template specialization 'f<int>' requested here
/usr/include/hip/hip_runtime.h:1:1: note: candidate function not viable
/tmp/src/main.cu:30:1: warning: something
/tmp/src/main.cu:31:5: error: no member named 'x'
/tmp/src/inc/own.h:2:11: note: expanded from macro 'X'
/tmp/src/inc/own.h:3:11: note: candidate is here
/tmp/src/main.cu:31:5: error: no member named 'x'
/tmp/src/inc/own.h:2:11: note: expanded from macro 'X'
/tmp/src/main.cu:40:10: fatal error: 'torch/extension.h' file not found
4 errors generated when compiling for gfx1100.
"""


def test_each_error_has_its_own_place_first_and_then_its_uses() -> None:
    own, deep, macro, missing = diagnostics_of(LOG, "/tmp/src")
    assert own.places == (("inc/own.h", 7), ("main.cu", 3))
    assert deep.text == "static assertion failed" and deep.places == (("main.cu", 20), ("main.cu", 4))
    assert macro.places == (("main.cu", 31), ("inc/own.h", 2))
    assert (missing.missing_header, missing.places) == ("torch/extension.h", (("main.cu", 40),))


def test_what_is_no_error_is_left_out() -> None:
    assert diagnostics_of("/tmp/src/a.cu:1:1: warning: w\n/tmp/src/a.cu:1:1: note: n\nclang: error: no input\n", "/tmp/src") == []
    assert diagnostics_of("/tmp/srcs/a.cu:1:1: error: beside\n", "/tmp/src")[0].places == ()
