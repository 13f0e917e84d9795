"""The rules: ids, pages, counts, files of several wheels."""

from __future__ import annotations

import pytest

from stackbuild.checks.catalogue import catalogue
from stackbuild.cli import load_commands
from stackbuild.core.resources import folder
from stackbuild.views.rules import text_of_all

load_commands()


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
