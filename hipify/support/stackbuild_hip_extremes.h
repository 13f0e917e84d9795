// min and max of a signed and an unsigned integer, which CUDA has and HIP's device code makes a double of: that is no index, and
// of 64 bits it is not exact. A source's own function of these types is the better match. Written by `stackbuild hipify`.
#ifndef STACKBUILD_HIP_EXTREMES_H  // two trees may have this file each, which #pragma once takes for two files
#define STACKBUILD_HIP_EXTREMES_H

#include <hip/hip_runtime.h>

// The names are in brackets, since a source or a header may have macros of these names.
#define STACKBUILD_EXTREMES(result, first, second)                                                     \
  template <typename... None> __device__ inline result(min)(first a, second b) {                        \
    static_assert(sizeof...(None) == 0, "it takes no types");                                           \
    return static_cast<result>(a) < static_cast<result>(b) ? static_cast<result>(a) : static_cast<result>(b); \
  }                                                                                                    \
  template <typename... None> __device__ inline result(max)(first a, second b) {                        \
    static_assert(sizeof...(None) == 0, "it takes no types");                                           \
    return static_cast<result>(a) < static_cast<result>(b) ? static_cast<result>(b) : static_cast<result>(a); \
  }
STACKBUILD_EXTREMES(unsigned, int, unsigned)
STACKBUILD_EXTREMES(unsigned, unsigned, int)
STACKBUILD_EXTREMES(unsigned long, long, unsigned long)
STACKBUILD_EXTREMES(unsigned long, unsigned long, long)
STACKBUILD_EXTREMES(unsigned long long, long long, unsigned long long)
STACKBUILD_EXTREMES(unsigned long long, unsigned long long, long long)
#undef STACKBUILD_EXTREMES

#endif  // STACKBUILD_HIP_EXTREMES_H
