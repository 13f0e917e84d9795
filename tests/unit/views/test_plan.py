"""Explanations as text."""

from __future__ import annotations

import pytest

from stackbuild.model.plan import Plan
from stackbuild.plan.current import PlanStatus, TimedPlan, with_times
from stackbuild.plan.explain import Explanation
from stackbuild.plan.status import StepStatus
from stackbuild.views.console import forget_consoles
from stackbuild.views.plan import draw_explanation, draw_plan


def timed(plan: Plan, seconds: dict[str, float]) -> TimedPlan:
    """A plan whose goals all have to run."""
    rows = tuple(StepStatus(name, "run", "0" * 64, "run", "never built here", (), {}) for name in plan.goals)
    return with_times(PlanStatus(plan, rows, seconds, [], ""))


def test_explanations_survive_strange_values(capsys: pytest.CaptureFixture[str]) -> None:
    forget_consoles()
    draw_explanation(Explanation("s", "k", "env A: \x1b[2J\u2028x\n", "env A: y\n"))
    assert "\x1b[2J" not in capsys.readouterr().out
    forget_consoles()


def test_a_plan_says_the_hours_that_are_guessed_and_the_time_that_was_seen(capsys: pytest.CaptureFixture[str]) -> None:
    steps = ("migraphx", "onnxruntime.cp312", "base")
    plan = Plan("rocm-7.2", (), steps, {"migraphx": "migraphx", "onnxruntime.cp312": "onnxruntime"})
    forget_consoles()
    draw_plan(timed(plan, {}))
    assert "about 3.7 hours of one core, a guess (migraphx 2, onnxruntime.cp312 1.7)" in capsys.readouterr().out
    forget_consoles()
    draw_plan(timed(plan, {"migraphx": 7200.0}))
    said = capsys.readouterr().out
    assert "about 1.7 hours of one core, a guess (onnxruntime.cp312 1.7)" in said
    assert "took when they last ran here: migraphx 2 h 00 min" in said
    forget_consoles()


def test_hours_that_were_measured_have_their_day_and_source(capsys: pytest.CaptureFixture[str]) -> None:
    steps = ("migraphx", "onnxruntime.cp314")
    plan = Plan("debian-rocm-7.2", (), steps, {"migraphx": "migraphx", "onnxruntime.cp314": "onnxruntime"})
    forget_consoles()
    draw_plan(timed(plan, {}))
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "about 3.6 hours of one core, a guess (migraphx 2); measured on 2026-11-23, two busy cores [docs/stacks.md] (onnxruntime.cp314 1.6)"
        in said
    )
    forget_consoles()
