// LeakyRelu on the device: one pass, 16 bytes a lane, several loads in flight before the first use.
#pragma once

#include "common/device.hpp"

namespace sbk::leaky_relu_detail {

constexpr int kThreads = 256;
constexpr int kVectorsPerThread = 4;

template <class T>
__device__ inline T apply(T x, float alpha) {
  const float value = to_float(x);
  return value < 0.0f ? from_float<T>(alpha * value) : x;
}

// Each block owns kThreads * kVectorsPerThread vectors of N elements; the launcher checks that the pointers are
// aligned to a vector. `vectors` counts whole vectors.
template <class T, int N>
__global__ void __launch_bounds__(kThreads)
leaky_relu_vectors(const Vec<T, N>* x, Vec<T, N>* y, int64_t vectors, float alpha) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * (kThreads * kVectorsPerThread) + threadIdx.x;
  Vec<T, N> values[kVectorsPerThread];
#pragma unroll
  for (int i = 0; i < kVectorsPerThread; ++i) {
    const int64_t at = first + i * kThreads;
    if (at < vectors) values[i] = x[at];
  }
#pragma unroll
  for (int i = 0; i < kVectorsPerThread; ++i) {
    const int64_t at = first + i * kThreads;
    if (at >= vectors) continue;
#pragma unroll
    for (int j = 0; j < N; ++j) values[i].v[j] = apply(values[i].v[j], alpha);
    y[at] = values[i];
  }
}

}  // namespace sbk::leaky_relu_detail
