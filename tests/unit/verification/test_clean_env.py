"""The clean environment: what it cannot be made for, and what is imported from elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.core.errors import MachineLacks
from stackbuild.verification.clean_env import PythonHost, make_venv


def test_a_python_that_pip_no_longer_supports_is_what_the_machine_lacks(tmp_path: Path) -> None:
    host = PythonHost(Path("/usr/bin/python3.6"), "3.6", "glibc 2.28")
    with pytest.raises(MachineLacks, match=r"stackbuild's pip \S+ is for Python \S+; /usr/bin/python3.6 has 3.6"):
        make_venv(tmp_path, host, (), lambda: None)
