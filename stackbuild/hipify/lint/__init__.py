"""Lint: what no mapping can fix, each with why it matters and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

import stackbuild.hipify.lint.ballots as ballots
import stackbuild.hipify.lint.devices as devices
import stackbuild.hipify.lint.lanes as lanes
from stackbuild.hipify.directives import Include
from stackbuild.hipify.lint.warnings import WARNINGS
from stackbuild.hipify.prepare import Plan
from stackbuild.hipify.view import View
from stackbuild.report import Finding

_CHECKS = (
    lanes.shuffle_ladders, lanes.warp_sizes, lanes.lane_arithmetic, ballots.ballots, ballots.lane_masks,
    ballots.partial_masks, lanes.tiles,
    devices.ptx, devices.libraries, devices.launch_bounds, devices.arch_guards,
)  # fmt: skip

# What only matters where a wavefront of that many lanes is among the target's.
_ONLY_WITH = {
    "LINT-LADDER-32": 64, "LINT-LADDER-64": 32, "LINT-WARP-SIZE-LITERAL": 64, "LINT-LANE-ARITHMETIC": 64,
    "LINT-BALLOT-32": 64, "LINT-LANE-MASK-32": 64, "LINT-PARTIAL-MASK": 64, "LINT-TILE-32": 64, "LINT-TEXTURE-FETCH": 64,
}  # fmt: skip


def lint(view: View, plan: Plan, includes: Iterable[Include]) -> list[Finding]:
    """All lint findings of a text that matter for the target's wavefronts."""
    lanes_of = plan.target.wavefronts
    findings: list[Finding] = []
    for at, rule, words in chain(devices.headers(includes), *(check(view) for check in _CHECKS)):
        if _ONLY_WITH.get(rule, lanes_of[0]) in lanes_of:
            told = WARNINGS[rule]
            fix = told.fix.format(*words) if "{" in told.fix else told.fix
            findings.append(view.finding(at, rule, told.severity, told.found.format(*words), told.why, fix, told.link))
    return findings
