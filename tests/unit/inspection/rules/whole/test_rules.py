"""The rules: ids, pages, counts, files of several wheels."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.checks.catalogue import catalogue
from stackbuild.cli import load_commands
from stackbuild.core.resources import folder
from stackbuild.inspection import inspect, judge_together
from stackbuild.inspection.rules.conflicts import install_path
from stackbuild.inspection.rules.rule import count_of
from stackbuild.views.rules import text_of_all
from support.binaries import GOOD

load_commands()


@pytest.mark.parametrize(
    ("number", "noun", "said"),
    [(1, "library", "1 library"), (2, "library", "2 libraries"), (0, "copy", "0 copies"), (3, "match", "3 matches"), (1_000, "file", "1,000 files")],
)  # fmt: skip
def test_counted(number: int, noun: str, said: str):
    assert count_of(number, noun) == said


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


def test_rule_ids_are_unique_and_said_in_full():
    rules = [rule for _, group in catalogue() for rule in group]
    assert len({rule.id for rule in rules}) == len(rules) >= 60
    for rule in rules:
        assert rule.id.startswith("SB-") and rule.when and rule.why and rule.fix and rule.title, rule.id
        assert not rule.title.endswith(".") and rule.why.endswith("."), rule.id


def test_the_rule_pages_are_current():
    """Regenerate with: stackbuild rules --markdown > docs/rules.md"""
    try:
        written = (folder("docs") / "rules.md").read_text(encoding="utf-8")
    except FileNotFoundError:
        pytest.skip("docs are not here")
    assert written == text_of_all(catalogue())
