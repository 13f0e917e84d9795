// Convolutions of 8-bit integers as products of matrices by float16 matrix instructions, exactly, as MatMulInteger's
// (matmul_integer_kernels.hpp). The windows' values are gathered on the way into LDS.
#pragma once

#include "ops/quantized/conv_integer.hpp"
#include "ops/quantized/product_kernels.hpp"

namespace rk {

struct IntegerConvProduct {
  using Element = __half;
  using Sum = int32_t;
  static constexpr int kSlabs = kProductSlabs;
  static constexpr bool kColumnsAcross = true;
  using Matrix = int64_t;  // image times groups plus group
  struct Row {
    const uint8_t* from;
    int32_t zero;
    bool exists;  // not beyond the last
  };
  using Column = IntegerConv::Corner;
  struct RawA {
    uint32_t words[2];
  };
  struct RawB {
    uint32_t words[2];
    uint32_t inside;  // a bit for each value; others are padding
  };

  IntegerConv p;
  int64_t m, n, batch;
  int32_t k;

  RK_INLINE Matrix matrix(int64_t i) const { return i; }
  RK_INLINE Row row(Matrix matrix, int64_t i) const {
    const uint32_t filter = p.filter(matrix, i < m ? i : m - 1);
    return {p.w + static_cast<int64_t>(filter) * k, p.w_zeros(filter), i < m};
  }
  RK_INLINE Column column(Matrix matrix, int64_t j) const { return p.corner(matrix, j < n ? j : n - 1); }
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
    if (at >= k) return raw;
    IntegerConv::Tap tap = p.tap(at);
#pragma unroll
    for (int i = 0; i < kUnit; ++i) {
      int64_t offset;
      if (at + i < k && p.find(column, tap, &offset)) {
        raw.words[i / 4] |= static_cast<uint32_t>(column.from[offset]) << (i % 4 * 8);
        raw.inside |= 1u << i;
      }
      p.next(tap);
    }
    return raw;
  }
  RK_INLINE void make_a(UnitValues<__half>& values, const Row& row, const RawA& raw, int32_t at) const {
#pragma unroll
    for (int i = 0; i < kUnit; ++i) values[i] = number(row.exists && at + i < k ? p.w_reader(byte(raw.words, i)) - row.zero : 0);
  }
  RK_INLINE void make_b(UnitValues<__half>& values, const Column&, const RawB& raw, int32_t) const {
    const int32_t zero = p.x_zero(0);
#pragma unroll
    for (int i = 0; i < kUnit; ++i) values[i] = number((raw.inside >> i & 1u) != 0 ? p.x_reader(byte(raw.words, i)) - zero : 0);
  }
  RK_INLINE void add(int32_t& sum, float product, int64_t, int32_t) const { sum += static_cast<int32_t>(product); }
  RK_INLINE void store(Matrix matrix, int64_t i, int64_t j, int32_t sum) const { p.store(matrix, i, j, sum); }

 private:
  RK_INLINE static uint8_t byte(const uint32_t (&words)[2], int i) { return static_cast<uint8_t>(words[i / 4] >> (i % 4 * 8)); }
  RK_INLINE static __half number(int32_t value) { return sbk::from_float<__half>(static_cast<float>(value)); }
};

}  // namespace rk
