"""The clean environment: what it cannot be made for, and what is imported from elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.core.errors import MachineLacks
from stackbuild.verification.clean_env import PythonHost, make_venv
from stackbuild.verification.probe_sandbox import ProbeSandbox
from stackbuild.verification.rungs.importing import _judge


def test_a_python_that_pip_no_longer_supports_is_what_the_machine_lacks(tmp_path: Path) -> None:
    host = PythonHost(Path("/usr/bin/python3.6"), "3.6", "glibc 2.28")
    with pytest.raises(MachineLacks, match=r"stackbuild's pip \S+ is for Python \S+; /usr/bin/python3.6 has 3.6"):
        make_venv(tmp_path, host, (), lambda: None)


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
