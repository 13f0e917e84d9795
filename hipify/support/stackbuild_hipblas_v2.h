// hipBLAS up to ROCm 6 has two interfaces for data and compute types; HIPIFY's names are those of the newer one.
// Written by `stackbuild hipify`; it must come before the first include of hipblas.h.
#pragma once

#include <hip/hip_version.h>
#if HIP_VERSION_MAJOR < 7 && !defined(HIPBLAS_V2)
#define HIPBLAS_V2 1
#endif
