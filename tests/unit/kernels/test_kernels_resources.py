"""kernels/bench/resources.py on files that are no libraries."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SOURCE = Path(__file__).parents[3] / "kernels" / "bench" / "resources.py"


@pytest.fixture
def resources(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("kernels_bench_resources", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "kernels_bench_resources", module)  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("name", "says"), [("missing.so", "No such file"), ("text.so", "no ELF")])
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
