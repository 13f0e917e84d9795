"""What a tree's other files say of a file's findings."""

from __future__ import annotations

import pytest

from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.model import FileReport
from stackbuild.hipify.tree.own_names import without_own
from stackbuild.model.findings import Severity


@pytest.mark.parametrize(
    ("names", "severity"),
    [
        (("a/Lock_CUDA.hpp", "a/Lock_HIP.hpp"), Severity.NOTE),
        (("a/CudaLock.hpp", "a/HipLock.hpp"), Severity.NOTE),
        (("cuda.h", "hip.h"), Severity.NOTE),
        (("a/Lock_CUDA.hpp", "b/Lock_HIP.hpp"), Severity.ERROR),
        (("cuda/Lock.hpp", "hip/Lock.hpp"), Severity.ERROR),
        (("a/Lock.hpp", "a/Lock_HIP.hpp"), Severity.ERROR),
        (("barracuda.h", "barrahip.h"), Severity.ERROR),
    ],
)
def test_a_file_for_cuda_with_one_for_hip_beside_it_has_notes_alone(names: tuple[str, ...], severity: Severity) -> None:
    finding = View("x").finding(0, "LINT-PTX", Severity.ERROR, "it", "", "")
    files = [FileReport(name, name, "converted", (finding,)) for name in names[:1]]
    (file,) = without_own(files, names, ())
    assert [one.severity for one in file.findings] == [severity]
