"""What the sources of a wheel import, within bounds."""

from __future__ import annotations

import pytest

from stackbuild.inspection.limits import Cost
from stackbuild.inspection.readers import imports
from stackbuild.inspection.readers.budget import ReadBudget


def missing(source: bytes, budget: ReadBudget | None = None) -> tuple[list[str], list[str]]:
    told: list[str] = []
    found = imports.missing(
        {"p/__init__.py": source},
        ("p",),
        frozenset({"p"}),
        budget or ReadBudget(),
        lambda path, broken: told.append(str(broken)),
    )
    return [each.module for each in found], told


def test_python_that_takes_gigabytes_to_parse_is_not_parsed():
    found, told = missing(b"import numpy\n[" + b"a," * 400_000 + b"]")
    assert found == [] and "tokens of Python" in told[0]
    assert missing(b"import numpy\nx = '" + b"a" * 400_000 + b"'") == (["numpy"], [])


@pytest.mark.parametrize("dot", [b".p", b" . p", b".\\\np"])
def test_a_name_of_ten_thousand_dots_is_not_parsed(dot: bytes):
    """Python's parser keeps every beginning of it: 100 kB would take gigabytes."""
    assert missing(b"import p" + dot * 10_000) == ([], ["a name of more than 64 dots"])
    assert missing(b"import numpy\nx = p" + dot * 30) == (["numpy"], [])


def test_tokens_of_all_sources_are_bounded(poor):
    poor(Cost.TOKENS, 10)
    assert "in all" in missing(b"import numpy\nimport numpy.linalg")[1][0]


def test_imports_follow_only_what_runs_unconditionally():
    sources = {
        "p/__init__.py": b"from . import a\ntry:\n    import optional\nexcept ImportError:\n    pass\nimport json, numpy.linalg",
        "p/a.py": b"from p.b import thing\ndef f():\n    import lazy\n",
        "p/b.py": b"from google.protobuf import message\nif True:\n    import conditional",
        "p/never.py": b"import unreachable",
        "p/broken.py": b"def (",
    }
    found = imports.missing(sources, ("p",), frozenset({"p"}), ReadBudget(), lambda path, broken: None)
    assert [(i.path, i.module) for i in found] == [("p/b.py", "google"), ("p/__init__.py", "numpy")]
