// Winograd's convolution for 3 x 3 filters: y = Aᵀ [(G g Gᵀ) ∘ (Bᵀ d B)] A on tiles of M x M outputs, which read
// (M + 2) x (M + 2) inputs (Lavin & Gray, CVPR 2016). The middle product over the channels is (M + 2)² matrix products,
// made by the implicit GEMM as one grouped 1 x 1 convolution (conv_winograd.hip); the kernels here go in and out of that
// domain. float32 only: the transforms' own rounding is the error, 1.1e-7 of the result for M = 2 and 4.8e-7 for M = 4.
// An output that is not finite is made again by its definition: an input that is not finite shows in the whole tile, and
// numbers of 10^37 and more overflow in the transforms.
#pragma once

#include "common/device.hpp"
#include "common/overlap.hpp"
#include "conv/conv.hpp"

namespace sbk::conv_detail {

constexpr int kWinogradChannels = 32;  // of a block, side by side in memory
constexpr int kWinogradColumns = 16;   // outputs of a block along the image's line

struct Winograd {
  const float *x, *w, *bias, *residual;
  float* y;
  float *v, *u, *m;  // [tiles, P, C], [P, K, C], [tiles, P, K] with P = (M + 2)²
  int32_t H, W, C, K, OH, OW;
  int32_t padded_channels;  // C in whole vectors: the row of v and u
  int32_t pad[2];
  int32_t tile_lines, tile_columns;  // of an image
  int32_t strips;                    // blocks along a line of tiles
  int32_t blocks;                    // of the inputs (outputs): N * tile_lines * strips; the filters' come after them
  FastDivisor by_strips, by_lines, by_channels;  // by strips, tile_lines, padded
  bool channels_last, filter_last;
  ActivationParams activation;
};

// One-dimensional transforms. M = 2: the points 0, 1, -1, ∞. M = 4: 0, 1, -1, 1/2, -2, ∞, which lose a third less
// than 0, ±1, ±2; the factors that make Bᵀ's entries short are in G.
template <int M>
struct Transform;

template <>
struct Transform<2> {
  static constexpr int kTaps = 4;
  __device__ static void input(float (&d)[4]) {
    const float a = d[0] - d[2], b = d[1] + d[2], c = d[2] - d[1], e = d[1] - d[3];
    d[0] = a, d[1] = b, d[2] = c, d[3] = e;
  }
  __device__ static void filter(const float (&g)[3], float (&u)[4]) {
    u[0] = g[0];
    u[1] = 0.5f * (g[0] + g[1] + g[2]);
    u[2] = 0.5f * (g[0] - g[1] + g[2]);
    u[3] = g[2];
  }
  __device__ static void output(const float (&m)[4], float (&y)[2]) {
    y[0] = m[0] + m[1] + m[2];
    y[1] = m[1] - m[2] - m[3];
  }
};

template <>
struct Transform<4> {
  static constexpr int kTaps = 6;
  __device__ static void input(float (&d)[6]) {
    const float p = 1.5f * (d[3] - d[1]), q = d[4] - d[2];
    const float a = d[0] - d[2] + q + p;             // 1 -1.5 -2 1.5 1 0
    const float b = 5.0f * d[3] + d[2] - 2.0f * (d[1] - d[4]);   // 0 -2 1 5 2 0
    const float c = 5.0f * d[2] - d[3] - 2.0f * (d[1] + d[4]);   // 0 -2 5 -1 -2 0
    const float e = 2.0f * (d[1] - d[3]) + (d[2] - d[4]);        // 0 2 1 -2 -1 0
    const float f = d[1] - d[3] + 2.0f * (d[4] - d[2]);          // 0 1 -2 -1 2 0
    const float g = d[1] - d[3] + 1.5f * q + (d[5] - d[3]);      // 0 1 -1.5 -2 1.5 1
    d[0] = a, d[1] = b, d[2] = c, d[3] = e, d[4] = f, d[5] = g;
  }
  __device__ static void filter(const float (&g)[3], float (&u)[6]) {
    constexpr float kSixth = 1.0f / 6.0f, kThirtieth = 1.0f / 30.0f, kFifteenths = 4.0f / 15.0f;
    u[0] = g[0];
    u[1] = kSixth * (g[0] + g[1] + g[2]);
    u[2] = kSixth * (g[0] - g[1] + g[2]);
    u[3] = kFifteenths * (4.0f * g[0] + 2.0f * g[1] + g[2]);
    u[4] = kThirtieth * (g[0] - 2.0f * g[1] + 4.0f * g[2]);
    u[5] = g[2];
  }
  __device__ static void output(const float (&m)[6], float (&y)[4]) {
    const float sum = m[1] + m[2], difference = m[1] - m[2];
    y[0] = m[0] + sum + m[3] + m[4];
    y[1] = difference + 0.5f * m[3] - 2.0f * m[4];
    y[2] = sum + 0.25f * m[3] + 4.0f * m[4];
    y[3] = difference + 0.125f * m[3] - 8.0f * m[4] + m[5];
  }
};

// What a block works on: 32 channels of a strip of tiles, 16 outputs wide and M high.
template <int M>
struct Strip {
  static constexpr int kTaps = M + 2, kPoints = kTaps * kTaps;
  static constexpr int kTiles = kWinogradColumns / M, kThreads = kWinogradChannels * kTiles;
  static constexpr int kWide = kWinogradColumns + 2;
  // An odd number of words from channel to channel: lanes side by side in the channels hit different banks.
  static constexpr int kIn = kTaps * kWide + (kTaps * kWide + 1) % 2, kOut = M * kWinogradColumns + 1;

  int image, line, first, channel0;  // line and first tile of the strip in the grid of tiles

  __device__ Strip(const Winograd& g, uint32_t block, uint32_t channels)
      : channel0(static_cast<int>(channels) * kWinogradChannels) {
    const uint32_t lines = g.by_strips.divide(block);
    first = static_cast<int>(block - lines * g.by_strips.divisor()) * kTiles;
    image = static_cast<int>(g.by_lines.divide(lines));
    line = static_cast<int>(lines - image * g.by_lines.divisor());
  }
  __device__ int64_t tile(const Winograd& g, int t) const {
    return (static_cast<int64_t>(image) * g.tile_lines + line) * g.tile_columns + first + t;
  }
};

// One of a strip's inputs, zero outside the image, and its place in shared memory: [channel][line][column].
template <int M>
__device__ inline float strip_value(const Winograd& g, const Strip<M>& s, int i, int* place) {
  constexpr int kArea = Strip<M>::kTaps * Strip<M>::kWide;
  const int c = g.channels_last ? i % kWinogradChannels : i / kArea;
  const int at = g.channels_last ? i / kWinogradChannels : i % kArea;
  const int row = at / Strip<M>::kWide, column = at % Strip<M>::kWide;
  const int h = s.line * M - g.pad[0] + row, w = s.first * M - g.pad[1] + column, channel = s.channel0 + c;
  *place = c * Strip<M>::kIn + row * Strip<M>::kWide + column;
  const bool inside = static_cast<uint32_t>(h) < static_cast<uint32_t>(g.H) &&
                      static_cast<uint32_t>(w) < static_cast<uint32_t>(g.W) && channel < g.C;
  const int64_t pixel = static_cast<int64_t>(h) * g.W + w, area = static_cast<int64_t>(g.H) * g.W;
  const int64_t from = g.channels_last ? (s.image * area + pixel) * g.C + channel
                                       : (static_cast<int64_t>(s.image) * g.C + channel) * area + pixel;
  return inside ? g.x[from] : 0.0f;
}

template <int M>
__device__ inline void load_strip(const Winograd& g, const Strip<M>& s, float* shared) {
  constexpr int kAll = Strip<M>::kTaps * Strip<M>::kWide * kWinogradChannels, kThreads = Strip<M>::kThreads;
  constexpr int kLoads = 9;  // under way at once
  static_assert(kAll % (kLoads * kThreads) == 0);
  for (int i = static_cast<int>(threadIdx.x); i < kAll; i += kLoads * kThreads) {
    float values[kLoads];
    int places[kLoads];
#pragma unroll
    for (int load = 0; load < kLoads; ++load) values[load] = strip_value<M>(g, s, i + load * kThreads, &places[load]);
#pragma unroll
    for (int load = 0; load < kLoads; ++load) shared[places[load]] = values[load];
  }
}

template <int M>
__device__ inline void transform_strip(const Winograd& g, const Strip<M>& s, float* shared) {
  constexpr int kTaps = Strip<M>::kTaps;
  const int c = static_cast<int>(threadIdx.x) % kWinogradChannels, t = static_cast<int>(threadIdx.x) / kWinogradChannels;
  load_strip<M>(g, s, shared);
  __syncthreads();
  let_next_start();
  if (s.first + t >= g.tile_columns || s.channel0 + c >= g.padded_channels) return;
  const float* from = shared + c * Strip<M>::kIn + t * M;
  float d[kTaps][kTaps];  // [column][line], then [line][column]
#pragma unroll
  for (int j = 0; j < kTaps; ++j) {
#pragma unroll
    for (int i = 0; i < kTaps; ++i) d[j][i] = from[i * Strip<M>::kWide + j];
    Transform<M>::input(d[j]);
  }
  float* to = g.v + s.tile(g, t) * Strip<M>::kPoints * g.padded_channels + s.channel0 + c;
#pragma unroll
  for (int i = 0; i < kTaps; ++i) {
    float line[kTaps];
#pragma unroll
    for (int j = 0; j < kTaps; ++j) line[j] = d[j][i];
    Transform<M>::input(line);
#pragma unroll
    for (int j = 0; j < kTaps; ++j) to[(i * kTaps + j) * g.padded_channels] = line[j];
  }
}

// One filter of one input channel a thread.
template <int M>
__device__ inline void transform_filter(const Winograd& g, int64_t index) {
  constexpr int kTaps = Strip<M>::kTaps;
  if (index >= static_cast<int64_t>(g.K) * g.padded_channels) return;
  const int k = static_cast<int>(g.by_channels.divide(static_cast<uint32_t>(index)));
  const int c = static_cast<int>(index - static_cast<int64_t>(k) * g.padded_channels);
  const float* from = g.w + (g.filter_last ? static_cast<int64_t>(k) * 9 * g.C + c : (static_cast<int64_t>(k) * g.C + c) * 9);
  const int step = g.filter_last ? g.C : 1;
  float columns[3][kTaps];
#pragma unroll
  for (int j = 0; j < 3; ++j) {
    float taps[3];
#pragma unroll
    for (int i = 0; i < 3; ++i) taps[i] = c < g.C ? from[(i * 3 + j) * step] : 0.0f;
    Transform<M>::filter(taps, columns[j]);
  }
#pragma unroll
  for (int i = 0; i < kTaps; ++i) {
    const float line[3] = {columns[0][i], columns[1][i], columns[2][i]};
    float u[kTaps];
    Transform<M>::filter(line, u);
#pragma unroll
    for (int j = 0; j < kTaps; ++j) g.u[(static_cast<int64_t>(i * kTaps + j) * g.K + k) * g.padded_channels + c] = u[j];
  }
}

// Grid: x over strips and, after them, over the filters (blocks * grid.y in all are strips' …); y over blocks of 32 channels.
template <int M>
__global__ void __launch_bounds__(Strip<M>::kThreads) winograd_in(const Winograd g) {
  __shared__ float shared[kWinogradChannels * Strip<M>::kIn];
  wait_for_previous();
  if (blockIdx.x < static_cast<uint32_t>(g.blocks)) {
    transform_strip<M>(g, Strip<M>(g, blockIdx.x, blockIdx.y), shared);
  } else {
    const int64_t block = static_cast<int64_t>(blockIdx.x - g.blocks) * gridDim.y + blockIdx.y;
    transform_filter<M>(g, block * Strip<M>::kThreads + threadIdx.x);
  }
}

// One output by its definition, without bias, residual and activation.
__device__ inline float winograd_direct(const Winograd& g, int image, int k, int oh, int ow) {
  const int64_t area = static_cast<int64_t>(g.H) * g.W;
  const int64_t pixel = g.channels_last ? g.C : 1, channel = g.channels_last ? 1 : area;
  const int64_t tap = g.filter_last ? g.C : 1, weight = g.filter_last ? 1 : 9;
  const float* x = g.x + image * area * g.C;
  const float* w = g.w + static_cast<int64_t>(k) * 9 * g.C;
  float sum = 0.0f;
#pragma unroll 1
  for (int t = 0; t < 9; ++t) {
    const int h = oh - g.pad[0] + t / 3, column = ow - g.pad[1] + t % 3;
    if (static_cast<uint32_t>(h) >= static_cast<uint32_t>(g.H) || static_cast<uint32_t>(column) >= static_cast<uint32_t>(g.W)) continue;
    const float* from = x + (static_cast<int64_t>(h) * g.W + column) * pixel;
#pragma unroll 1
    for (int c = 0; c < g.C; ++c) sum = fmaf(from[c * channel], w[t * tap + c * weight], sum);
  }
  return sum;
}

__device__ inline void winograd_store(const Winograd& g, int image, int k, int oh, int ow, float sum) {
  if (!(fabsf(sum) < INFINITY)) sum = winograd_direct(g, image, k, oh, ow);
  const int64_t pixel = static_cast<int64_t>(oh) * g.OW + ow, area = static_cast<int64_t>(g.OH) * g.OW;
  const int64_t at = g.channels_last ? (image * area + pixel) * g.K + k : (static_cast<int64_t>(image) * g.K + k) * area + pixel;
  if (g.bias != nullptr) sum += g.bias[k];
  if (g.residual != nullptr) sum += g.residual[at];
  g.y[at] = activate(g.activation, sum);
}

// Grid: x over strips, y over blocks of 32 output channels. Channels first pass through shared memory, so that y is
// written along its lines.
template <int M>
__global__ void __launch_bounds__(Strip<M>::kThreads) winograd_out(const Winograd g) {
  constexpr int kTaps = Strip<M>::kTaps;
  __shared__ float shared[kWinogradChannels * Strip<M>::kOut];
  const Strip<M> s(g, blockIdx.x, blockIdx.y);
  const int c = static_cast<int>(threadIdx.x) % kWinogradChannels, t = static_cast<int>(threadIdx.x) / kWinogradChannels;
  const int k = s.channel0 + c;
  const bool mine = s.first + t < g.tile_columns && k < g.K;
  float half[kTaps][M];  // of each line of the tile
  wait_for_previous();
  if (mine) {
    const float* from = g.m + s.tile(g, t) * Strip<M>::kPoints * g.K + k;
#pragma unroll
    for (int i = 0; i < kTaps; ++i) {
      float line[kTaps];
#pragma unroll
      for (int j = 0; j < kTaps; ++j) line[j] = from[static_cast<int64_t>(i * kTaps + j) * g.K];
      Transform<M>::output(line, half[i]);
    }
  }
#pragma unroll
  for (int j = 0; j < M; ++j) {
    float column[kTaps], y[M];
#pragma unroll
    for (int i = 0; i < kTaps; ++i) column[i] = mine ? half[i][j] : 0.0f;
    Transform<M>::output(column, y);
#pragma unroll
    for (int i = 0; i < M; ++i) {
      const int oh = s.line * M + i, ow = (s.first + t) * M + j;
      if (!g.channels_last) shared[c * Strip<M>::kOut + i * kWinogradColumns + t * M + j] = y[i];
      else if (mine && oh < g.OH && ow < g.OW) winograd_store(g, s.image, k, oh, ow, y[i]);
    }
  }
  if (g.channels_last) return;
  __syncthreads();
  constexpr int kArea = M * kWinogradColumns;
  for (int i = static_cast<int>(threadIdx.x); i < kArea * kWinogradChannels; i += Strip<M>::kThreads) {
    const int channel = i / kArea, row = i % kArea / kWinogradColumns, column = i % kWinogradColumns;
    const int oh = s.line * M + row, ow = s.first * M + column;
    if (s.channel0 + channel >= g.K || oh >= g.OH || ow >= g.OW) continue;
    winograd_store(g, s.image, s.channel0 + channel, oh, ow, shared[channel * Strip<M>::kOut + i % kArea]);
  }
}

}  // namespace sbk::conv_detail
