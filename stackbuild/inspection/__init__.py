"""Facts and rules of wheels, shared libraries and code objects: no GPU, no ROCm and no recipe needed.

facts = inspect(path)                        # readers: bytes → Facts
findings = judge(facts, expectations)        # rules: Facts → Findings
"""

from __future__ import annotations

from stackbuild.inspection.expectations import NOTHING, Expectations
from stackbuild.inspection.facts import Facts
from stackbuild.inspection.read import inspect
from stackbuild.inspection.rules import judge, judge_together

__all__ = ["NOTHING", "Expectations", "Facts", "inspect", "judge", "judge_together"]
