"""The description of a wheel: code that opens a session, GPUs by their names, sonames from outside."""

from __future__ import annotations

import ast
import re

import pytest

from stackbuild.actions.wheel_readme import kind_of, readme

MODULES = {
    "onnxruntime": ("onnxruntime", ""),
    "plugin": ("onnxruntime_ep_x", "def get_ep_name():\n    ...\ndef get_library_path():\n    ..."),
    "custom-ops": ("kernels_x", "def get_library_path():\n    ..."),
    "migraphx": ("migraphx_rocm", "def preload():\n    ..."),
    "other": ("numbers", ""),
}


@pytest.mark.parametrize("kind", MODULES)
def test_the_code_of_each_kind_is_python_that_names_its_package(kind: str) -> None:
    package, module = MODULES[kind]
    assert kind_of(package, module) == kind
    text = readme("x 1.0", "A summary", package, kind_of(package, module), ("gfx1100", "gfx942:xnack-"), ("libamdhip64.so.7",))
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert len(blocks) == (kind != "other")
    for block in blocks:
        imported = {name.name for node in ast.walk(ast.parse(block)) if isinstance(node, ast.Import) for name in node.names}
        assert {"onnxruntime", package} <= imported and len(block.splitlines()) <= 10
    assert "RX 7900 XTX" in text and "MI300X" in text and "`libamdhip64.so.7` comes from the machine" in text


def test_a_wheel_without_gpu_code_says_so() -> None:
    assert "It holds no GPU code" in readme("x 1.0", "", "onnxruntime", "onnxruntime", (), ())
