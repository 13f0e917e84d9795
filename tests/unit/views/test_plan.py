"""Explanations as text."""

from __future__ import annotations

import pytest

from stackbuild.plan.explain import Explanation
from stackbuild.views import plan as show_plan


def test_explanations_survive_strange_values(capsys: pytest.CaptureFixture[str]) -> None:
    show_plan.page.cache_clear()
    show_plan.draw_explanation(Explanation("s", "k", "env A: \x1b[2J\u2028x\n", "env A: y\n"))
    assert "\x1b[2J" not in capsys.readouterr().out
    show_plan.page.cache_clear()
