"""Which package of a distribution has a shared library of ROCm, for those who install a wheel that needs it."""

from __future__ import annotations

import re

AMD = {
    "libamdhip64": "hip-runtime-amd",
    "libhipblas": "hipblas",
    "libhipblaslt": "hipblaslt",
    "libhipfft": "hipfft",
    "libmigraphx_c": "migraphx",
    "libMIOpen": "miopen-hip",
    "librccl": "rccl",
    "librocblas": "rocblas",
    "librocm_smi64": "rocm-smi-lib",
    "libroctracer64": "roctracer",
}
"""Library to the package of AMD's own repositories, whatever the version. These are the names of ROCm's components
as AMD's documents have them; the packages themselves could not be read here."""

_SONAME = re.compile(r"(lib[A-Za-z0-9_+.-]+?)\.so\.([0-9]+)")


def packages_of(soname: str) -> tuple[str, str]:
    """Debian's and AMD's package with that library; empty texts for a library that is not ROCm's.

    Debian names the package after the soname: in lower case, `-` for `_`, and `-` before the version where the name ends in a
    digit (Debian Policy 8.1), so `libamdhip64.so.7` is in `libamdhip64-7` and `libmigraphx_c.so.3` in `libmigraphx-c3`.
    """
    match = _SONAME.fullmatch(soname)
    if match is None or match[1] not in AMD:
        return "", ""
    stem = match[1].lower().replace("_", "-")
    return f"{stem}{'-' if stem[-1].isdigit() else ''}{match[2]}", AMD[match[1]]
