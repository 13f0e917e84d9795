"""Where a package was imported from."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.verification.probe_sandbox import ProbeSandbox
from stackbuild.verification.rungs.importing import _judge


@pytest.mark.parametrize(
    ("file", "own"),
    [("/usr/lib/python3.11/imp.py", True), ("/usr/lib64/python3.12/json/__init__.py", True),
     ("/usr/lib/python3.11/site-packages/imp.py", False), ("/home/x/imp.py", False)],
)  # fmt: skip
def test_a_name_of_the_standard_library_is_said(tmp_path: Path, file: str, own: bool) -> None:
    (finding,) = _judge("imp", {"file": file}, ProbeSandbox(tmp_path, Path("/usr/bin/python3")), "")
    assert finding.rule == "SB-RUN-SHADOWED"
    assert finding.found.endswith("of the standard library") is own
    assert "Rename" in finding.fix
