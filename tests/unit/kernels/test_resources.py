"""kernels/tools/resources.py: what it refuses."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SOURCE = Path(__file__).parents[3] / "kernels" / "tools" / "resources.py"


@pytest.fixture
def resources(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("kernels_tools_resources", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "kernels_tools_resources", module)  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("name", "says"), [("missing.so", "No such file"), ("text.so", "not an ELF")])
def test_a_file_that_is_no_library_is_told(
    resources: ModuleType,
    name: str,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "text.so").write_text("not a library\n")
    monkeypatch.setattr(sys, "argv", ["resources.py", str(tmp_path / name)])
    assert resources.main() == 2
    assert says in capsys.readouterr().err


USE = {"symbol": "conv_gemm", "target": "gfx942", "wave": 64, "vgprs": 168, "spills": 0, "sgpr_spills": 0, "scratch": 0}


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({}, None),
        ({"vgprs": 169}, "169 VGPRs, budget 168"),
        ({"sgpr_spills": 1}, "1 SGPRs spilled into lanes of VGPRs, allowed 0"),
        ({"dynamic_stack": True}, "a stack whose size is not known before it runs"),
        ({"spills": 1}, "1 spills"),
        ({"symbol": "another"}, "no budget"),
    ],
)
def test_one_kernel_against_its_budget(resources: ModuleType, changed: dict[str, object], says: str | None) -> None:
    trouble = resources.ResourceUse(**{**USE, "dynamic_stack": False, **changed}).trouble()
    assert (trouble is None) if says is None else says in trouble


def test_a_target_that_is_asked_for_and_missing_is_named(resources: ModuleType) -> None:
    one = resources.ResourceUse(**USE, dynamic_stack=False)
    assert resources.lacking([one], ["gfx942"]) == []
    assert resources.lacking([one], ["gfx942", "gfx1100"]) == ["no kernel for gfx1100"]
