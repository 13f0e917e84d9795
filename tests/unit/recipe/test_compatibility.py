"""One wrong value has one message: what follows from it is not said beside it."""

from __future__ import annotations

import pytest

from stackbuild.model.findings import Severity
from stackbuild.recipe.compatibility import findings
from stackbuild.recipe.load import parse
from stackbuild.tables.compatibility import table
from support.paths import TESTS

NIGHT = (TESTS / "seeded-recipes/bases/night.yaml").read_text()


@pytest.mark.parametrize(
    ("old", "new", "rule", "subject", "fix"),
    [
        ("rocm: 6.4.4", "rocm: 5.7.1", "ROCM", "rocm", "nearest known: 6.0"),
        ("rocm: 6.4.4", "rocm: 6.3.4", "IMAGE-ROCM", "rocm", "write `rocm: 6.4.4`"),
        ("22.04:6.4.4-complete", "22.04:7.2.4-complete", "IMAGE-ROCM", "base.image", "22.04:6.4.4-complete"),
        ('python: ["3.10"]', 'python: ["3.14"]', "IMAGE-PYTHON", "python", '"3.10"'),
        ('python: ["3.10"]', 'python: ["3.7"]', "IMAGE-PYTHON", "python", '"3.10"'),
        ("ref: rocm-6.4.4", "ref: rocm-7.2.4", "REF", "sources.graph.ref", "write `ref: rocm-6.4.4`"),
        ("version: 1.21.1\n    prov", "version: 1.22.1\n    prov", "ORT-VERSION", "components.ort.version", "`version: 1.21.1`"),
    ],
)
def test_one_wrong_value_has_one_error_with_what_to_write(old: str, new: str, rule: str, subject: str, fix: str) -> None:
    assert old in NIGHT
    found = [f for f in findings(parse(NIGHT.replace(old, new, 1), "night.yaml"), table()) if f.severity is Severity.ERROR]
    assert [(f.rule, f.subject) for f in found] == [(f"SB-STACK-{rule}", subject)]
    assert fix in found[0].fix


def test_two_wrong_values_have_two_errors() -> None:
    text = NIGHT.replace("version: 2.12.0", "version: 2.15.0").replace('["3.10"]', '["3.12"]')
    errors = [f.rule for f in findings(parse(text, "night.yaml"), table()) if f.severity is Severity.ERROR]
    assert sorted(errors) == ["SB-STACK-IMAGE-PYTHON", "SB-STACK-MIGRAPHX"]
