// Before ROCm 6, hip_complex.h has operators for float2 and double2. CUDA's complex numbers have none, and a source's own for
// these vectors are ambiguous beside them. The header's operators are for C++ alone, so it is read as C, and as C++ elsewhere.
// Written by `stackbuild hipify`; it comes before the first include of a library that has complex numbers.
#ifndef STACKBUILD_HIP_PLAIN_COMPLEX_H  // two trees may have this file each, which #pragma once takes for two files
#define STACKBUILD_HIP_PLAIN_COMPLEX_H

#include <hip/hip_runtime.h>
#include <cmath>
#include <math.h>  // what hip_complex.h includes, read as C++ before it
#if HIP_VERSION_MAJOR < 6
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wbuiltin-macro-redefined"
#pragma push_macro("__cplusplus")
#undef __cplusplus
#endif
#include <hip/hip_complex.h>
#if HIP_VERSION_MAJOR < 6
#pragma pop_macro("__cplusplus")
#pragma GCC diagnostic pop
#endif

#endif  // STACKBUILD_HIP_PLAIN_COMPLEX_H
