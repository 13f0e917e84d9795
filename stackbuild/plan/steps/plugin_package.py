"""The Python package around a plugin EP's library: where it is, what it is called, and which devices are really its own."""

from __future__ import annotations

from stackbuild.model.plan import Command
from stackbuild.tables.providers import Plugin

TEXT = '''\
"""{summary}

    import onnxruntime as ort
    import {module} as plugin

    ort.register_execution_provider_library(plugin.get_ep_name(), plugin.get_library_path())
    options = ort.SessionOptions()
    options.add_provider_for_devices(plugin.get_devices()[:1], {{}})
    session = ort.InferenceSession("model.onnx", options)
"""

from pathlib import Path

__all__ = ["DEVICE_TYPES", "get_devices", "get_ep_name", "get_ep_names", "get_library_path"]

DEVICE_TYPES = ("GPU",)


def get_library_path():
    """The shared library to hand to onnxruntime.register_execution_provider_library."""
    return str(Path(__file__).resolve().parent / "{library}")


def get_ep_name():
    """The name to register it under, which get_ep_devices() then reports."""
    return "{provider}"


def get_ep_names():
    """Every execution provider in the library: one."""
    return [get_ep_name()]


def get_devices():
    """The GPUs it offers once it is registered; never a CPU, which some plugins offer where there is no GPU."""
    import onnxruntime as ort

    ours = [device for device in ort.get_ep_devices() if device.ep_name == get_ep_name()]
    return [device for device in ours if str(device.device.type).rpartition(".")[2] in DEVICE_TYPES]
'''

WORDS = (
    'mkdir -p "$1" && cp "$2" "$1/" && printf %s "$3" >"$1/__init__.py" '
    '&& for file in "$4"/LICENSE*; do [ ! -f "$file" ] || cp "$file" "$1/"; done'
)


def package(plugin: Plugin, source: str) -> tuple[Command, ...]:
    """The commands that make the package in `/out`, with the source's licence where it has one."""
    text = TEXT.format(
        summary=plugin.summary,
        module=plugin.module,
        library=plugin.library.rpartition("/")[2],
        provider=plugin.provider,
    )
    places = (f"/out/{plugin.module}", f"/out/{plugin.library}", text, f"/src/{source}")
    command = Command(("sh", "-c", WORDS, "package", *places), "install")
    beside = tuple(f"/out/{library}" for library in plugin.beside)
    return (command, Command(("cp", *beside, f"/out/{plugin.module}/"), "install")) if beside else (command,)
