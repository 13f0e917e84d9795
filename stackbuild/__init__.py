"""stackbuild: builds, verifies, benchmarks and publishes ROCm ONNX Runtime stacks from one recipe.

The public names; each name is loaded when it is first used. Type checkers read `__init__.pyi`:

    import stackbuild
    loaded = stackbuild.load("debian-13")
    released = stackbuild.release(loaded, stackbuild.Order(), listeners=[print])
    facts = stackbuild.inspect(path)
    verification = stackbuild.verify((wheel,))
"""

__all__ = ["Choice", "Order", "Stop", "inspect", "judge", "load", "publish", "release", "resolve", "verify"]

_MODULES = {
    "Choice": "model.choice",
    "Order": "build.order",
    "Stop": "core.errors",
    "inspect": "inspection",
    "judge": "judgement",
    "load": "recipe.load",
    "publish": "publishing.index",
    "release": "pipeline.release",
    "resolve": "plan.resolve",
    "verify": "verification",
}
"""Public name to the module that defines it. No package below has the name of a function here."""


def __getattr__(name: str) -> object:
    """Import the module of a public name when it is first used (PEP 562): `stackbuild --version` loads none."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
