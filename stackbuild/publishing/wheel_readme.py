"""The description of a wheel, which `pip show` prints: how to make a session, and what runs where.

It is written into METADATA when the wheel is packed. Index pages, receipts and reports read it there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Literal

from stackbuild.core.model import Model
from stackbuild.tables.packages import packages_of
from stackbuild.tables.targets import TARGETS, processor

WheelKind = Literal["onnxruntime", "plugin", "custom-ops", "migraphx", "other"]

_USE, _PLACES, _TARGET = "## Use", "## What runs where", "GPU code for "
_TARGET_LINE = re.compile(rf"{_TARGET}(gfx[0-9a-z:+-]*): ")
MOST_CODE_LINES, MOST_PLACES, MOST_LINE = 12, 100, 200
"""So many lines of code and places are read, of so many characters each: any wheel may be published."""


class WheelUsage(Model):
    """How a wheel is used: Python that makes a session, and a line for each thing that runs or comes from somewhere.

    `places` is empty where the wheel's description does not say it.
    """

    code: tuple[str, ...] = ()
    places: tuple[str, ...] = ()

    @property
    def targets(self) -> tuple[str, ...]:
        """The GPU targets that it has code for."""
        return tuple(match[1] for line in self.places if (match := _TARGET_LINE.match(line)))

    @property
    def gfx(self) -> str:
        """The targets for people."""
        if self.targets:
            return ", ".join(self.targets)
        return "no GPU code" if self.places else "GPU targets not stated"


_ONNXRUNTIME = """\
import onnxruntime

options = onnxruntime.SessionOptions()
options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")  # an error in place of a slow run on the CPU
providers = [name for name in onnxruntime.get_available_providers() if name != "CPUExecutionProvider"]
session = onnxruntime.InferenceSession("model.onnx", options, providers=providers)
print(session.get_providers())
"""
_PLUGIN = """\
import onnxruntime
import {package} as plugin

onnxruntime.register_execution_provider_library(plugin.get_ep_name(), plugin.get_library_path())
devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == plugin.get_ep_name()]
options = onnxruntime.SessionOptions()
options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")  # an error in place of a slow run on the CPU
options.add_provider_for_devices(devices, {{}})
session = onnxruntime.InferenceSession("model.onnx", options)
"""
_CUSTOM_OPS = """\
import onnxruntime
import {package} as kernels

options = onnxruntime.SessionOptions()
options.register_custom_ops_library(kernels.get_library_path())
session = onnxruntime.InferenceSession("model.onnx", options, providers=["CPUExecutionProvider"])
"""
_MIGRAPHX = """\
import {package}

{package}.preload()  # before the first session: ONNX Runtime's MIGraphX provider finds libmigraphx_c.so.3 so

import onnxruntime

session = onnxruntime.InferenceSession("model.onnx", providers=["MIGraphXExecutionProvider"])
"""
_CODE = {"onnxruntime": _ONNXRUNTIME, "plugin": _PLUGIN, "custom-ops": _CUSTOM_OPS, "migraphx": _MIGRAPHX}


def kind_of(package: str, module: str) -> WheelKind:
    """What a package is, from its name and the text of its `__init__.py`."""
    if package == "onnxruntime":
        return "onnxruntime"
    if "def get_ep_name" in module:
        return "plugin"
    if "def preload" in module:
        return "migraphx"
    return "custom-ops" if "def get_library_path" in module else "other"


def _packages(soname: str) -> str:
    debian, amd = packages_of(soname)
    return f": package `{debian}` of Debian and Ubuntu, `{amd}` of AMD" if debian else ""


def readme(
    title: str, summary: str, package: str, kind: WheelKind, targets: Sequence[str], outside: Sequence[str]
) -> str:
    """Markdown. `targets` are those of the wheel's GPU code, `outside` the sonames that it needs of the machine."""
    lines = [f"# {title}", "", summary, ""]
    if code := _CODE.get(kind):
        lines += [_USE, "", "```python", *code.format(package=package).splitlines(), "```", ""]
    lines += [_PLACES, ""]
    for target in targets:
        details = TARGETS.get(processor(target))
        names = ", ".join(details.products) if details else ""
        lines.append(f"- {_TARGET}{target}: {names or 'no product name is known'}")
    if not targets:
        lines.append("- It holds no GPU code. What it calls compiles at run time, or runs on the CPU.")
    lines += [f"- `{soname}` comes from the machine{_packages(soname)}" for soname in outside]
    lines += ["", "The statements beside the wheel on its index say what was verified, and on which machine.", ""]
    return "\n".join(lines)


def read_usage(description: str) -> WheelUsage:
    """What the description of a wheel says of its use; nothing where `readme` has not written it."""
    before, heading, after = description.replace("\r\n", "\n").partition(f"\n{_PLACES}\n\n")
    if not heading:
        return WheelUsage()
    lines = takewhile(lambda line: line.startswith("- "), after.split("\n", MOST_PLACES)[:MOST_PLACES])
    places = tuple(line.removeprefix("- ").replace("`", "")[:MOST_LINE] for line in lines)
    code = tuple(before.rpartition(f"{_USE}\n\n```python\n")[2].removesuffix("```\n").splitlines())
    is_code = before.endswith("```\n") and len(code) <= MOST_CODE_LINES and max(map(len, code), default=0) <= MOST_LINE
    return WheelUsage(code=code if is_code else (), places=places)
