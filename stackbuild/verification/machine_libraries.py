"""Libraries that a wheel may ask of the machine: ROCm's, its drivers', and those that the recipe names."""

from __future__ import annotations

from fnmatch import fnmatchcase

from stackbuild.inspection.rules.rocm import ROCM_LIBRARIES

DRIVERS = ("libcuda.so.1", "libnvidia-ml.so.1", "libOpenCL.so.1", "libze_loader.so.1", "libvulkan.so.1")
"""Libraries that a machine has from the driver of its devices, and never from a wheel."""


def is_machine_library(soname: str, external: tuple[str, ...]) -> bool:
    """Whether a library comes from the machine and from no wheel; `external` are sonames and patterns of the recipe."""
    return any(fnmatchcase(soname, pattern) for pattern in (*external, *ROCM_LIBRARIES, *DRIVERS))
