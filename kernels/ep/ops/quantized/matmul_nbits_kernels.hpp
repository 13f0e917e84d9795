// MatMulNBits on a GPU: a wave for a few columns where there are few rows, tiles in LDS where there are many.
#pragma once

#include "ops/quantized/matmul_nbits.hpp"
#include "ops/quantized/product_kernels.hpp"

namespace rk {

constexpr int kRowsThreads = 256;
constexpr int kColumnsOfWave = 4;
constexpr int kMostRows = 8;  // of a that a wave multiplies at once

// kUnit codes of one column.
template <int Bits>
struct Codes {
  static constexpr int kWords = Bits > 4 ? 2 : 1;
  uint32_t words[kWords];

  RK_INLINE static Codes at(const uint8_t* from) {
    Codes codes;
    if constexpr (Bits == 2) codes.words[0] = *reinterpret_cast<const uint16_t*>(from);
    if constexpr (Bits == 4) codes.words[0] = *reinterpret_cast<const uint32_t*>(from);
    if constexpr (Bits == 8) {
      const auto both = *reinterpret_cast<const sbk::Vec<uint32_t, 2>*>(from);
      codes.words[0] = both.v[0];
      codes.words[1] = both.v[1];
    }
    return codes;
  }
  RK_INLINE float operator[](int i) const {
    return static_cast<float>(words[i * Bits / 32] >> (i * Bits % 32) & ((1u << Bits) - 1u));
  }
};

// kUnit values of a row of a from k on; zeros beyond its end.
template <class T>
RK_INLINE UnitValues<T> unit_of_a(const T* row, int32_t k, int32_t end, bool vectors) {
  constexpr int kLanes = sbk::kVectorBytes / static_cast<int>(sizeof(T));
  UnitValues<T> values;
  if (vectors) {  // k is a multiple of kUnit then, and so is the end
#pragma unroll
    for (int i = 0; i < kUnit / kLanes; ++i) values.part[i] = *reinterpret_cast<const sbk::Vec<T, kLanes>*>(row + k + i * kLanes);
    return values;
  }
#pragma unroll
  for (int i = 0; i < kUnit; ++i) values[i] = k + i < end ? row[k + i] : sbk::from_float<T>(0.0f);
  return values;
}

// A wave takes kColumnsOfWave columns, its lanes units of K by turns: what a is read for, it is multiplied by all of them.
template <class T, int Bits, int Rows>
__global__ void __launch_bounds__(kRowsThreads) nbits_rows([[maybe_unused]] const NBits<T> p) {
#if defined(__HIP_DEVICE_COMPILE__) || defined(__CUDA_ARCH__)
  const int64_t wave = static_cast<int64_t>(blockIdx.x) * (kRowsThreads / sbk::kWaveSize) + sbk::wave_id();
  const int64_t waves = static_cast<int64_t>(gridDim.x) * (kRowsThreads / sbk::kWaveSize);
  for (int64_t first = wave * kColumnsOfWave; first < p.n; first += waves * kColumnsOfWave) {
    float sums[Rows][kColumnsOfWave] = {};
    const auto end = static_cast<int32_t>(p.k);
    for (int32_t k = sbk::lane_id() * kUnit; k < end; k += sbk::kWaveSize * kUnit) {
      UnitValues<T> a[Rows];
#pragma unroll
      for (int r = 0; r < Rows; ++r) a[r] = unit_of_a(p.a + (r < p.m ? r : p.m - 1) * p.k, k, end, p.vectors);
      const int32_t block = k >> p.shift;
#pragma unroll
      for (int c = 0; c < kColumnsOfWave; ++c) {
        const int64_t column = first + c < p.n ? first + c : p.n - 1;
        const auto codes = Codes<Bits>::at(p.b + column * p.column_bytes() + k / 8 * Bits);
        const float zero = p.zero(column, block), scale = sbk::to_float(p.scales[column * p.blocks + block]);
        float products[Rows] = {};
#pragma unroll
        for (int i = 0; i < kUnit; ++i) {
          const float weight = kScaleOfSums<T> ? codes[i] - zero : (codes[i] - zero) * scale;
#pragma unroll
          for (int r = 0; r < Rows; ++r) products[r] = fmaf(sbk::to_float(a[r][i]), weight, products[r]);
        }
#pragma unroll
        for (int r = 0; r < Rows; ++r) sums[r][c] = fmaf(kScaleOfSums<T> ? checked_scale(scale) : 1.0f, products[r], sums[r][c]);
      }
    }
#pragma unroll
    for (int r = 0; r < Rows; ++r)
#pragma unroll
      for (int c = 0; c < kColumnsOfWave; ++c) {
        const float sum = sbk::wave_sum(sums[r][c]);
        if (sbk::lane_id() != 0 || r >= p.m || first + c >= p.n) continue;
        const float bias = p.bias != nullptr ? sbk::to_float(p.bias[first + c]) : 0.0f;
        p.y[r * p.n + first + c] = sbk::from_float<T>(sum + bias);
      }
  }
#endif
}

// For quantized_product. Slabs: of float16 those that lie in one block of b, of float32 any.
template <class T, int Bits, int Slabs>
struct NBitsProduct {
  using Element = T;
  using Sum = float;
  static constexpr int kSlabs = Slabs;
  static constexpr bool kColumnsAcross = false;
  struct Matrix {};  // one alone
  struct Row {
    const T* from;
    bool exists;  // not beyond the last. A null pointer in its place would make the loads FLAT
  };
  struct Column {
    const uint8_t* from;
    int32_t index;
  };
  using RawA = UnitValues<T>;
  using RawB = Codes<Bits>;

  NBits<T> p;
  int64_t m, n, batch;
  int32_t k;

  RK_INLINE Matrix matrix(int64_t) const { return {}; }
  RK_INLINE Row row(Matrix, int64_t i) const { return {p.a + (i < m ? i : m - 1) * k, i < m}; }
  RK_INLINE Column column(Matrix, int64_t j) const {
    const auto index = static_cast<int32_t>(j < n ? j : n - 1);
    return {p.b + index * p.column_bytes(), index};
  }
  RK_INLINE RawA fetch_a(const Row& row, int32_t at) const {
    if (row.exists && at < k) return unit_of_a(row.from, at, k, p.vectors);
    RawA values;
#pragma unroll
    for (int i = 0; i < kUnit; ++i) values[i] = sbk::from_float<T>(0.0f);
    return values;
  }
  RK_INLINE RawB fetch_b(const Column& column, int32_t at) const {
    return RawB::at(column.from + (at < k ? at : 0) / 8 * Bits);  // beyond the end a is zero
  }
  RK_INLINE void make_a(UnitValues<T>& values, const Row&, const RawA& raw, int32_t) const { values = raw; }
  RK_INLINE void make_b(UnitValues<T>& values, const Column& column, const RawB& raw, int32_t at) const {
    const int32_t block = (at < k ? at : 0) >> p.shift;
    const float zero = p.zero(column.index, block);
    const float scale = kScaleOfSums<T> ? 1.0f : sbk::to_float(p.scales[column.index * p.blocks + block]);
#pragma unroll
    for (int i = 0; i < kUnit; ++i) values[i] = sbk::from_float<T>((raw[i] - zero) * scale);
  }
  RK_INLINE void add(float& sum, float product, int64_t column, int32_t at) const {
    if constexpr (!kScaleOfSums<T>) {
      sum += product;
      return;
    }
    const int64_t index = column < n ? column : n - 1;
    sum = fmaf(checked_scale(sbk::to_float(p.scales[index * p.blocks + (at >> p.shift)])), product, sum);
  }
  RK_INLINE void store(Matrix, int64_t i, int64_t j, float sum) const {
    p.y[i * n + j] = sbk::from_float<T>(p.bias != nullptr ? sum + sbk::to_float(p.bias[j]) : sum);
  }
};

template <class T, int Bits>
void run_rows(Stream& stream, const NBits<T>& p) {
  sbk::DeviceFacts device;
  check(sbk::device_facts(&device));
  const int64_t columns = kRowsThreads / device.wave * kColumnsOfWave;
  const dim3 grid(blocks_for(sbk::ceil_div(p.n, columns), kRowsThreads)), block(kRowsThreads);
  const auto native = static_cast<hipStream_t>(stream.native());
  if (p.m <= 1) nbits_rows<T, Bits, 1><<<grid, block, 0, native>>>(p);
  else if (p.m <= 2) nbits_rows<T, Bits, 2><<<grid, block, 0, native>>>(p);
  else if (p.m <= 4) nbits_rows<T, Bits, 4><<<grid, block, 0, native>>>(p);
  else nbits_rows<T, Bits, kMostRows><<<grid, block, 0, native>>>(p);
  launched();
}

template <class T, int Bits, int Slabs>
void run_tiles(Stream& stream, const NBits<T>& p) {
  run_product(stream, NBitsProduct<T, Bits, Slabs>{p, p.m, p.n, 1, static_cast<int32_t>(p.k)});
}

template <class T, int Bits>
void run_nbits(Stream& stream, const NBits<T>& p) {
  if (p.m <= kMostRows) return run_rows<T, Bits>(stream, p);
  if constexpr (kScaleOfSums<T>) {
    const int64_t slabs = (int64_t{1} << p.shift) / sbk::slab_of<T>();  // of a block, which has 16 codes at least
    if (slabs == 1) return run_tiles<T, Bits, 1>(stream, p);
    if (slabs == 2) return run_tiles<T, Bits, 2>(stream, p);
  }
  run_tiles<T, Bits, kProductSlabs>(stream, p);
}

}  // namespace rk
