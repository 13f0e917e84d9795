// MatMulNBits on a GPU. Few rows of a: a wave for a few columns of b. Many: b is made as it is defined, some columns at a time, and
// multiplied by the BLAS.
#pragma once

#include <type_traits>

#include "core/device/blas.hpp"
#include "ops/quantized/matmul_nbits.hpp"

namespace rk {

constexpr int kRowsThreads = 256;
constexpr int kColumnsOfWave = 4;
constexpr int kMostRows = 8;  // of a that a wave multiplies at once
constexpr int kUnit = 8;      // codes that a thread reads at once

template <class T>
struct UnitValues {
  static constexpr int kLanes = sbk::lanes_of<T>();
  sbk::Vec<T, kLanes> part[kUnit / kLanes];
  RK_HD T& operator[](int i) { return part[i / kLanes].v[i % kLanes]; }
};

// Units of kUnit codes of one column, one behind the other.
template <int Bits, int Units = 1>
struct Codes {
  static constexpr int kBytes = kUnit * Units * Bits / 8;
  using Word = std::conditional_t<kBytes == 2, uint16_t, uint32_t>;
  sbk::Vec<Word, kBytes / static_cast<int>(sizeof(Word))> words;

  RK_INLINE static Codes at(const uint8_t* from) { return {*reinterpret_cast<const decltype(words)*>(from)}; }
  RK_INLINE float operator[](int i) const {
    constexpr int kWordBits = 8 * static_cast<int>(sizeof(Word));
    const uint32_t code = static_cast<uint32_t>(words.v[i * Bits / kWordBits]) >> (i * Bits % kWordBits) & ((1u << Bits) - 1u);
#if SBK_NVIDIA && defined(__CUDA_ARCH__)
    constexpr uint32_t kTwoTo23 = 0x4b000000u;  // as bits: the last of them stand for 1. A conversion takes four times as long there
    return __uint_as_float(kTwoTo23 | code) - __uint_as_float(kTwoTo23);
#else
    return static_cast<float>(code);
#endif
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

// A wave takes kColumnsOfWave columns, its lanes some Units of K by turns: what a is read for, it is multiplied by all of them.
template <class T, int Bits, int Rows, int Units>
__global__ void __launch_bounds__(kRowsThreads) nbits_rows([[maybe_unused]] const NBits<T> p) {
#if defined(__HIP_DEVICE_COMPILE__) || defined(__CUDA_ARCH__)
  const int64_t wave = static_cast<int64_t>(blockIdx.x) * (kRowsThreads / sbk::kWaveSize) + sbk::wave_id();
  const int64_t waves = static_cast<int64_t>(gridDim.x) * (kRowsThreads / sbk::kWaveSize);
  for (int64_t first = wave * kColumnsOfWave; first < p.n; first += waves * kColumnsOfWave) {
    float sums[Rows][kColumnsOfWave] = {};
    const auto end = static_cast<int32_t>(p.k);
    constexpr int kStep = kUnit * Units;
    for (int32_t start = sbk::lane_id() * kStep; start < end; start += sbk::kWaveSize * kStep) {
      Codes<Bits, Units> codes[kColumnsOfWave];
#pragma unroll
      for (int c = 0; c < kColumnsOfWave; ++c) {
        const int64_t column = first + c < p.n ? first + c : p.n - 1;
        codes[c] = Codes<Bits, Units>::at(p.b + column * p.column_bytes() + start / 8 * Bits);
      }
#pragma unroll
      for (int unit = 0; unit < Units; ++unit) {
        const int32_t k = start + unit * kUnit, block = k >> p.shift;
        UnitValues<T> a[Rows];
#pragma unroll
        for (int r = 0; r < Rows; ++r) a[r] = unit_of_a(p.a + (r < p.m ? r : p.m - 1) * p.k, k, end, p.vectors);
#pragma unroll
        for (int c = 0; c < kColumnsOfWave; ++c) {
          const int64_t column = first + c < p.n ? first + c : p.n - 1;
          const float zero = p.zero(column, block), scale = sbk::to_float(p.scales[column * p.blocks + block]);
          float products[Rows] = {};
#pragma unroll
          for (int i = 0; i < kUnit; ++i) {
            const float value = codes[c][unit * kUnit + i], weight = kScaleOfSums<T> ? value - zero : (value - zero) * scale;
#pragma unroll
            for (int r = 0; r < Rows; ++r) products[r] = fmaf(sbk::to_float(a[r][i]), weight, products[r]);
          }
#pragma unroll
          for (int r = 0; r < Rows; ++r) sums[r][c] = fmaf(kScaleOfSums<T> ? checked_scale(scale) : 1.0f, products[r], sums[r][c]);
        }
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

// Columns of b in the type of a, from `first` on, each of whole units.
template <class T, int Bits>
struct DequantizedColumns {
  NBits<T> p;
  T* to;
  int64_t first;
  Divisor by_units;  // of a column

  RK_D void operator()(int64_t i) const {
    const auto at = static_cast<uint32_t>(i), line = by_units.divide(at), unit = at - line * by_units.value();
    const int64_t column = first + line, block = static_cast<int64_t>(unit) * kUnit >> p.shift;
    const auto codes = Codes<Bits>::at(p.b + column * p.column_bytes() + unit * Bits);
    const float zero = p.zero(column, block), stored_scale = sbk::to_float(p.scales[column * p.blocks + block]);
    const float scale = kScaleOfSums<T> ? checked_scale(stored_scale) : stored_scale;
    UnitValues<T> values;
#pragma unroll
    for (int c = 0; c < kUnit; ++c) values[c] = sbk::from_float<T>((codes[c] - zero) * scale);
    reinterpret_cast<UnitValues<T>*>(to)[i] = values;
  }
};

template <class T, int Bits>
void run_rows(Stream& stream, const NBits<T>& p) {
  sbk::DeviceFacts device;
  check(sbk::device_facts(&device));
  const int64_t columns = kRowsThreads / device.wave * kColumnsOfWave;
  const dim3 grid(blocks_for(sbk::ceil_div(p.n, columns), kRowsThreads)), block(kRowsThreads);
  const auto native = static_cast<hipStream_t>(stream.native());
  // One row: 16 bytes of codes at once, where columns lie on their boundaries and have no unit that is no code's.
  constexpr int kWide = sbk::kVectorBytes * 8 / Bits / kUnit;
  const bool wide = p.k % (kWide * kUnit) == 0 && p.column_bytes() % sbk::kVectorBytes == 0 && sbk::aligned_to(p.b, sbk::kVectorBytes);
  if (p.m <= 1 && wide) nbits_rows<T, Bits, 1, kWide><<<grid, block, 0, native>>>(p);
  else if (p.m <= 1) nbits_rows<T, Bits, 1, 1><<<grid, block, 0, native>>>(p);
  else if (p.m <= 2) nbits_rows<T, Bits, 2, 1><<<grid, block, 0, native>>>(p);
  else if (p.m <= 4) nbits_rows<T, Bits, 4, 1><<<grid, block, 0, native>>>(p);
  else nbits_rows<T, Bits, kMostRows, 1><<<grid, block, 0, native>>>(p);
  check_launched();
}

// y = a bᵀ, or y += a bᵀ where there is a bias, whose rows y has already.
template <class T, int Bits>
void run_columns(Stream& stream, const NBits<T>& p) {
  constexpr int64_t kMostBytes = int64_t{64} << 20;  // of b at once
  const int64_t units = sbk::ceil_div(p.k, kUnit), line = units * kUnit;
  const int64_t columns = std::min(p.n, std::max<int64_t>(kMostBytes / (line * static_cast<int64_t>(sizeof(T))), 1));
  auto* b = static_cast<T*>(stream.scratch(static_cast<size_t>(columns * line) * sizeof(T)));
  Gemm gemm;
  gemm.type = sizeof(T) == 2 ? kHalf : kFloat;
  gemm.transpose_b = true;
  gemm.m = p.m;
  gemm.k = p.k;
  gemm.beta = p.bias != nullptr ? 1.0f : 0.0f;
  gemm.a = p.a;
  gemm.lda = p.k;
  gemm.b = b;
  gemm.ldb = line;
  gemm.ldc = p.n;
  for (int64_t first = 0; first < p.n; first += columns) {
    gemm.n = std::min(columns, p.n - first);
    gemm.c = p.y + first;
    for_each(stream, gemm.n * units, DequantizedColumns<T, Bits>{p, b, first, Divisor(units)});
    stream.blas().gemm(gemm);
  }
}

template <class T, int Bits>
void run_nbits(Stream& stream, const NBits<T>& p) {
  if (p.m <= kMostRows) run_rows<T, Bits>(stream, p);
  else run_columns<T, Bits>(stream, p);
}

}  // namespace rk
