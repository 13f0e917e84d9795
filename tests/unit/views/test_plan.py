"""Explanations as text."""

from __future__ import annotations

import pytest

from stackbuild.plan.explain import Explanation
from stackbuild.views.console import forget_consoles
from stackbuild.views.plan import draw_explanation


def test_explanations_survive_strange_values(capsys: pytest.CaptureFixture[str]) -> None:
    forget_consoles()
    draw_explanation(Explanation("s", "k", "env A: \x1b[2J\u2028x\n", "env A: y\n"))
    assert "\x1b[2J" not in capsys.readouterr().out
    forget_consoles()
