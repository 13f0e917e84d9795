"""Packages that have ROCm's libraries. Debian's are those that its archive has, by name and soname."""

import pytest

from stackbuild.tables.packages import packages_of


@pytest.mark.parametrize(
    ("soname", "debian", "amd"),
    [
        ("libamdhip64.so.7", "libamdhip64-7", "hip-runtime-amd"),
        ("libmigraphx_c.so.3", "libmigraphx-c3", "migraphx"),
        ("librocblas.so.5", "librocblas5", "rocblas"),
        ("libMIOpen.so.1", "libmiopen1", "miopen-hip"),
        ("librocm_smi64.so.7", "librocm-smi64-7", "rocm-smi-lib"),
        ("libstdc++.so.6", "", ""),
        ("libamdhip64.so", "", ""),
    ],
)
def test_a_soname_is_in_these_packages(soname: str, debian: str, amd: str) -> None:
    assert packages_of(soname) == (debian, amd)
