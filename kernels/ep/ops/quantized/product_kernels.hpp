// A tiled product y = a b whose operands are made of quantized values on the way into LDS, multiplied there by the matrix
// instructions of common/mma.hpp. For GPUs alone.
//
// What is multiplied is described by a struct P:
//   Element        float or __half: the type of the values in LDS
//   Sum            the type of the sums of y: float or int32_t
//   kSlabs         slabs of K (common/mma.hpp) after which add() takes the products into the sums: 1, 2 or 4
//   kColumnsAcross neighbouring threads fetch neighbouring columns of b, not neighbouring K of one column
//   m, n, k, batch extents; k 32 bits
//   Matrix         where one of the batch's matrices lies: matrix(i)
//   Row, Column    what a thread keeps of a row of a and of a column of b: row(matrix, i), column(matrix, j)
//   RawA, RawB     kUnit values as they are in memory: fetch_a(row, k), fetch_b(column, k); in range of K or zeros
//   make_a, make_b those values as Element: make_a(values, row, raw, k)
//   add            add(sum, product, column, k): sum += what the products of a group from k on stand for
//   store          store(matrix, i, j, sum)
#pragma once

#include "common/mma.hpp"
#include "core/kernel/parallel_for.hpp"

namespace rk {

constexpr int kProductExtent = 64;     // rows and columns of y of a block
constexpr int kProductSlabs = 4;       // of K in LDS at a time
constexpr int kProductWaves = 4;       // of a block: two by two, 32 × 32 of y each
constexpr int kMostProductThreads = 256;
constexpr int kUnit = 8;               // values that a thread fetches at once

template <class T>
struct UnitValues {
  sbk::Vec<T, sbk::kVectorBytes / static_cast<int>(sizeof(T))> part[kUnit * static_cast<int>(sizeof(T)) / sbk::kVectorBytes];
  RK_HD T& operator[](int i) {
    constexpr int kLanes = sbk::kVectorBytes / static_cast<int>(sizeof(T));
    return part[i / kLanes].v[i % kLanes];
  }
};

#if defined(__HIP_DEVICE_COMPILE__) || defined(__CUDA_ARCH__)

// One block's work on one tile of y.
template <class P>
class ProductOfTile {
  using T = typename P::Element;
  static constexpr int kDepth = kProductSlabs * sbk::slab_of<T>();
  static constexpr int kUnits = kDepth / kUnit;
  static constexpr int kThreads = kProductWaves * sbk::kWaveSize;
  static constexpr int kEach = kProductExtent * kUnits / kThreads;  // units of either operand that a thread fetches
  static constexpr int kSide = 2;                                   // waves, and 16 × 16 tiles of a wave, along an edge
  static constexpr int kValues = sbk::TileLayout::kValues;
  static_assert(kProductExtent * kUnits % kThreads == 0);

 public:
  static constexpr int kRow = kDepth + sbk::lanes_of<T>();  // of LDS: a vector more than is used, against bank conflicts
  static constexpr int kVectors = kProductExtent * kRow / sbk::lanes_of<T>();

  RK_INLINE ProductOfTile(const P& p, T* a, T* b, int64_t tile) : p_(p), a_(a), b_(b) {
    const int64_t rows = sbk::ceil_div(p.m, kProductExtent), columns = sbk::ceil_div(p.n, kProductExtent);
    top_ = tile % rows * kProductExtent;  // blocks side by side share columns of b
    left_ = tile / rows % columns * kProductExtent;
    matrix_ = p.matrix(tile / rows / columns);
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      row_[i] = p.row(matrix_, top_ + place_a(i).line);
      column_[i] = p.column(matrix_, left_ + place_b(i).line);
    }
  }

  RK_INLINE void run() {
    clear();
    fetch(0);
    for (int32_t k = 0; k < p_.k; k += kDepth) {
      __syncthreads();  // the values before have been read
      make(k);
      __syncthreads();
      if (k + kDepth < p_.k) fetch(k + kDepth);
      multiply(k);
    }
    store();
  }

 private:
  struct Place {
    int line, unit;
  };
  RK_INLINE static Place place_a(int i) {
    const int t = static_cast<int>(threadIdx.x) + i * kThreads;
    return {t / kUnits, t % kUnits};
  }
  RK_INLINE static Place place_b(int i) {
    const int t = static_cast<int>(threadIdx.x) + i * kThreads;
    if constexpr (P::kColumnsAcross) return {t % kProductExtent, t / kProductExtent};
    return {t / kUnits, t % kUnits};
  }
  RK_INLINE static int wave_row() { return sbk::wave_id() / kSide * (kProductExtent / kSide); }
  RK_INLINE static int wave_column() { return sbk::wave_id() % kSide * (kProductExtent / kSide); }

  RK_INLINE void clear() {
#pragma unroll
    for (int m = 0; m < kSide; ++m)
#pragma unroll
      for (int n = 0; n < kSide; ++n)
#pragma unroll
        for (int i = 0; i < kValues; ++i) sums_[m][n][i] = 0;
  }

  RK_INLINE void fetch(int32_t k) {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      raw_a_[i] = p_.fetch_a(row_[i], k + place_a(i).unit * kUnit);
      raw_b_[i] = p_.fetch_b(column_[i], k + place_b(i).unit * kUnit);
    }
  }

  RK_INLINE void make(int32_t k) {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const Place a = place_a(i), b = place_b(i);
      UnitValues<T> values;
      p_.make_a(values, row_[i], raw_a_[i], k + a.unit * kUnit);
      put(a_ + a.line * kRow + a.unit * kUnit, values);
      p_.make_b(values, column_[i], raw_b_[i], k + b.unit * kUnit);
      put(b_ + b.line * kRow + b.unit * kUnit, values);
    }
  }

  RK_INLINE static void put(T* to, const UnitValues<T>& values) {
    constexpr int kLanes = sbk::lanes_of<T>();
#pragma unroll
    for (int i = 0; i < kUnit / kLanes; ++i) *reinterpret_cast<sbk::Vec<T, kLanes>*>(to + i * kLanes) = values.part[i];
  }

  RK_INLINE void multiply(int32_t k) {
    constexpr int kGroup = P::kSlabs * sbk::slab_of<T>();
#pragma unroll
    for (int group = 0; group < kDepth; group += kGroup) {
      if (k + group >= p_.k) return;
      sbk::Accumulator products[kSide][kSide];
#pragma unroll
      for (int m = 0; m < kSide; ++m)
#pragma unroll
        for (int n = 0; n < kSide; ++n) sbk::clear(products[m][n]);
      sbk::multiply_tiles<T, kSide, kSide, P::kSlabs>(products, a_ + wave_row() * kRow + group, kRow, b_ + wave_column() * kRow + group, kRow);
#pragma unroll
      for (int n = 0; n < kSide; ++n)
#pragma unroll
        for (int i = 0; i < kValues; ++i) {
          const int64_t column = left_ + wave_column() + 16 * n + sbk::TileLayout::column(i);
#pragma unroll
          for (int m = 0; m < kSide; ++m) p_.add(sums_[m][n][i], products[m][n].v[i], column, k + group);
        }
    }
  }

  RK_INLINE void store() const {
#pragma unroll
    for (int m = 0; m < kSide; ++m)
#pragma unroll
      for (int n = 0; n < kSide; ++n)
#pragma unroll
        for (int i = 0; i < kValues; ++i) {
          const int64_t row = top_ + wave_row() + 16 * m + sbk::TileLayout::row(sbk::TileLayout::slot(i));
          const int64_t column = left_ + wave_column() + 16 * n + sbk::TileLayout::column(i);
          if (row < p_.m && column < p_.n) p_.store(matrix_, row, column, sums_[m][n][i]);
        }
  }

  const P& p_;
  T *a_, *b_;
  int64_t top_, left_;
  typename P::Matrix matrix_;
  typename P::Row row_[kEach];
  typename P::Column column_[kEach];
  typename P::RawA raw_a_[kEach];
  typename P::RawB raw_b_[kEach];
  typename P::Sum sums_[kSide][kSide][kValues];
};

#endif

template <class P>
__global__ void __launch_bounds__(kMostProductThreads) quantized_product([[maybe_unused]] const P p, [[maybe_unused]] int64_t tiles) {
#if defined(__HIP_DEVICE_COMPILE__) || defined(__CUDA_ARCH__)
  using T = typename P::Element;
  using Work = ProductOfTile<P>;
  using Vector = sbk::Vec<T, sbk::lanes_of<T>()>;
  __shared__ Vector a[Work::kVectors];
  __shared__ Vector b[Work::kVectors];
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) Work(p, a[0].v, b[0].v, tile).run();
#endif
}

// Enqueues y = a b.
template <class P>
void run_product(Stream& stream, const P& p) {
  sbk::DeviceFacts device;
  check(sbk::device_facts(&device));
  const int threads = kProductWaves * device.wave;
  const int64_t tiles = sbk::ceil_div(p.m, kProductExtent) * sbk::ceil_div(p.n, kProductExtent) * p.batch;
  if (tiles == 0) return;
  quantized_product<P><<<dim3(blocks_for(tiles, threads)), dim3(threads), 0, static_cast<hipStream_t>(stream.native())>>>(p, tiles);
  launched();
}

}  // namespace rk
