"""Collecting GPU counters, with a stand-in for rocprofv3 that takes its arguments and writes its rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.bench.counters import COUNTERS, collect_counters, program
from stackbuild.bench.environment import plain_environment
from stackbuild.bench.experiment import Work

STAND_IN = """#!/bin/sh
# rocprofv3 --pmc COUNTER -T --output-format csv -d FOLDER -o NAME -- COMMAND…
counter=$2; folder=$7
test "$1 $3 $4 $5 $6 $8 $9" = "--pmc -T --output-format csv -d -o c" || exit 9
shift 9; test "$1" = -- || exit 8; shift
"$@" || exit $?
test "$counter" = LDSBankConflict && exit 0 # as rocprofv3 does for a counter that the GPU lacks: no file, exit code 0
mkdir -p "$folder/host/1"
echo 'Kernel_Name,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp' >"$folder/host/1/c_counter_collection.csv"
echo "gemm,$counter,50,1000,3000" >>"$folder/host/1/c_counter_collection.csv"
"""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "rocm" / "bin" / "rocprofv3"
    file.parent.mkdir(parents=True)
    file.write_text(STAND_IN)
    file.chmod(0o755)
    monkeypatch.setenv("ROCM_PATH", str(tmp_path / "rocm"))
    return file


def test_a_process_a_counter_and_what_is_missing_is_told(stand_in: Path, small_model: Path) -> None:
    assert program() == str(stand_in)
    parts = [{"inputs": {"x": {"shape": [4, 256], "dtype": "float32"}}}]
    case: Work = {"name": "small", "model": str(small_model), "parts": parts}  # type: ignore[dict-item]
    job: Work = {"do": "profile", "session": {"provider": "CPUExecutionProvider"}, "cases": [case]}
    (kernel,), missing = collect_counters(plain_environment(), job, str(stand_in))
    assert (kernel.kernel, kernel.dispatches, kernel.seconds) == ("gemm", 1, pytest.approx(2e-6))
    assert set(kernel.counters) == set(COUNTERS) - {"LDSBankConflict"}
    assert missing == ("rocprofv3 gave no LDSBankConflict: it wrote no counters",)


def test_a_profiler_that_fails_is_told(stand_in: Path, small_model: Path) -> None:
    stand_in.write_text("#!/bin/sh\necho no permission to read counters >&2\nexit 3\n")
    found, missing = collect_counters(plain_environment(), {"do": "profile", "cases": []}, str(stand_in))
    assert found == () and len(missing) == len(COUNTERS)
    assert missing[0] == "rocprofv3 gave no OccupancyPercent: ended with exit code 3: no permission to read counters"
