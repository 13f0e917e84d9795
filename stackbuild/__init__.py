"""stackbuild: builds, verifies, benchmarks and publishes ROCm ONNX Runtime stacks from one recipe.

The library face; each name is loaded when it is first used:

    import stackbuild
    loaded = stackbuild.load("debian-13")
    released = stackbuild.release(loaded, stackbuild.Order(), listeners=[print])
    facts = stackbuild.inspect(path)
    verification = stackbuild.verify((wheel,))
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

_FACE = {
    "Choice": "resolve",
    "Order": "build",
    "Stop": "errors",
    "inspect": "inspect",
    "judge": "judge",
    "load": "load",
    "publish": "publish",
    "release": "release",
    "resolve": "resolve",
    "verify": "verify",
}
"""Public name to the module that has it."""


def _member(name: str) -> property:
    """A name of the face. Some functions have their module's name: the function wins over the submodule, whoever was
    imported first, so what the import system sets here is dropped (it keeps the module in sys.modules itself)."""

    def get(face: ModuleType) -> object:
        return getattr(import_module(f"{__name__}.{_FACE[name]}"), name)

    def drop(face: ModuleType, module: object) -> None:
        pass

    return property(get, drop)


sys.modules[__name__].__class__ = type("Face", (ModuleType,), {name: _member(name) for name in _FACE})
