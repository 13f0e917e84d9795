// Before ROCm 6, hipBLAS takes HIP's complex numbers, and hipSOLVER takes hipBLAS's enums, only with these macros.
// Written by `stackbuild hipify`; it comes before the first include of either library.
#ifndef STACKBUILD_HIP_LIBRARIES_H  // two trees may have this file each, which #pragma once takes for two files
#define STACKBUILD_HIP_LIBRARIES_H

#include <hip/hip_runtime.h>
#if HIP_VERSION_MAJOR < 6 && !defined(ROCM_MATHLIBS_API_USE_HIP_COMPLEX)
#define ROCM_MATHLIBS_API_USE_HIP_COMPLEX
#endif
#if HIP_VERSION_MAJOR < 6 && !defined(HIPSOLVER_USE_HIPBLAS_ENUMS)
#define HIPSOLVER_USE_HIPBLAS_ENUMS
#endif

#endif  // STACKBUILD_HIP_LIBRARIES_H
