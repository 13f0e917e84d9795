"""Names and kinds of what was read."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.inspection import inspect
from support.binaries import library


@pytest.mark.parametrize(
    ("name", "exports", "is_extension"),
    [
        ("a/_x.cpython-312-x86_64-linux-gnu.so", "PyInit__x", True),
        ("cv2.abi3.so", "PyInit_cv2", True),
        ("libonnxruntime_providers_rocm.so", "PyInit_decoy", False),
    ],
)
def test_an_extension_module_has_the_name_of_its_initialiser(
    name: str, exports: str, is_extension: bool, tmp_path: Path
) -> None:
    """A library that only exports some PyInit_ is loaded by `verify` as any other."""
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(library(exports=[exports]))
    assert inspect(tmp_path / name).libraries[0].is_extension is is_extension
