"""One short module per kind of component: from what the recipe says to steps. Pure.

A step module has one function, `steps(name, component, context) -> tuple[Step, ...]`; the last step bears the
component's name and makes its output.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stackbuild.plan import Step
from stackbuild.steps import cmake, kernels, script, wheel
from stackbuild.steps.context import Context

Maker = Callable[[str, Any, Context], tuple[Step, ...]]

REGISTRY: dict[str, Maker] = {
    "cmake": cmake.steps,
    "kernels": kernels.steps,
    "script": script.steps,
    "wheel": wheel.steps,
}
