"""The rules: every id that the code can print has a description, and every description an id that the code can print."""

from __future__ import annotations

import re

import pytest

from stackbuild.checks import venv_rules
from stackbuild.checks.catalogue import catalogue, rules_by_id, rules_called
from stackbuild.model.findings import ClauseRule, Severity
from stackbuild.recipe import recipe_rules
from support.paths import ROOT

MODULES = {path: path.read_text("utf-8") for path in sorted((ROOT / "stackbuild").rglob("*.py"))}
TABLES = {"recipe_rules": recipe_rules.RULES, "venv_rules": venv_rules.RULES}


def test_every_id_in_the_code_is_written_once_and_described():
    ids = [id_ for text in MODULES.values() for id_ in re.findall(r"\"(SB-[A-Z0-9-]+)\"", text)]
    assert sorted(ids) == sorted(rules_by_id()) and len(ids) >= 150
    assert not [path for path, text in MODULES.items() if re.search(r"f\"SB-[A-Z]+-\{", text)], "an id that is put together"


@pytest.mark.parametrize("table", sorted(TABLES))
def test_every_rule_of_a_table_is_one_that_the_code_finds(table: str):
    code = "\n".join(text for path, text in MODULES.items() if path.stem != table)
    names = {
        name
        for name, rule in vars({"recipe_rules": recipe_rules, "venv_rules": venv_rules}[table]).items()
        if isinstance(rule, ClauseRule)
    }
    assert names == set(re.findall(rf"\b{table}\.([A-Z0-9_]+)\b", code)) - {"RULES"}


def test_findings_are_made_by_rules():
    makers = {str(path.relative_to(ROOT)) for path, text in MODULES.items() if re.search(r"(?<![\w.])Finding\(", text)}
    assert {m for m in makers if not m.startswith("stackbuild/hipify/")} == {"stackbuild/model/findings.py"}


def test_no_finding_is_graver_than_its_rule():
    text = "\n".join(MODULES.values())
    weaker = re.findall(r"\b(?:recipe|venv)_rules\.([A-Z0-9_]+)\.finding\((?:(?!\.finding\().)*?severity=Severity\.([A-Z]+)", text, re.DOTALL)  # fmt: skip
    tables = {**vars(recipe_rules), **vars(venv_rules)}
    order = list(Severity)
    assert len(weaker) >= 2
    assert not [name for name, severity in weaker if order.index(Severity[severity]) < order.index(tables[name].severity)]


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("SB-STACK-NO-ROCM", ["SB-STACK-NO-ROCM"]), ("no-rocm", ["SB-STACK-NO-ROCM"]), ("STACK-NO-ROCM", ["SB-STACK-NO-ROCM"]),
        ("no_rocm", ["SB-STACK-NO-ROCM"]), ("gfx", ["SB-RECIPE-GFX", "SB-STACK-GFX"]), ("ROCM-EP-GONE", ["SB-VENV-ROCM-EP-GONE"]),
        ("NO", []), ("", []),
    ],
)  # fmt: skip
def test_a_rule_is_found_by_its_id_or_the_end_of_it(name: str, ids: list[str]):
    assert [rule.id for rule in rules_called(name)] == ids


def test_groups_have_no_rule_twice():
    assert sum(len(rules) for _, rules in catalogue()) == len(rules_by_id())
