"""Budgets of readers."""

from __future__ import annotations

import pytest

from stackbuild.inspection.limits import BUDGETS


@pytest.fixture
def poor(monkeypatch: pytest.MonkeyPatch):
    """Sets a budget to a small number."""
    return lambda cost, amount: monkeypatch.setitem(BUDGETS, cost, (amount, 0))
