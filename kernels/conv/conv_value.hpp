// What becomes of a convolution's sums in the kernels that have no store of their own (conv_store.hpp).
#pragma once

#include "common/device.hpp"

namespace sbk::conv_detail {

// `sum` with bias, residual and activation, as a value of y. `p` has bias, residual and activation.
template <class T, class P>
__device__ __forceinline__ T conv_value(const P& p, int channel, int64_t at, float sum) {
  if (p.bias != nullptr) sum += to_float(static_cast<const T*>(p.bias)[channel]);
  if (p.residual != nullptr) sum += to_float(static_cast<const T*>(p.residual)[at]);
  return from_float<T>(activate(p.activation, sum));
}

// Adds N neighbours of a tensor, which may start anywhere.
template <class T, int N>
__device__ __forceinline__ void add_values(const void* tensor, int64_t at, float (&sums)[N]) {
  using V = Vec<T, N>;
  const T* const from = static_cast<const T*>(tensor) + at;
  V values;
  if (reinterpret_cast<uintptr_t>(tensor) % sizeof(V) == 0) {
    values = *reinterpret_cast<const V*>(from);
  } else {
#pragma unroll
    for (int j = 0; j < N; ++j) values.v[j] = from[j];
  }
#pragma unroll
  for (int j = 0; j < N; ++j) sums[j] += to_float(values.v[j]);
}

// N neighbours in y, channels of a pixel whose place is a whole vector.
template <class T, int N, class P>
__device__ __forceinline__ Vec<T, N> conv_values(const P& p, int channel, int64_t at, const float (&sums)[N]) {
  float values[N];
#pragma unroll
  for (int j = 0; j < N; ++j) values[j] = sums[j];
  if (p.bias != nullptr) add_values<T>(p.bias, channel, values);
  if (p.residual != nullptr) add_values<T>(p.residual, at, values);
  activate_all(p.activation, values);
  Vec<T, N> out;
#pragma unroll
  for (int j = 0; j < N; ++j) out.v[j] = from_float<T>(values[j]);
  return out;
}

// Whether a sum is stored as it is.
template <class P>
__device__ __forceinline__ bool stores_sums(const P& p) {
  return p.bias == nullptr && p.residual == nullptr && p.activation.kind == Activation::none;
}

}  // namespace sbk::conv_detail
