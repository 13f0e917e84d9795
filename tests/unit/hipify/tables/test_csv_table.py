"""HIPIFY's tables, as its documentation has them."""

from __future__ import annotations

from stackbuild.hipify.tables import csv_table
from stackbuild.hipify.tables.tables import Versions


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
