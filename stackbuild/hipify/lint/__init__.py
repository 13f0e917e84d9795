"""Lint: what no mapping can fix."""

from __future__ import annotations

from stackbuild.hipify.prepare import Plan
from stackbuild.hipify.view import View
from stackbuild.report import Finding


def lint(view: View, plan: Plan) -> list[Finding]:
    """All lint findings of a text."""
    return []
