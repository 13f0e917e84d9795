"""kernels/tools/emulated_table.py: sums, cells, and what it refuses."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SOURCE = Path(__file__).parents[3] / "kernels" / "tools" / "emulated_table.py"
GEMM = "_ZN3sbk11conv_detail9conv_gemmINS0_9GemmShapeI6__halfLi32ELi32ELi128ELi{}EEEEEvNS0_8GemmConvE"
PLANES = "_ZN3sbk17batch_norm_detail17batch_norm_planesIfLi1ENS0_6NarrowELb0EEEvNS_15BatchNormParamsET1_ll"


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("kernels_tools_emulated_table", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def row(
    kernel: str, waves: int, clocks: dict[str, float], lds: int = 0, conflicts: int = 0, flat: int = 0
) -> dict[str, Any]:
    counts = {"lds_cycles": lds, "lds_conflicts": conflicts, "flat": flat}
    return {"counters": {"kernel": kernel, "counters": counts}, "model": {"clocks": clocks, "waves": waves}}


def counts(target: str, *rows: dict[str, Any]) -> str:
    return json.dumps({"schema": "stackbuild.emulated-counters/1", "target": target, "kernels": rows})


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        (GEMM.format(1), "conv_gemm float16"),
        (PLANES, "batch_norm_planes float32"),
        (
            "_ZN3sbk17leaky_relu_detail18leaky_relu_vectorsI6__halfLi8EEEvPKNS_3VecIT_XT0_EEEPS5_lf",
            "leaky_relu_vectors float16",
        ),
        ("_ZN3sbk17group_norm_detail21group_norm_last_mergeEPKf", "group_norm_last_merge"),
    ],
)
def test_a_kernel_is_named_with_its_element_type(tool: ModuleType, symbol: str, name: str) -> None:
    assert tool.kernel_of(symbol) == name


def test_instances_are_summed_before_the_limit_is_named(
    tool: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Alone the first instance is bound by LDS; of the sum it is memory. The fewest waves are shown."""
    first = row(GEMM.format(1), 8, {"LDS": 100.0, "memory": 90.0, "matrix": 5.0}, lds=100, conflicts=45)
    second = row(GEMM.format(2), 3, {"LDS": 10.0, "memory": 90.0, "matrix": 31.0}, lds=100, conflicts=0)
    (tmp_path / "a").write_text(counts("gfx942", first, second))
    (tmp_path / "b").write_text(counts("gfx1100", row(PLANES, 16, {"vector": 4.0}, flat=7)))
    assert tool.main([str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "| kernel | gfx942 | gfx1100 |",
        "| --- | --- | --- |",
        "| `batch_norm_planes float32` |  | vector, 16, FLAT 7 |",
        "| `conv_gemm float16` | memory, 3, c 22%, m 20% |  |",
    ]


@pytest.mark.parametrize(
    "text", ["", "[]", '{"schema": "stackbuild.benchmarks/1"}', '{"schema": "stackbuild.emulated-counters/1"}']
)
def test_what_has_no_counts_is_refused(
    tool: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    (tmp_path / "file").write_text(text)
    assert tool.main([str(tmp_path / "file")]) == 2
    assert "bench kernels WHEEL --emulated TARGET --json" in capsys.readouterr().err
