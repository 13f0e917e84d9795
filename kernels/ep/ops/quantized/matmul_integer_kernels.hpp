// Products of 8-bit integers by float16 matrix instructions, exactly. A value less its zero point lies in [-255, 255] and is a
// float16; 64 products of two of them are less than 2^22 in sum, which float32 holds to the last bit. The sums of 64 are then added
// as int32. So every target with float16 matrix instructions takes part, where only some have them for these types.
#pragma once

#include "ops/quantized/matmul_integer.hpp"
#include "ops/quantized/product_kernels.hpp"

namespace rk {

struct IntegerProduct {
  using Element = __half;
  using Sum = int32_t;
  static constexpr int kSlabs = kProductSlabs;
  static constexpr bool kColumnsAcross = true;
  using Matrix = IntegerMatrices::Lines;
  struct Row {
    const uint8_t* from;
    int32_t zero;
    bool exists;  // not beyond the last
  };
  struct Column {
    const uint8_t* from;
    int32_t zero;
  };
  struct RawA {
    uint32_t words[2];
  };
  using RawB = RawA;

  IntegerMatrices p;
  int64_t m, n, batch;
  int32_t k;

  RK_INLINE Matrix matrix(int64_t i) const { return p.lines(i); }
  RK_INLINE Row row(const Matrix& matrix, int64_t i) const {
    const int64_t index = i < m ? i : m - 1;
    return {p.a + (matrix.a + index) * k, p.a_zero(matrix, index), i < m};
  }
  RK_INLINE Column column(const Matrix& matrix, int64_t j) const {
    const int64_t index = j < n ? j : n - 1;
    return {p.b + matrix.b * k + index, p.b_zero(matrix, index)};
  }
  RK_INLINE RawA fetch_a(const Row& row, int32_t at) const {
    RawA raw = {};
    if (!row.exists || at >= k) return raw;
    if (p.vectors) {
      const auto both = *reinterpret_cast<const sbk::Vec<uint32_t, 2>*>(row.from + at);
      raw.words[0] = both.v[0];
      raw.words[1] = both.v[1];
      return raw;
    }
#pragma unroll
    for (int i = 0; i < kUnit; ++i)
      if (at + i < k) raw.words[i / 4] |= static_cast<uint32_t>(row.from[at + i]) << (i % 4 * 8);
    return raw;
  }
  RK_INLINE RawB fetch_b(const Column& column, int32_t at) const {
    RawB raw = {};
#pragma unroll
    for (int i = 0; i < kUnit; ++i)
      if (at + i < k) raw.words[i / 4] |= static_cast<uint32_t>(column.from[(at + i) * n]) << (i % 4 * 8);
    return raw;
  }
  // Beyond the end of K and of the rows a is 0, whatever its zero point.
  RK_INLINE void make_a(UnitValues<__half>& values, const Row& row, const RawA& raw, int32_t at) const {
#pragma unroll
    for (int i = 0; i < kUnit; ++i) values[i] = number(row.exists && at + i < k ? p.a_reader(byte(raw, i)) - row.zero : 0);
  }
  RK_INLINE void make_b(UnitValues<__half>& values, const Column& column, const RawB& raw, int32_t) const {
#pragma unroll
    for (int i = 0; i < kUnit; ++i) values[i] = number(p.b_reader(byte(raw, i)) - column.zero);
  }
  RK_INLINE void add(int32_t& sum, float product, int64_t, int32_t) const { sum += static_cast<int32_t>(product); }
  RK_INLINE void store(const Matrix& matrix, int64_t i, int64_t j, int32_t sum) const { p.store(matrix, i, j, sum); }

 private:
  RK_INLINE static uint8_t byte(const RawA& raw, int i) { return static_cast<uint8_t>(raw.words[i / 4] >> (i % 4 * 8)); }
  RK_INLINE static __half number(int32_t value) { return sbk::from_float<__half>(static_cast<float>(value)); }
};

}  // namespace rk
