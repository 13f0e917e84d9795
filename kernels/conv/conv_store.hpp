// What the implicit GEMM's kernels are given, and how their sums leave: with bias, residual and activation, in y's layout
// and type. Shared by the kernels for every target (conv_gemm_kernels.hpp) and Hopper's (conv_wgmma_kernels.hpp).
#pragma once

#include "common/device.hpp"
#include "conv/conv.hpp"

namespace sbk::conv_detail {

constexpr int kMaxTaps = 32;  // per axis: a lane keeps one bit for each

struct GemmConv {
  const void* x;         // [N, D, H, W, groups, C]
  const void* w;         // [groups * K, Q, R, S, C]
  const void* bias;      // [groups * K] or null
  const void* residual;  // like y, or null
  void* y;
  int32_t H, W, C, K, R, S;  // C: input channels of a group, a multiple of a vector; K: output channels of a group
  int32_t D, Q;              // the outermost axis of three and its taps; else 1
  int32_t* odd;              // becomes 1 where a sum is infinite or not a number; null where nobody asks
  int32_t x_channels;        // groups * C
  int32_t together;          // pixels of the convolution that are one here, K being the channels of all; they share the bias (Hopper)
  FastDivisor by_own;        // by the channels of one of them
  int32_t x_values, x_pixel, x_line;  // of x: values that a tap reads, and from a pixel and from a line to the next (Hopper's copy engine)
  int32_t y_channels;        // groups * K
  int32_t stride[2], dilation[2], pad[2];
  int32_t deep_stride, deep_dilation, deep_pad;  // of the outermost axis of three
  int32_t rows;              // output pixels: N * OD * OH * OW
  int32_t k_vectors;         // Q * R * S * C / vector
  int32_t column_tiles;
  FastDivisor columns;       // by column_tiles
  FastDivisor image;         // by OD * OH * OW
  FastDivisor plane;         // by OH * OW
  FastDivisor line;          // by OW
  FastDivisor tap;           // by C / vector
  FastDivisor tap_line;      // by S
  FastDivisor tap_plane;     // by R * S
  bool channels_last;        // of y and residual
  bool aligned;              // y, residual and bias start on whole vectors
  ActivationParams activation;
};

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)

// Where a channel's bias is.
__device__ __forceinline__ int bias_place(const GemmConv& g, int channel) {
  if (!SBK_NVIDIA || g.together <= 1) return channel;
  return channel - static_cast<int>(g.by_own.divide(static_cast<uint32_t>(channel)) * g.by_own.divisor());
}

// Writes N sums that are neighbours in y, with bias, residual and activation unless Plain. Channels: they are channels, else
// pixels of one. A sum is in Parts parts, Step floats apart.
template <class T, int N, bool Plain, int Parts, int Step, bool Channels>
__device__ __forceinline__ void write(const GemmConv& g, int64_t at, const float* from, int channel) {
  constexpr int kLoad = N % 4 == 0 ? 4 : 1;  // floats of shared memory at a time: one by one, lanes would share banks
  float sums[N] = {};
#pragma unroll
  for (int part = 0; part < Parts; ++part) {
#pragma unroll
    for (int j = 0; j < N; j += kLoad) {
      const auto more = *reinterpret_cast<const Vec<float, kLoad>*>(from + part * Step + j);
#pragma unroll
      for (int i = 0; i < kLoad; ++i) sums[j + i] += more.v[i];
    }
  }
  if (g.odd != nullptr) {
    float most = 0.0f;
#pragma unroll
    for (int j = 0; j < N; ++j) most += fabsf(sums[j]);
    if (!(most < INFINITY)) *g.odd = 1;
  }
  if (!Plain && g.bias != nullptr) {
    const auto biases = *reinterpret_cast<const Vec<T, Channels ? N : 1>*>(static_cast<const T*>(g.bias) + bias_place(g, channel));
#pragma unroll
    for (int j = 0; j < N; ++j) sums[j] += to_float(biases.v[Channels ? j : 0]);
  }
  if (!Plain && g.residual != nullptr) {
    const auto more = *reinterpret_cast<const Vec<T, N>*>(static_cast<const T*>(g.residual) + at);
#pragma unroll
    for (int j = 0; j < N; ++j) sums[j] += to_float(more.v[j]);
  }
  if (!Plain) activate_all(g.activation, sums);
  Vec<T, N> out;
#pragma unroll
  for (int j = 0; j < N; ++j) out.v[j] = from_float<T>(sums[j]);
  *reinterpret_cast<Vec<T, N>*>(static_cast<T*>(g.y) + at) = out;
}

// channels_last: N neighbours are channels of one pixel.
template <class Tile, class T, int N, bool Plain>
__device__ __forceinline__ void store_last(const GemmConv& g, const float* buffer, int row0, int column0, int group) {
  constexpr int kPerRow = Tile::kColumns / N;
  constexpr int kStep = Tile::kParts > 1 ? Tile::kWaves * Tile::kBuffer : 0;
#pragma unroll 2
  for (int i = lane_id() + Tile::part() * kWaveSize; i < 16 * kPerRow; i += kWaveSize * Tile::kParts) {
    const int row = i / kPerRow, column = i % kPerRow * N;
    if (row0 + row >= g.rows || column0 + column >= g.K) continue;
    const int channel = group * g.K + column0 + column;
    write<T, N, Plain, Tile::kParts, kStep, true>(g, static_cast<int64_t>(row0 + row) * g.y_channels + channel,
                                                  buffer + row * Tile::kLdLast + column, channel);
  }
}

// channels_first: N neighbours are pixels of one channel. A lane has the same pixels of all its channels.
template <class Tile, class T, int N, bool Plain>
__device__ __forceinline__ void store_first(const GemmConv& g, const float* buffer, int row0, int column0, int group) {
  constexpr int kPerColumn = 16 / N, kAcross = kWaveSize / kPerColumn;  // lanes of a channel, channels of a wave
  constexpr int kStep = Tile::kParts > 1 ? Tile::kWaves * Tile::kBuffer : 0;
  static_assert(kWaveSize % kPerColumn == 0);
  const int row = lane_id() % kPerColumn * N;
  if (row0 + row >= g.rows) return;
  const uint32_t n = g.image.divide(row0 + row);
  const uint32_t pixel = row0 + row - n * g.image.divisor();
  const int first = group * g.K + column0;
  const int64_t place = (static_cast<int64_t>(n) * g.y_channels + first) * g.image.divisor() + pixel;
  const int columns = min(Tile::kColumns, g.K - column0);
  constexpr int kAtOnce = SBK_NVIDIA && N == 1 ? 4 : 2;  // on CDNA four cost a wave
#pragma unroll kAtOnce
  for (int column = lane_id() / kPerColumn + Tile::part() * kAcross; column < columns; column += kAcross * Tile::kParts) {
    write<T, N, Plain, Tile::kParts, kStep, false>(g, place + static_cast<int64_t>(column) * g.image.divisor(),
                                                   buffer + column * Tile::kLdFirst + row, first + column);
  }
}

// The waves that share a buffer's sums wait for each other; a wave alone waits for its own lanes.
template <class Tile>
__device__ __forceinline__ void store_barrier() {
  if constexpr (Tile::kParts > 1) __syncthreads();
  else wave_barrier();
}

// Each wave (or those that share its sums) sends its own rows out, a piece at a time.
template <class Tile, class T, bool Last, int N, bool Plain>
__device__ __forceinline__ void store_as(const GemmConv& g, const Tile& tile, float* shared, int row0, int column0,
                                         int group) {
  float* own = shared + wave_id() * Tile::kBuffer;
  const float* first = shared + Tile::number() * Tile::kBuffer;
#pragma unroll
  for (int piece = 0; piece < Tile::kPieces; ++piece) {
    const int row = row0 + Tile::row(piece), column = column0 + Tile::column(piece);
    store_barrier<Tile>();
    tile.put(piece, own, Last);
    store_barrier<Tile>();
    if constexpr (Last) store_last<Tile, T, N, Plain>(g, first, row, column, group);
    else store_first<Tile, T, N, Plain>(g, first, row, column, group);
  }
}

template <class T, class Tile>
__device__ __forceinline__ void store(const GemmConv& g, const Tile& tile, float* shared, int row0, int column0,
                                      int group) {
  constexpr int N = lanes_of<T>();
  const bool plain = g.bias == nullptr && g.residual == nullptr && g.activation.kind == Activation::none;
  if (g.channels_last) {
    if (!g.aligned || g.K % N != 0) store_as<Tile, T, true, 1, false>(g, tile, shared, row0, column0, group);
    else if (plain) store_as<Tile, T, true, N, true>(g, tile, shared, row0, column0, group);
    else store_as<Tile, T, true, N, false>(g, tile, shared, row0, column0, group);
  } else {
    if (!g.aligned || g.image.divisor() % (N / 2) != 0) store_as<Tile, T, false, 1, false>(g, tile, shared, row0, column0, group);
    else if (g.image.divisor() % N != 0) store_as<Tile, T, false, N / 2, false>(g, tile, shared, row0, column0, group);
    else if (plain) store_as<Tile, T, false, N, true>(g, tile, shared, row0, column0, group);
    else store_as<Tile, T, false, N, false>(g, tile, shared, row0, column0, group);
  }
}

#endif  // device pass

}  // namespace sbk::conv_detail
