"""rocprofv3's rows, as its documentation prints them."""

from __future__ import annotations

import pytest

from stackbuild.bench.counters import parse_counters

HEAD = (
    '"Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size","Kernel_Id","Kernel_Name",'
    '"Workgroup_Size","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count","Counter_Name",'
    '"Counter_Value","Start_Timestamp","End_Timestamp"\n'
)


def row(number: int, kernel: str, counter: str, value: float, start: int, end: int) -> str:
    return f'{number},{number},"Agent 1",2,9,9,64,5,"{kernel}",256,0,0,12,4,32,"{counter}",{value},{start},{end}\n'


def test_counters_are_weighted_by_time_and_kernels_sorted_by_it() -> None:
    gemm = "void gemm<float>(float*, float const*, int)"
    occupancy = HEAD + row(1, gemm, "OccupancyPercent", 10, 0, 1000) + row(2, gemm, "OccupancyPercent", 40, 2000, 5000)
    occupancy += row(3, "copy", "OccupancyPercent", 5, 0, 100)
    hits = HEAD + row(1, gemm, "L2CacheHit", 80, 0, 4000)
    first, second = parse_counters([occupancy, hits])
    assert first.kernel == gemm and first.dispatches == 2 and first.seconds == pytest.approx(4e-6)
    assert first.counters == {"L2CacheHit": pytest.approx(80), "OccupancyPercent": pytest.approx(32.5)}
    assert second.kernel == "copy" and second.counters == {"OccupancyPercent": pytest.approx(5)}


def test_no_file_is_no_counter() -> None:
    assert parse_counters([]) == () and parse_counters([HEAD]) == ()
