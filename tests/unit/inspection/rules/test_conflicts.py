"""Files that several wheels install."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.cli import load_commands
from stackbuild.inspection import inspect, judge_together
from stackbuild.inspection.rules.conflicts import install_path
from support.binaries import GOOD

load_commands()


@pytest.mark.parametrize(
    ("path", "where"),
    [
        ("a/b.py", "a/b.py"), ("./a/b.py", "a/b.py"), ("a//b.py", "a/b.py"), ("a/./b.py", "a/b.py"),
        ("x-1.data/purelib/a/b.py", "a/b.py"), ("x-1.data/platlib/a/b.py", "a/b.py"),
        ("x-1.data/scripts/run", "<scripts>/run"), ("x-1.data/headers/h.h", "x-1.data/headers/h.h"), ("x-1.data/b.py", "x-1.data/b.py"),
    ],
)  # fmt: skip
def test_where_installers_put_a_file(path: str, where: str) -> None:
    assert install_path(path) == where


def test_wheels_that_install_one_file_by_two_paths_overwrite_each_other(tmp_path: Path) -> None:
    one = GOOD.but(name="one", files={"pkg/__init__.py": b""}).write(tmp_path)
    two = GOOD.but(name="two", files={"two-1.data/purelib/pkg/__init__.py": b""}, without=("__init__.py", "forge.so"))
    two = two.but(without=("forge/__init__.py", "forge.so")).write(tmp_path)
    (finding,) = judge_together((inspect(one), inspect(two)))
    assert finding.rule == "SB-DIST-OVERWRITE" and finding.found == "1 file of the same name: pkg/__init__.py"
