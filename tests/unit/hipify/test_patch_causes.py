"""Why a patch of converted source does not apply: the rule that changed the line, or upstream, also after drift."""

from __future__ import annotations

import pytest

from stackbuild.hipify.patch_causes import explain
from stackbuild.sources.patch_drift import changes, hunks
from support.hipify import hip

CUDA = """\
#include <cuda_runtime.h>
#include "own.h"

int main() {
  void* p;
  cudaMalloc(&p, 64);
  step(p);
  return cudaFree(p);
}
"""
AFTER = hip(CUDA).text.split("\n")
DRIFT = "// one\n// two\nint x;\n" + "void other() {}\n" * 60


def moved(cuda: str, before: list[str], line: int) -> str:
    made = hip(cuda)
    now = made.text.split("\n")
    return str(explain(cuda, list(made.edits), changes(before, now, line)))


def hunk(*changed: tuple[str, str]) -> list[str]:
    """The hunk's lines 4 to 8 of the converted program as they were when the patch was made."""
    text = "\n".join(AFTER[3:8])
    for old, new in changed:
        assert old in text
        text = text.replace(old, new)
    return text.split("\n")


@pytest.mark.parametrize("drift", ["", DRIFT])
@pytest.mark.parametrize(
    ("cuda", "before", "told"),
    [
        (CUDA, hunk(("hipMalloc", "cudaMalloc")), "changed there by HIPIFY (cudaMalloc)"),
        (CUDA, hunk(("hipMalloc", "gpuMalloc")), "changed there by HIPIFY (cudaMalloc), or upstream moved"),
        (CUDA.replace("64", "65"), hunk(), "no rule changes it: upstream moved"),
        (CUDA.replace("step(p)", "step(p, 1)"), hunk(), "no rule changes it: upstream moved"),
        (CUDA.replace("  step(p);\n", "  step(p);\n  cudaFree(q);\n"), hunk(), "no rule changes it: upstream moved"),
        (CUDA.replace("  step(p);\n", ""), hunk(), "no rule changes it: upstream moved"),
        (CUDA.replace("step(p)", "step()"), hunk(("hipFree", "cudaFree")), "changed there by HIPIFY (cudaFree), and upstream moved"),
    ],
)  # fmt: skip
def test_who_moved_a_hunk(drift: str, cuda: str, before: list[str], told: str) -> None:
    with_drift = cuda.replace("int main", drift + "int main")
    assert moved(with_drift, before, 4) == told


def test_an_include_that_was_added_or_dropped_is_the_conversion_s() -> None:
    cuda = "#pragma once\n__global__ void k();\nint x;\n"
    assert moved(cuda, cuda.split("\n"), 1) == "changed there by the include of hip/hip_runtime.h"
    dropped = '#include "a.h"\n#include <device_launch_parameters.h>\nint x;\nint y;\n'
    before = ['#include "a.h"', "#include <device_launch_parameters.h>", "int x;", "int y;"]
    assert moved(dropped, before, 1) == "changed there by rule generic-launch-parameters"


def test_a_line_that_an_earlier_patch_made_is_told() -> None:
    made = hip(CUDA)
    now = made.text.replace("step(p)", "patched(p)").split("\n")
    assert (
        str(explain(CUDA, list(made.edits), changes(hunk(), now, 4)))
        == "changed there by an earlier patch of the series"
    )


def test_hunks_are_read_with_their_files() -> None:
    text = "Why: x\n\n--- a/x/y.cu\t2020\n+++ b/x/y.cu\n@@ -3,3 +3,2 @@ f()\n one\n-two\n-three\n+3\n@@ -9 +8 @@\n-nine\n+9\n--- z\n+++ z\n@@ -0,0 +1 @@\n+new\n"
    assert [(h.file, h.line, h.before) for h in hunks(text)] == [
        ("x/y.cu", 3, ("one", "two", "three")),
        ("x/y.cu", 9, ("nine",)),
    ]
