// Products of matrices of 8-bit integers, for integer_product_kernels.hpp.
#pragma once

#include "ops/quantized/integer_product_kernels.hpp"
#include "ops/quantized/matmul_integer.hpp"

namespace rk {

struct IntegerProduct {
  static constexpr bool kColumnsAcross = true;
  using Matrix = IntegerMatrices::Lines;
  using Rows = Lines;
  // Four of them.
  struct Column {
    const uint8_t* from;
    int32_t count;  // that exist
  };
  struct RawB {
    uint32_t words[sbk::kVectorBytes];  // one for each K, of the columns' bytes
  };
  struct OfRow {
    int32_t zero, sum, y_zero;
    float a_scale, y_scale;
  };
  struct OfColumn {
    int32_t zero, rest;  // rest: the sum less k zero points
    float scale;
  };

  IntegerMatrices p;
  int64_t m, n, batch;
  int32_t k;
  Alignment alignment_a;
  bool quads;  // four columns of b and of y lie on their boundaries
  uint32_t flip_a, flip_b;
  bool sums_a, sums_b;

  explicit IntegerProduct(const IntegerMatrices& of)
      : p(of), m(of.m), n(of.n), batch(of.batch), k(of.k), alignment_a(alignment_of(of.a, of.k)),
        quads(of.n % kQuad == 0 && reinterpret_cast<uintptr_t>(of.b) % kQuad == 0 && aligned16(of.y)),
        flip_a(of.a_reader.flip_to_signed()), flip_b(of.b_reader.flip_to_signed()), sums_a(of.b_zeros.data != nullptr || flip_b != 0),
        sums_b(of.a_zeros.data != nullptr || flip_a != 0) {}

  RK_INLINE Matrix matrix(int64_t i) const { return p.lines(i); }
  RK_INLINE Rows rows(const Matrix& matrix, int64_t i) const { return Rows::of(p.a + matrix.a * k, i, m, k); }
  RK_INLINE Column column(const Matrix& matrix, int64_t j) const {
    const int64_t columns_left = n - j;
    return {p.b + matrix.b * k + (columns_left > 0 ? j : 0), static_cast<int32_t>(columns_left < 0 ? 0 : columns_left < kQuad ? columns_left : kQuad)};
  }
  RK_INLINE Chunk fetch_a(const Rows& rows, int line, int32_t at) const { return rows.chunk(line, at, k, alignment_a, flip_a); }
  RK_INLINE RawB fetch_b(const Column& column, int32_t at) const {
    RawB raw;
    const uint8_t* line = column.from + at * n;
#pragma unroll
    for (int i = 0; i < sbk::kVectorBytes; ++i, line += n) {
      raw.words[i] = flip_b;
      if (at + i >= k) continue;
      if (quads) {
        if (column.count > 0) raw.words[i] = *reinterpret_cast<const uint32_t*>(line);
        continue;
      }
#pragma unroll
      for (int c = 0; c < kQuad; ++c)
        if (c < column.count) raw.words[i] = (raw.words[i] & ~(0xffu << 8 * c)) | static_cast<uint32_t>(line[c]) << 8 * c;
    }
    return raw;
  }
  RK_INLINE OfRow of_row(const Matrix& matrix, int64_t i, int32_t sum) const {
    OfRow row{p.a_zero(matrix, i) - p.a_reader.less_when_signed(), sum, 0, 0.0f, 0.0f};
    if (!p.quantizes) return row;
    const auto line = static_cast<uint32_t>(matrix.a + i);
    row.y_zero = p.y_zeros(line);
    row.a_scale = p.a_scales(line);
    row.y_scale = p.y_scales(line);
    return row;
  }
  RK_INLINE OfColumn of_column(const Matrix& matrix, int64_t j, int32_t sum) const {
    const int64_t index = j < n ? j : n - 1;
    const int32_t zero = p.b_zero(matrix, index) - p.b_reader.less_when_signed();
    const auto rest = static_cast<uint32_t>(sum) - static_cast<uint32_t>(k) * static_cast<uint32_t>(zero);
    return {zero, static_cast<int32_t>(rest), p.quantizes ? p.b_scales(static_cast<uint32_t>(matrix.b + index)) : 0.0f};
  }
  RK_INLINE void store(const Matrix& matrix, int64_t i, int64_t j, const OfRow& row, const OfColumn (&columns)[kQuad], const int32_t* products) const {
    const int64_t to = (matrix.y + i) * n + j;
    sbk::Vec<int32_t, kQuad> sums;
#pragma unroll
    for (int c = 0; c < kQuad; ++c) sums.v[c] = product_less_zeros(products[c], row.zero, columns[c].rest, columns[c].zero, row.sum);
    if (!p.quantizes) return store_quad(static_cast<int32_t*>(p.y) + to, sums, n - j, quads);
    sbk::Vec<uint8_t, kQuad> bytes;
#pragma unroll
    for (int c = 0; c < kQuad; ++c) {
      const float factor = row.a_scale * columns[c].scale / row.y_scale;
      bytes.v[c] = static_cast<uint8_t>(saturate(static_cast<float>(sums.v[c]) * factor, row.y_zero, p.low, p.high));
    }
    store_quad(static_cast<uint8_t*>(p.y) + to, bytes, n - j, quads);
  }
};

}  // namespace rk
