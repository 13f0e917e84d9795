// BatchNormalization (inference) on the device: one pass, 16 bytes a lane.
#pragma once

#include "batch_norm/batch_norm.hpp"
#include "common/device.hpp"

namespace sbk::batch_norm_detail {

constexpr int kThreads = 256;
constexpr int kVectorsPerThread = 4;

// One channel's normalisation: (x - mean) * factor + bias. The mean is not folded into the bias: where it is large
// beside the deviation, x * factor - mean * factor would cancel.
struct Affine {
  float mean, factor, bias;

  __device__ float operator()(float x) const { return (x - mean) * factor + bias; }
};

__device__ inline Affine load_affine(const BatchNormParams& p, int64_t channel) {
  const float variance = load_any(p.variance, p.stats_dtype, channel);
  const float scale = load_any(p.scale, p.scale_dtype, channel);
  return {load_any(p.mean, p.stats_dtype, channel), scale / sqrtf(variance + p.epsilon),
          load_any(p.bias, p.scale_dtype, channel)};
}

// Index arithmetic of channels_first: planes of `spatial` elements, the channel of plane i is i % channels.
struct Narrow {  // fewer than 2^31 elements: multiplications instead of divisions
  FastDivisor spatial, channels;
  __device__ void locate(int64_t element, uint32_t& channel, uint32_t& offset) const {
    const auto e = static_cast<uint32_t>(element);
    const uint32_t plane = spatial.divide(e);
    offset = e - plane * spatial.divisor();
    channel = plane - channels.divide(plane) * channels.divisor();
  }
};
struct Wide {
  int64_t spatial, channels;
  __device__ void locate(int64_t element, uint32_t& channel, uint32_t& offset) const {
    const int64_t plane = element / spatial;
    offset = static_cast<uint32_t>(element - plane * spatial);
    channel = static_cast<uint32_t>(plane % channels);
  }
};

// channels_first. A vector may straddle planes (7 x 7 images): the channel's numbers are reloaded where it does. Plain:
// no vector does, and there is no activation.
template <class T, int N, class Index, bool Plain>
__global__ void __launch_bounds__(kThreads)
batch_norm_planes(BatchNormParams p, Index index, int64_t vectors, int64_t first_vector) {
  const auto* x = reinterpret_cast<const Vec<T, N>*>(p.x);
  auto* y = reinterpret_cast<Vec<T, N>*>(p.y);
  const int64_t first =
      first_vector + static_cast<int64_t>(blockIdx.x) * (kThreads * kVectorsPerThread) + threadIdx.x;
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
    uint32_t channel, offset;
    index.locate(at * N, channel, offset);
    Affine affine = load_affine(p, channel);
#pragma unroll
    for (int j = 0; j < N; ++j) {
      if (!Plain && j > 0 && ++offset == p.spatial) {
        offset = 0;
        channel = channel + 1 == p.channels ? 0 : channel + 1;
        affine = load_affine(p, channel);
      }
      const float value = affine(to_float(values[i].v[j]));
      values[i].v[j] = from_float<T>(Plain ? value : activate(p.activation, value));
    }
    y[at] = values[i];
  }
}

// Rows of a thread, enough for 32 values of a vector's type: all are on their way while the block works out its numbers.
template <int N>
constexpr int kRowsHeld = N > 4 ? N : 4;

// The numbers of `lanes` vectors of channels from `first` on, worked out once for the block; a thread gets one vector's,
// none where that lies beyond the channels.
template <int N>
__device__ __forceinline__ void share_affine(const BatchNormParams& p, int64_t first, int lanes, int lane, Affine (&mine)[N]) {
  extern __shared__ __align__(32) float shared[];
  const int count = lanes * N;
  for (int c = static_cast<int>(threadIdx.x); c < count && first + c < p.channels; c += kThreads) {
    const Affine affine = load_affine(p, first + c);
    shared[c] = affine.mean;
    shared[count + c] = affine.factor;
    shared[2 * count + c] = affine.bias;
  }
  __syncthreads();
  if (first + lane * N >= p.channels) return;  // beyond the channels: nothing was written for this lane
  using V = Vec<float, N>;
  const auto* vectors = reinterpret_cast<const V*>(shared);
  const V mean = vectors[lane], factor = vectors[lanes + lane], bias = vectors[2 * lanes + lane];
#pragma unroll
  for (int j = 0; j < N; ++j) mine[j] = {mean.v[j], factor.v[j], bias.v[j]};
}

// channels_last. A thread has one vector of N channels of some rows (pixels).
// Grid: x over row strips, y over channel strips. Block: `lanes` threads over channel vectors, the rest over rows.
template <class T, int N, bool Plain>
__global__ void __launch_bounds__(kThreads)
batch_norm_rows(BatchNormParams p, int64_t rows, int lanes) {
  constexpr int kRows = kRowsHeld<N>;
  const int64_t channel_vectors = p.channels / N;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const int64_t cv = static_cast<int64_t>(blockIdx.y) * lanes + lane;
  const int row_step = kThreads / lanes;
  const int row_start = static_cast<int>(threadIdx.x) / lanes;
  const bool active = cv < channel_vectors && row_start < row_step;
  const int64_t row0 = static_cast<int64_t>(blockIdx.x) * (row_step * kRows) + row_start;
  const int64_t first = row0 * channel_vectors + cv, step = row_step * channel_vectors;
  const auto* x = reinterpret_cast<const Vec<T, N>*>(p.x) + first;
  auto* y = reinterpret_cast<Vec<T, N>*>(p.y) + first;
  const int64_t rows_left = active ? rows - row0 : 0;  // of this thread's first row on
  Vec<T, N> values[kRows];
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    if (i * row_step < rows_left) values[i] = x[i * step];
  }
  Affine affine[N];
  share_affine<N>(p, static_cast<int64_t>(blockIdx.y) * lanes * N, lanes, lane, affine);
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    if (i * row_step >= rows_left) continue;
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const float value = affine[j](to_float(values[i].v[j]));
      values[i].v[j] = from_float<T>(Plain ? value : activate(p.activation, value));
    }
    y[i * step] = values[i];
  }
}

}  // namespace sbk::batch_norm_detail
