// Attention with one wave per query row: any head sizes, strides and masks. The path for shapes that the tiled kernel
// does not take.
#pragma once

#include "common/device.hpp"

#include "attention/attention_bias.hpp"

namespace sbk::attention_detail {

constexpr int kDirectThreads = 256;
constexpr int kDirectChunk = 512;  // value columns a wave holds; grid.z counts chunks of it

#if defined(__HIP_DEVICE_COMPILE__) || defined(__CUDA_ARCH__)
template <class T>
__device__ void direct_row(const AttentionParams& p, int64_t row, int64_t column0) {
  constexpr int kLaneColumns = kDirectChunk / kWaveSize;
  const int lane = lane_id();
  const int64_t i = row % p.query_length;
  const int64_t h = row / p.query_length % p.query_heads;
  const int64_t b = row / p.query_length / p.query_heads;
  const int64_t kv = h * p.key_heads / p.query_heads;
  const T* q = static_cast<const T*>(p.q) + b * p.q_strides.batch + h * p.q_strides.head + i * p.q_strides.sequence;
  const T* k = static_cast<const T*>(p.k) + b * p.k_strides.batch + kv * p.k_strides.head;
  const T* v = static_cast<const T*>(p.v) + b * p.v_strides.batch + kv * p.v_strides.head + column0;
  const int64_t columns = p.value_size - column0 < kDirectChunk ? p.value_size - column0 : kDirectChunk;
  float out[kLaneColumns] = {};
  float top = -INFINITY, sum = 0.0f;
  bool open = false;
  for (int64_t first = 0; first < p.key_length; first += kWaveSize) {
    float score = -INFINITY;
    if (first + lane < p.key_length) {
      const T* key = k + (first + lane) * p.k_strides.sequence;
      float dot = 0.0f;
      for (int64_t d = 0; d < p.head_size; ++d) dot += to_float(q[d]) * to_float(key[d]);
      const float product = dot * p.scale;
      const Bias bias = bias_within<T>(p, b, h, i, first + lane);
      score = bias.on(p.softcap > 0.0f ? p.softcap * tanhf(product / p.softcap) : product);
      open = open || bias.open();
    }
    if (!wave_any(score != -INFINITY)) continue;
    const float new_top = fmaxf(top, wave_max(score));  // of those that are numbers
    const float base = new_top == -INFINITY ? 0.0f : new_top;
    const float weight = expf(score - base);
    const float fade = expf(top - base);
    top = new_top;
    sum = sum * fade + wave_sum(weight);
#pragma unroll
    for (int c = 0; c < kLaneColumns; ++c) out[c] *= fade;
    const int64_t keys = p.key_length - first < kWaveSize ? p.key_length - first : kWaveSize;
    for (int j = 0; j < keys; ++j) {
      const float share = shuffle(weight, j);
      const T* value = v + (first + j) * p.v_strides.sequence;
#pragma unroll
      for (int c = 0; c < kLaneColumns; ++c) {
        if (c * kWaveSize + lane < columns) out[c] += share * to_float(value[c * kWaveSize + lane]);
      }
    }
  }
  T* y = static_cast<T*>(p.y) + b * p.y_strides.batch + h * p.y_strides.head + i * p.y_strides.sequence + column0;
  const bool answered = wave_any(open) && sum != 0.0f;
  const float inverse = 1.0f / sum;
#pragma unroll
  for (int c = 0; c < kLaneColumns; ++c) {
    if (c * kWaveSize + lane < columns) y[c * kWaveSize + lane] = from_float<T>(answered ? out[c] * inverse : p.empty_row);
  }
}
#endif

// Grid: x over rows (batch × query head × query), z over chunks of value columns.
template <class T>
__global__ void __launch_bounds__(kDirectThreads)
attention_direct([[maybe_unused]] AttentionParams p, [[maybe_unused]] int64_t rows) {
#if defined(__HIP_DEVICE_COMPILE__) || defined(__CUDA_ARCH__)
  constexpr int kWaves = kDirectThreads / kWaveSize;
  const int64_t step = static_cast<int64_t>(gridDim.x) * kWaves;
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * kWaves + wave_id(); row < rows; row += step) {
    direct_row<T>(p, row, static_cast<int64_t>(blockIdx.z) * kDirectChunk);
  }
#endif
}

}  // namespace sbk::attention_detail
