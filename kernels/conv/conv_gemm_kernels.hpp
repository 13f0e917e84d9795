// Convolution as a matrix product that is never written out: rows are output pixels, columns output channels, K runs
// over filter taps and input channels. Input and filters have their channels last, padded to whole vectors; the pack
// kernel at the end makes them so where they are not.
#pragma once

#include "common/copy.hpp"
#include "common/device.hpp"
#include "common/mma.hpp"
#include "conv/conv.hpp"

namespace sbk::conv_detail {

struct GemmConv {
  const void* x;         // [N, H, W, groups, C]
  const void* w;         // [groups * K, R, S, C]
  const void* bias;      // [groups * K] or null
  const void* residual;  // like y, or null
  void* y;
  int32_t H, W, C, K, S;  // C: input channels of a group, a multiple of a vector; K: output channels of a group
  int32_t x_channels;     // groups * C
  int32_t y_channels;     // groups * K
  int32_t stride[2], dilation[2], pad[2];
  int32_t rows;           // output pixels: N * OH * OW
  int32_t k_vectors;      // R * S * C / vector
  FastDivisor image;      // by OH * OW
  FastDivisor line;       // by OW
  FastDivisor tap;        // by C / vector
  FastDivisor tap_line;   // by S
  bool channels_last;     // of y and residual
  ActivationParams activation;
};

#if SBK_NVIDIA
constexpr int kSlabsPerStage = 4;
constexpr int kGemmStages = 3;
#else
constexpr int kSlabsPerStage = 2;
constexpr int kGemmStages = 2;
#endif
constexpr int kStageBytes = kSlabsPerStage * kSlabBytes;   // of K, per row
constexpr int kVectorsPerRow = kStageBytes / kVectorBytes;
// One vector of padding per row puts the rows that are read together into different banks.
constexpr int kRowBytes = kStageBytes + kVectorBytes;
constexpr int kChunkColumns = 32;  // columns of the result that go through shared memory at a time

template <int BM, int BN, int Threads>
struct GemmShape {
  static constexpr int kM = BM, kN = BN, kThreads = Threads;
  static constexpr int kStage = (BM + BN) * kRowBytes;
  static constexpr int kShared = kGemmStages * kStage;
  static_assert(kShared >= kChunkColumns * (BM + 4) * 4 && kShared >= BM * (kChunkColumns + 4) * 4);
};

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)

// One block's loads of the input: each thread serves one vector column of `Rows` tile rows.
template <class T, class Shape>
class InputRows {
 public:
  static constexpr int kRowStep = Shape::kThreads / kVectorsPerRow;
  static constexpr int kRows = Shape::kM / kRowStep;

  __device__ InputRows(const GemmConv& g, int first_row, int group) : g_(g) {
    x_ = static_cast<const T*>(g.x) + static_cast<int64_t>(group) * g.C;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int row = first_row + static_cast<int>(threadIdx.x) / kVectorsPerRow + i * kRowStep;
      const uint32_t n = g.image.divide(row);
      const uint32_t pixel = row - n * g.image.divisor();
      const uint32_t oh = g.line.divide(pixel);
      const uint32_t ow = pixel - oh * g.line.divisor();
      // A row past the end gets a place that fails the bounds check of every tap.
      h_[i] = row < g.rows ? static_cast<int>(oh) * g.stride[0] - g.pad[0] : INT32_MIN / 2;
      w_[i] = static_cast<int>(ow) * g.stride[1] - g.pad[1];
      image_[i] = static_cast<int>(n) * g.H;
    }
  }

  __device__ void begin(Copies<kRows>& copies, char* stage, int step) const {
    constexpr int kLanes = lanes_of<T>();
    const int column = static_cast<int>(threadIdx.x) % kVectorsPerRow;
    const int vector = step * kVectorsPerRow + column;
    const uint32_t tap = g_.tap.divide(vector);
    const int c = static_cast<int>(vector - tap * g_.tap.divisor()) * kLanes;
    const uint32_t r = g_.tap_line.divide(tap);
    const uint32_t s = tap - r * g_.tap_line.divisor();
    const int dh = static_cast<int>(r) * g_.dilation[0], dw = static_cast<int>(s) * g_.dilation[1];
    char* to = stage + (static_cast<int>(threadIdx.x) / kVectorsPerRow) * kRowBytes + column * kVectorBytes;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int h = h_[i] + dh, w = w_[i] + dw;
      const bool valid = vector < g_.k_vectors && static_cast<uint32_t>(h) < static_cast<uint32_t>(g_.H) &&
                         static_cast<uint32_t>(w) < static_cast<uint32_t>(g_.W);
      const T* from = valid ? x_ + (static_cast<int64_t>(image_[i] + h) * g_.W + w) * g_.x_channels + c : x_;
      copies.begin(i, to + i * kRowStep * kRowBytes, from, valid);
    }
  }

 private:
  const GemmConv& g_;
  const T* x_;
  int h_[kRows], w_[kRows], image_[kRows];
};

// One block's loads of the filters: rows are output channels, K dense.
template <class T, class Shape>
class FilterRows {
 public:
  static constexpr int kRowStep = Shape::kThreads / kVectorsPerRow;
  static constexpr int kRows = Shape::kN / kRowStep;

  __device__ FilterRows(const GemmConv& g, int first_column, int group) : g_(g), first_(first_column) {
    w_ = static_cast<const T*>(g.w) + static_cast<int64_t>(group) * g.K * g.k_vectors * lanes_of<T>();
  }

  __device__ void begin(Copies<kRows>& copies, char* stage, int step) const {
    const int column = static_cast<int>(threadIdx.x) % kVectorsPerRow;
    const int row = static_cast<int>(threadIdx.x) / kVectorsPerRow;
    const int vector = step * kVectorsPerRow + column;
    char* to = stage + row * kRowBytes + column * kVectorBytes;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int k = first_ + row + i * kRowStep;
      const bool valid = vector < g_.k_vectors && k < g_.K;
      const T* from = valid ? w_ + (static_cast<int64_t>(k) * g_.k_vectors + vector) * lanes_of<T>() : w_;
      copies.begin(i, to + i * kRowStep * kRowBytes, from, valid);
    }
  }

 private:
  const GemmConv& g_;
  const T* w_;
  int first_;
};

// The sums of one wave: its place in the block's tile follows from the number of waves, so from the wave's width.
template <class T, class Shape>
class WaveTile {
 public:
  static constexpr int kWaves = Shape::kThreads / kWaveSize;
  static constexpr int kWavesM = kWaves > 1 ? 2 : 1;
  static constexpr int kWavesN = kWaves / kWavesM;
  static constexpr int kM = Shape::kM / kWavesM, kN = Shape::kN / kWavesN;
  static constexpr int kTilesM = kM / 16, kTilesN = kN / 16;

  __device__ WaveTile() {
#pragma unroll
    for (int m = 0; m < kTilesM; ++m) {
#pragma unroll
      for (int n = 0; n < kTilesN; ++n) clear(sums_[m][n]);
    }
  }

  __device__ int first_row() const { return wave_id() % kWavesM * kM; }
  __device__ int first_column() const { return wave_id() / kWavesM * kN; }

  __device__ void multiply(const char* stage) {
    constexpr int kLd = kRowBytes / static_cast<int>(sizeof(T));
    const T* a = reinterpret_cast<const T*>(stage) + first_row() * kLd;
    const T* b = reinterpret_cast<const T*>(stage + Shape::kM * kRowBytes) + first_column() * kLd;
multiply_tiles<T, kTilesM, kTilesN, kSlabsPerStage>(sums_, a, kLd, b, kLd);
  }

  // Calls put(row, column, sum) for the sums in columns [from, from + kChunkColumns) of the block's tile.
  template <class Put>
  __device__ void each(int from, Put put) const {
#pragma unroll
    for (int n = 0; n < kTilesN; ++n) {
      const int tile_column = first_column() + n * 16;
      if (tile_column < from || tile_column >= from + kChunkColumns) continue;
#pragma unroll
      for (int m = 0; m < kTilesM; ++m) {
#pragma unroll
        for (int i = 0; i < TileLayout::kValues; ++i) {
          put(first_row() + m * 16 + TileLayout::row(TileLayout::slot(i)), tile_column + TileLayout::column(i),
              sums_[m][n].v[i]);
        }
      }
    }
  }

 private:
  Accumulator sums_[kTilesM][kTilesN];
};

// Writes N sums that are neighbours in y, with bias, residual and activation. `bias_step` is 1 where they are channels.
template <class T, int N>
__device__ inline void write(const GemmConv& g, int64_t at, const float* sums, int channel, int bias_step) {
  const auto* bias = static_cast<const T*>(g.bias);
  Vec<T, N> out;
  Vec<T, N> residual;
  if (g.residual != nullptr) residual = *reinterpret_cast<const Vec<T, N>*>(static_cast<const T*>(g.residual) + at);
#pragma unroll
  for (int j = 0; j < N; ++j) {
    float sum = sums[j];
    if (bias != nullptr) sum += to_float(bias[channel + j * bias_step]);
    if (g.residual != nullptr) sum += to_float(residual.v[j]);
    out.v[j] = from_float<T>(activate(g.activation, sum));
  }
  *reinterpret_cast<Vec<T, N>*>(static_cast<T*>(g.y) + at) = out;
}

// channels_last: `buffer` holds [kM][kChunkColumns + 4] sums; N neighbours are channels of one pixel.
template <class T, class Shape, int N>
__device__ inline void store_last(const GemmConv& g, const float* buffer, int row0, int column0, int group) {
  constexpr int kPerRow = kChunkColumns / N;
  for (int i = static_cast<int>(threadIdx.x); i < Shape::kM * kPerRow; i += Shape::kThreads) {
    const int row = i / kPerRow, column = i % kPerRow * N;
    if (row0 + row >= g.rows || column0 + column >= g.K) continue;
    const int channel = group * g.K + column0 + column;
    write<T, N>(g, static_cast<int64_t>(row0 + row) * g.y_channels + channel,
                buffer + row * (kChunkColumns + 4) + column, channel, 1);
  }
}

// channels_first: `buffer` holds [kChunkColumns][kM + 4] sums; N neighbours are pixels of one channel.
template <class T, class Shape, int N>
__device__ inline void store_first(const GemmConv& g, const float* buffer, int row0, int column0, int group) {
  constexpr int kPerColumn = Shape::kM / N;
  for (int i = static_cast<int>(threadIdx.x); i < kChunkColumns * kPerColumn; i += Shape::kThreads) {
    const int column = i / kPerColumn, row = i % kPerColumn * N;
    if (row0 + row >= g.rows || column0 + column >= g.K) continue;
    const int channel = group * g.K + column0 + column;
    const uint32_t n = g.image.divide(row0 + row);
    const uint32_t pixel = row0 + row - n * g.image.divisor();
    const int64_t at = (static_cast<int64_t>(n) * g.y_channels + channel) * g.image.divisor() + pixel;
    write<T, N>(g, at, buffer + column * (Shape::kM + 4) + row, channel, 0);
  }
}

template <class T, class Shape>
__device__ inline void store(const GemmConv& g, const WaveTile<T, Shape>& tile, float* buffer, int row0, int column0,
                             int group) {
  constexpr int N = lanes_of<T>();
  const bool whole = g.channels_last ? g.K % N == 0 : g.image.divisor() % N == 0;
#pragma unroll
  for (int from = 0; from < Shape::kN; from += kChunkColumns) {
    __syncthreads();
    if (g.channels_last) {
      tile.each(from, [&](int row, int column, float sum) { buffer[row * (kChunkColumns + 4) + column - from] = sum; });
    } else {
      tile.each(from, [&](int row, int column, float sum) { buffer[(column - from) * (Shape::kM + 4) + row] = sum; });
    }
    __syncthreads();
    if (column0 + from >= g.K) break;
    if (g.channels_last) {
      if (whole) store_last<T, Shape, N>(g, buffer, row0, column0 + from, group);
      else store_last<T, Shape, 1>(g, buffer, row0, column0 + from, group);
    } else {
      if (whole) store_first<T, Shape, N>(g, buffer, row0, column0 + from, group);
      else store_first<T, Shape, 1>(g, buffer, row0, column0 + from, group);
    }
  }
}

template <class T, class Shape>
__device__ void gemm_block(const GemmConv& g, char* shared) {
  const int row0 = static_cast<int>(blockIdx.x) * Shape::kM, column0 = static_cast<int>(blockIdx.y) * Shape::kN;
  const int group = static_cast<int>(blockIdx.z);
  const InputRows<T, Shape> input(g, row0, group);
  const FilterRows<T, Shape> filter(g, column0, group);
  Copies<InputRows<T, Shape>::kRows> input_copies;
  Copies<FilterRows<T, Shape>::kRows> filter_copies;
  const int steps = (g.k_vectors + kVectorsPerRow - 1) / kVectorsPerRow;
  const auto stage = [&](int step) { return shared + step % kGemmStages * Shape::kStage; };
  const auto begin = [&](int step) {
    if (step < steps) {
      input.begin(input_copies, stage(step), step);
      filter.begin(filter_copies, stage(step) + Shape::kM * kRowBytes, step);
    }
    input_copies.commit();
  };
  const auto finish = [&](int step) {
    if (step >= steps) return;
    input_copies.finish();
    filter_copies.finish();
  };
#pragma unroll
  for (int step = 0; step < kGemmStages - 1; ++step) {
    begin(step);
    finish(step);
  }
  WaveTile<T, Shape> tile;
  for (int step = 0; step < steps; ++step) {
    Copies<1>::template wait<kGemmStages - 2>();
    __syncthreads();
    begin(step + kGemmStages - 1);
    tile.multiply(stage(step));
    finish(step + kGemmStages - 1);
  }
  Copies<1>::template wait<0>();
  store<T, Shape>(g, tile, reinterpret_cast<float*>(shared), row0, column0, group);
}

#endif  // device pass

// Grid: x over tiles of pixels, y over tiles of output channels, z over groups.
template <class T, class Shape>
__global__ void __launch_bounds__(Shape::kThreads) conv_gemm([[maybe_unused]] const GemmConv g) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  extern __shared__ __align__(16) char shared[];
  gemm_block<T, Shape>(g, shared);
#endif
}

// Moves channels last and pads each group's channels with zeros: [items, groups * c, area] → [items, area, groups * C].
// Grid: x over tiles of the area, y over tiles of the padded channels, z over items.
constexpr int kPackTile = 32;
constexpr int kPackThreads = 256;

struct Pack {
  const void* from;
  void* to;
  int64_t items;
  int32_t area, groups, channels, padded;  // channels: of a group, before and after padding
  bool from_last;                          // `from` has its channels last already and only wants padding
};

template <class T>
__global__ void __launch_bounds__(kPackThreads) conv_pack(Pack p) {
  __shared__ T tile[kPackTile][kPackTile + 2];
  const int column = static_cast<int>(threadIdx.x) % kPackTile, line = static_cast<int>(threadIdx.x) / kPackTile;
  constexpr int kLines = kPackThreads / kPackTile;
  const int s0 = static_cast<int>(blockIdx.x) * kPackTile, c0 = static_cast<int>(blockIdx.y) * kPackTile;
  const int total = p.groups * p.padded;
  const T* from = static_cast<const T*>(p.from);
  T* to = static_cast<T*>(p.to);
  for (int64_t item = blockIdx.z; item < p.items; item += gridDim.z) {
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kPackTile; i += kLines) {
      // first: lanes run along the area; last: along the channels
      const int s = s0 + (p.from_last ? line + i : column), cp = c0 + (p.from_last ? column : line + i);
      const int group = cp / p.padded, c = cp % p.padded;
      T value = from_float<T>(0.0f);
      if (s < p.area && cp < total && c < p.channels) {
        const int64_t channel = static_cast<int64_t>(group) * p.channels + c;
        const int64_t channels = static_cast<int64_t>(p.groups) * p.channels;
        value = p.from_last ? from[(item * p.area + s) * channels + channel]
                            : from[(item * channels + channel) * p.area + s];
      }
      if (p.from_last) tile[line + i][column] = value;
      else tile[column][line + i] = value;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kPackTile; i += kLines) {
      const int s = s0 + line + i, cp = c0 + column;
      if (s < p.area && cp < total) to[(item * p.area + s) * total + cp] = tile[line + i][column];
    }
  }
}

}  // namespace sbk::conv_detail
