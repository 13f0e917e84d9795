// Convolution as a matrix product that is never written out: rows are output pixels, columns output channels, K runs
// over filter taps and input channels. Input and filters have their channels last, padded to whole vectors
// (conv_pack_kernels.hpp makes them so where they are not).
#pragma once

#include "common/copy.hpp"
#include "common/device.hpp"
#include "common/mma.hpp"
#include "common/overlap.hpp"
#include "conv/conv_store.hpp"

namespace sbk::conv_detail {

// A block's tile of BM pixels by BN output channels. WM: waves over the pixels, where waves are narrowest (the rest go
// over the channels). Slabs of K per stage, and stages in flight. VB: bytes copied at a time, so C is a multiple of it.
// Paired: see multiply_tiles. Parts: waves that share a tile's sums, each with its part of every stage's slabs (where
// waves are narrowest); that keeps a device busy with few tiles.
template <class T, int BM, int BN, int Threads, int WM, int Slabs, int Stages, int VB = kVectorBytes,
          bool Paired = false, int Parts = 1, bool Deep = false>
struct GemmShape {
  using Type = T;
  static constexpr bool kDeep = Deep;  // whether images may have three axes
  static constexpr bool kPaired = Paired;
  static constexpr int kM = BM, kN = BN, kThreads = Threads, kVector = VB, kSlabs = Slabs, kStages = Stages;
  static constexpr int kLanes = VB / static_cast<int>(sizeof(T));
  static constexpr int kVectorsPerRow = kSlabs * kSlabBytes / VB;
  // One vector of padding per row puts the rows that are read together into different banks.
  static constexpr int kRowBytes = kSlabs * kSlabBytes + kVectorBytes;
  static constexpr int kLd = kRowBytes / static_cast<int>(sizeof(T));
  static constexpr int kStage = (BM + BN) * kRowBytes;
  static constexpr int kRowStep = Threads / kVectorsPerRow;
  static_assert(BM % kRowStep == 0 && BN % kRowStep == 0);

  // Where a stage's vector lies, in bytes. Adding a multiple of 8 rows adds their bytes.
  static constexpr __host__ __device__ int place(int row, int column) { return row * kRowBytes + column * kVector; }
  // For waves of a given width: those that share a tile's sums, and those over the tile's rows.
  static constexpr __host__ __device__ int parts(int wave) { return narrower(Parts, wave); }
  static constexpr __host__ __device__ int waves_m(int wave) { return Parts > 1 ? WM : narrower(WM, wave); }
  // What `narrowest` of the narrowest waves become: as many lanes in waves of `wave`, or one wave.
  static constexpr __host__ __device__ int narrower(int narrowest, int wave) {
    return narrowest * kNarrowestWave > wave ? narrowest * kNarrowestWave / wave : 1;
  }
  // Bytes that the waves' rows pass through on their way out.
  static constexpr int out_bytes(int wave) {
    const int waves = Threads / wave, columns = BN / (waves / parts(wave) / waves_m(wave));
    const int last = 16 * (columns + 4), first = columns * (16 + 4);
    return waves * (last > first ? last : first) * 4;
  }
};

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)

// Where a tile begins. Grid: x over tiles, columns first; z over groups.
template <class Shape>
struct TileOrigin {
  int row, column, group;

  __device__ __forceinline__ TileOrigin(const GemmConv& g, uint32_t tile) : group(static_cast<int>(blockIdx.z)) {
    const int tile_row = static_cast<int>(g.columns.divide(tile));
    row = tile_row * Shape::kM;
    column = static_cast<int>(tile - tile_row * g.column_tiles) * Shape::kN;
  }
};

// Where this thread's vectors lie in a stage, and the vector of K that it serves.
template <class Shape>
struct Slot {
  int column = static_cast<int>(threadIdx.x) % Shape::kVectorsPerRow;
  int row = static_cast<int>(threadIdx.x) / Shape::kVectorsPerRow;

  __device__ __forceinline__ char* in(char* stage) const {
    return stage + Shape::place(row, column);
  }
  __device__ __forceinline__ int vector(int step) const { return step * Shape::kVectorsPerRow + column; }
};

// One block's loads of the input. Which taps of a pixel fall inside the image is worked out once, as bits: of the taps
// where they are 32 or fewer, else of the planes, lines and columns of taps.
template <class Shape>
class InputRows {
 public:
  using T = typename Shape::Type;
  static constexpr int kRows = Shape::kM / Shape::kRowStep;

  __device__ __forceinline__ InputRows(const GemmConv& g, int first_row, int group) : g_(g), few_(g.Q * g.R * g.S <= 32) {
    x_ = static_cast<const T*>(g.x) + group * g.C;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int row = first_row + slot_.row + i * Shape::kRowStep;
      const uint32_t n = g.image.divide(row);
      uint32_t pixel = row - n * g.image.divisor(), od = 0;
      if constexpr (Shape::kDeep) {
        od = g.plane.divide(pixel);
        pixel -= od * g.plane.divisor();
      }
      const uint32_t oh = g.line.divide(pixel);
      const uint32_t ow = pixel - oh * g.line.divisor();
      const int h = static_cast<int>(oh) * g.stride[0] - g.pad[0], w = static_cast<int>(ow) * g.stride[1] - g.pad[1];
      uint32_t lines = row < g.rows ? inside(h, g.dilation[0], g.R, g.H) : 0;
      columns_[i] = inside(w, g.dilation[1], g.S, g.W);
      int plane = static_cast<int>(n);
      if constexpr (Shape::kDeep) {
        const int d = static_cast<int>(od) * g.deep_stride - g.deep_pad;
        planes_[i] = inside(d, g.deep_dilation, g.Q, g.D);
        plane = plane * g.D + d;
      }
      lines_[i] = few_ ? taps(lines, columns_[i]) : lines;
      if constexpr (Shape::kDeep) {
        if (few_) lines_[i] = taps_of_planes(planes_[i], lines_[i]);
      }
      at_[i] = ((plane * g.H + h) * g.W + w) * g.x_channels;
    }
  }

  __device__ __forceinline__ void begin(Copies<kRows, Shape::kVector>& copies, char* stage, int step) const {
    const int vector = slot_.vector(step);
    const uint32_t tap = g_.tap.divide(vector);
    const int c = static_cast<int>(vector - tap * g_.tap.divisor()) * Shape::kLanes;
    uint32_t q = 0, flat = tap;
    if constexpr (Shape::kDeep) {
      q = g_.tap_plane.divide(tap);
      flat = tap - q * g_.tap_plane.divisor();
    }
    const uint32_t r = g_.tap_line.divide(flat);
    const uint32_t s = flat - r * g_.tap_line.divisor();
    int lines = static_cast<int>(r) * g_.dilation[0] * g_.W + static_cast<int>(s) * g_.dilation[1];
    if constexpr (Shape::kDeep) lines += static_cast<int>(q) * g_.deep_dilation * g_.H * g_.W;
    const int offset = lines * g_.x_channels + c;
    const bool inside_k = vector < g_.k_vectors;
    char* to = slot_.in(stage);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      uint32_t bits = few_ ? lines_[i] >> tap : (lines_[i] >> r) & (columns_[i] >> s);
      if constexpr (Shape::kDeep) {
        if (!few_) bits &= planes_[i] >> q;
      }
      copies.begin(i, to + i * Shape::kRowStep * Shape::kRowBytes, x_ + (at_[i] + offset), inside_k && (bits & 1u));
    }
  }

 private:
  __device__ __forceinline__ static uint32_t inside(int first, int step, int taps, int extent) {
    uint32_t bits = 0;
    for (int t = 0; t < taps; ++t) {
      bits |= static_cast<uint32_t>(static_cast<uint32_t>(first + t * step) < static_cast<uint32_t>(extent)) << t;
    }
    return bits;
  }

  __device__ __forceinline__ uint32_t taps(uint32_t lines, uint32_t columns) const {
    uint32_t bits = 0;
    for (int r = 0; r < g_.R; ++r) bits |= (lines >> r & 1u) ? columns << (r * g_.S) : 0u;
    return bits;
  }

  __device__ __forceinline__ uint32_t taps_of_planes(uint32_t planes, uint32_t of_plane) const {
    uint32_t bits = 0;
    for (int q = 0; q < g_.Q; ++q) bits |= (planes >> q & 1u) ? of_plane << (q * g_.R * g_.S) : 0u;
    return bits;
  }

  const GemmConv& g_;
  const bool few_;
  Slot<Shape> slot_;
  const T* x_;
  int at_[kRows];  // of tap (0, 0), which may lie outside; the launcher takes inputs below 2^31 values
  uint32_t lines_[kRows], columns_[kRows], planes_[Shape::kDeep ? kRows : 1];
};

// One block's loads of the filters: rows are output channels, K dense.
template <class Shape>
class FilterRows {
 public:
  using T = typename Shape::Type;
  static constexpr int kRows = Shape::kN / Shape::kRowStep;

  __device__ __forceinline__ FilterRows(const GemmConv& g, int first_column, int group) : g_(g) {
    const int64_t row_values = static_cast<int64_t>(g.k_vectors) * Shape::kLanes;
    first_ = first_column + slot_.row;
    w_ = static_cast<const T*>(g.w) + (static_cast<int64_t>(group) * g.K + first_) * row_values;
    step_values_ = row_values * Shape::kRowStep;
  }

  __device__ __forceinline__ void begin(Copies<kRows, Shape::kVector>& copies, char* stage, int step) const {
    const int vector = slot_.vector(step);
    const T* from = w_ + vector * Shape::kLanes;
    char* to = slot_.in(stage);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const bool valid = vector < g_.k_vectors && first_ + i * Shape::kRowStep < g_.K;
      copies.begin(i, to + i * Shape::kRowStep * Shape::kRowBytes, from + i * step_values_, valid);
    }
  }

 private:
  const GemmConv& g_;
  Slot<Shape> slot_;
  const T* w_;
  int first_;
  int64_t step_values_;
};

// One block's copies into its stages, the input's rows before the filters'.
template <class Shape>
class StageCopies {
 public:
  __device__ __forceinline__ StageCopies(const GemmConv& g, const TileOrigin<Shape>& at, char* shared)
      : input_(g, at.row, at.group), filter_(g, at.column, at.group), shared_(shared),
        steps_((g.k_vectors + Shape::kVectorsPerRow - 1) / Shape::kVectorsPerRow) {}

  __device__ __forceinline__ int steps() const { return steps_; }
  __device__ __forceinline__ char* stage(int step) const { return shared_ + step % Shape::kStages * Shape::kStage; }

  __device__ __forceinline__ void begin(int step) {
    if (step < steps_) {
      input_.begin(input_copies_, stage(step), step);
      filter_.begin(filter_copies_, stage(step) + Shape::kM * Shape::kRowBytes, step);
    }
    input_copies_.commit();
  }
  __device__ __forceinline__ void finish(int step) {
    if (step >= steps_) return;
    input_copies_.finish();
    filter_copies_.finish();
  }

 private:
  InputRows<Shape> input_;
  FilterRows<Shape> filter_;
  Copies<InputRows<Shape>::kRows, Shape::kVector> input_copies_;
  Copies<FilterRows<Shape>::kRows, Shape::kVector> filter_copies_;
  char* shared_;
  int steps_;
};

// The sums of one wave: its place in the block's tile follows from the number of waves, so from the wave's width. They
// leave in `kPieces` pieces of 16 rows.
template <class Shape>
class WaveTile {
 public:
  using T = typename Shape::Type;
  using Layout = TileLayout<T>;
  static constexpr int kParts = Shape::parts(kWaveSize);
  static constexpr int kWaves = Shape::kThreads / kWaveSize / kParts;  // of one part
  static constexpr int kWavesM = Shape::waves_m(kWaveSize);
  static constexpr int kWavesN = kWaves / kWavesM;
  static constexpr int kM = Shape::kM / kWavesM, kN = Shape::kN / kWavesN;
  static constexpr int kTilesM = kM / 16, kTilesN = kN / 16;
  static constexpr int kPieces = kTilesM, kColumns = kN;  // kColumns: of a piece
  // Floats of shared memory a wave's piece passes through on its way out, either way round.
  static constexpr int kLdLast = kN + 4, kLdFirst = 16 + 4;
  static constexpr int kBuffer = 16 * kLdLast > kN * kLdFirst ? 16 * kLdLast : kN * kLdFirst;

  __device__ __forceinline__ WaveTile() {
#pragma unroll
    for (int m = 0; m < kTilesM; ++m) {
#pragma unroll
      for (int n = 0; n < kTilesN; ++n) clear(sums_[m][n]);
    }
  }

  __device__ __forceinline__ static int part() { return wave_id() / kWaves; }
  __device__ __forceinline__ static int number() { return wave_id() % kWaves; }  // among those of its part
  __device__ __forceinline__ static int row(int piece) { return number() % kWavesM * kM + piece * 16; }
  __device__ __forceinline__ static int column(int) { return number() / kWavesM * kN; }

  __device__ __forceinline__ void multiply(const char* stage) {
    constexpr int kOwn = Shape::kSlabs / kParts;
    const int from = part() * kOwn * slab_of<T>();
    const T* a = reinterpret_cast<const T*>(stage) + row(0) * Shape::kLd + from;
    const T* b = reinterpret_cast<const T*>(stage + Shape::kM * Shape::kRowBytes) + column(0) * Shape::kLd + from;
    multiply_tiles<T, kTilesM, kTilesN, kOwn, Shape::kPaired>(sums_, a, Shape::kLd, b, Shape::kLd);
  }

  // Puts a piece into `buffer`: [16][kLdLast], or the other way round [kN][kLdFirst].
  __device__ __forceinline__ void put(int m, float* buffer, bool last) const {
#pragma unroll
    for (int n = 0; n < kTilesN; ++n) {
#pragma unroll
      for (int i = 0; i < kTileValues; ++i) {
        const int row = Layout::row(Layout::slot(i)), column = n * 16 + Layout::column(i);
        buffer[last ? row * kLdLast + column : column * kLdFirst + row] = sum(m, n, i);
      }
    }
  }

 private:
  // `m` runs in an unrolled loop: registers cannot be indexed.
  __device__ __forceinline__ float sum(int m, int n, int i) const { return sums_[m][n].v[i]; }

  Accumulator sums_[kTilesM][kTilesN];
};

template <class Shape>
__device__ __forceinline__ void gemm_block(const GemmConv& g, char* shared) {
  using T = typename Shape::Type;
  const TileOrigin<Shape> at(g, blockIdx.x);
  StageCopies<Shape> copies(g, at, shared);
  wait_for_previous();
#pragma unroll
  for (int step = 0; step < Shape::kStages - 1; ++step) {
    copies.begin(step);
    copies.finish(step);
  }
  WaveTile<Shape> tile;
  for (int step = 0; step < copies.steps(); ++step) {
    Copies<1>::template wait<Shape::kStages - 2>();
    __syncthreads();
    // cp.async is issued among the products; AMD's loads go first, to be under way during them.
    if (!SBK_NVIDIA) copies.begin(step + Shape::kStages - 1);
    tile.multiply(copies.stage(step));
    if (SBK_NVIDIA) copies.begin(step + Shape::kStages - 1);
    copies.finish(step + Shape::kStages - 1);
  }
  Copies<1>::template wait<0>();
  __syncthreads();
  let_next_start();
  store<T>(g, tile, reinterpret_cast<float*>(shared), at.row, at.column, at.group);
}

#endif  // device pass

template <class Shape>
__global__ void __launch_bounds__(Shape::kThreads) conv_gemm([[maybe_unused]] const GemmConv g) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  extern __shared__ __align__(16) char shared[];
  gemm_block<Shape>(g, shared);
#endif
}

}  // namespace sbk::conv_detail
