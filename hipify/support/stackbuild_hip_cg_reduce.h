// cooperative_groups::reduce for thread_block_tile, which HIP lacks up to ROCm 7.2. Written by `stackbuild hipify`.
//
// A tile has a power of two of lanes, so a butterfly of shfl_xor gives every lane the result, as CUDA's does.
#ifndef STACKBUILD_HIP_CG_REDUCE_H  // two trees may have this file each, which #pragma once takes for two files
#define STACKBUILD_HIP_CG_REDUCE_H

#include "stackbuild_hip_groups.h"

namespace cooperative_groups {

template <typename T> struct plus {
  __device__ T operator()(T a, T b) const { return a + b; }
};
template <typename T> struct less {
  __device__ T operator()(T a, T b) const { return b < a ? b : a; }
};
template <typename T> struct greater {
  __device__ T operator()(T a, T b) const { return a < b ? b : a; }
};
template <typename T> struct bit_and {
  __device__ T operator()(T a, T b) const { return a & b; }
};
template <typename T> struct bit_or {
  __device__ T operator()(T a, T b) const { return a | b; }
};
template <typename T> struct bit_xor {
  __device__ T operator()(T a, T b) const { return a ^ b; }
};

// A value of any type that can be copied by its bits: HIP's shuffles take numbers alone.
template <typename T, typename Tile>
__device__ inline T stackbuild_hip_shfl_xor(const Tile& tile, T value, unsigned int offset) {
  constexpr unsigned int words = (sizeof(T) + sizeof(int) - 1) / sizeof(int);
  int bits[words] = {};
  __builtin_memcpy(bits, &value, sizeof(T));
  for (unsigned int word = 0; word < words; word++) bits[word] = tile.shfl_xor(bits[word], offset);
  __builtin_memcpy(&value, bits, sizeof(T));
  return value;
}

template <unsigned int Lanes, typename Parent, typename T, typename Op>
__device__ inline T reduce(const thread_block_tile<Lanes, Parent>& tile, T value, Op op) {
  for (unsigned int offset = Lanes / 2; offset > 0; offset /= 2) value = op(value, stackbuild_hip_shfl_xor(tile, value, offset));
  return value;
}

}  // namespace cooperative_groups
#endif  // STACKBUILD_HIP_CG_REDUCE_H
