"""Facts and rules of wheels, shared libraries and code objects: no GPU, no ROCm and no recipe needed.

facts = inspect(path)                        # readers: bytes → Facts
findings = judge(facts, expectations)        # rules: Facts → Findings
"""

from __future__ import annotations

from stackbuild.inspect.expectations import Expectations
from stackbuild.inspect.facts import Facts
from stackbuild.inspect.reading import inspect
from stackbuild.inspect.rules import judge

__all__ = ["Expectations", "Facts", "inspect", "judge"]
