from __future__ import annotations

import json

import pytest
from tests_hipify import UNSUPPORTED, script, small_tables

from stackbuild.core.errors import UsageError
from stackbuild.hipify.tables import csv_table, perl_table
from stackbuild.hipify.tables.tables import Versions, from_json, to_json


@pytest.mark.parametrize("new_layout", [False, True])
def test_both_layouts_of_hipify_perl_give_the_same_tables(new_layout: bool) -> None:
    tables = perl_table.parse(script(new_layout), "d")
    assert {s.cuda: s.hip for s in tables.simple}["cuda_runtime.h"] == "hip/hip_runtime.h"
    assert {n for n, by in tables.unsupported.items() if by == ("hip",)} == set(UNSUPPORTED)
    assert tables.unsupported["__vsub4"] == ("device_function",)
    assert tables.deprecated == {"cudaThreadExit": "10.0"} and tables.whitelist == ("cudaDevices",)
    assert tables.trial[0].hip == "hipTrial" and len(tables.host_calls) == 3
    assert tables.device_types_count is new_layout


def test_what_is_no_hipify_perl_is_refused() -> None:
    with pytest.raises(UsageError, match="no substitutions found"):
        perl_table.parse("#!/bin/sh\necho hello\n", "d")


def test_the_cached_form_is_the_same() -> None:
    tables = small_tables()
    again = from_json(json.loads(json.dumps(to_json(tables))))
    assert vars(again) == vars(tables)


def test_a_cache_of_another_format_is_refused() -> None:
    data = {**to_json(small_tables()), "format": 0}  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="format 0"):
        from_json(data)


def test_csv_tables_give_versions_of_both_sides() -> None:
    text = (
        "<head></head>\n\n1. Some heading, with a comma\n\n"
        "CUDA,A,D,C,R,HIP,A,D,C,R,E,ROC,A,D,C,R,E\n"
        "cublasAxpyEx,8.0,,,,hipblasAxpyEx,4.1.0,,7.0.0,,,rocblas_axpy_ex,3.9.0,,,,\n"
        "cuNothing,1.0,,,,,,,,,,,,,,,\n"
        "cuGone,1.0,,,,hipGone,1.0.0,5.0.0,,6.0.0,,,,,,,\n"
    )
    assert csv_table.versions([text]) == {
        "hipblasAxpyEx": Versions("4.1.0", "", ""),
        "rocblas_axpy_ex": Versions("3.9.0", "", ""),
        "hipGone": Versions("1.0.0", "5.0.0", "6.0.0"),
    }
