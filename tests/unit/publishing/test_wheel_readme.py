"""The description of a wheel: code that opens a session, GPUs by their names, sonames from outside."""

from __future__ import annotations

import ast
import re

import pytest

from stackbuild.publishing.wheel_readme import MOST_LINE, MOST_PLACES, WheelUsage, kind_of, read_usage, readme

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


@pytest.mark.parametrize("kind", MODULES)
def test_what_was_written_is_read_again(kind: str) -> None:
    package, module = MODULES[kind]
    targets = ("gfx1100", "gfx942:xnack-", "gfx9-4-generic")
    text = readme("x 1.0", "A summary", package, kind_of(package, module), targets, ("libamdhip64.so.7", "libown.so"))
    usage = read_usage(text)
    code = re.findall(r"```python\n(.*?)```", text, re.S)
    assert list(usage.code) == (code[0].splitlines() if code else []) and usage.targets == targets and usage.gfx == "gfx1100, gfx942:xnack-, gfx9-4-generic"
    assert usage.places[-1] == "libown.so comes from the machine" and len(usage.places) == 5
    assert read_usage(text.replace("\n", "\r\n")) == usage


def test_a_description_of_others_says_nothing_of_use() -> None:
    assert read_usage("## Use\n\n```python\nimport x\n```\n") == read_usage("") == WheelUsage()
    assert WheelUsage().gfx == "GPU targets not stated"
    assert read_usage(readme("x 1.0", "", "onnxruntime", "onnxruntime", (), ())).gfx == "no GPU code"


def test_a_long_description_is_cut() -> None:
    """It comes from any wheel, and goes into the catalog, onto pages and onto a terminal."""
    places = "".join(f"- GPU code for gfx{n}: {'x' * 10_000}\n" for n in range(1000))
    code = "x = 1\n" * 1000
    usage = read_usage(f"## Use\n\n```python\n{code}```\n\n## What runs where\n\n{places}")
    assert usage.code == () and len(usage.places) == MOST_PLACES and {len(line) for line in usage.places} == {MOST_LINE}
