"""The sources that a component names. Pure."""

from __future__ import annotations

from stackbuild.model.components import Component, Convertible

SOURCE_KEYS = ("source", "headers", "onnxruntime", "pybind11")
"""The keys of components whose values are names of sources."""


def sources_of(component: Component) -> dict[tuple[str, ...], str]:
    """The keys of a component that name sources, and the names."""
    named_source: dict[tuple[str, ...], str] = {
        (k,): v for k in SOURCE_KEYS if isinstance(v := getattr(component, k, None), str)
    }
    tool = component.hipify.tool if isinstance(component, Convertible) and component.hipify else None
    return {**named_source, ("hipify", "tool"): tool} if tool else named_source
