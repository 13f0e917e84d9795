// Products of matrices of 8-bit integers: MatMulInteger, whose sums are the answer, and QLinearMatMul, which quantizes them.
#pragma once

#include "ops/quantized/integers.hpp"

namespace rk {

// y = (a - a_zeros) (b - b_zeros) for each of a batch's matrices, of m × k and k × n.
struct IntegerMatrices {
  // One of them: the rows of a, the columns of b and the rows of y before it.
  struct Lines {
    int64_t a, b, y;
  };

  const uint8_t* a;
  const uint8_t* b;
  void* y;
  ByteReader a_reader, b_reader;
  ZeroPoints a_zeros, b_zeros;  // of rows of a, of columns of b
  Lines first, step;            // of the first matrix, and from each to the next
  int64_t m, n, batch;
  int32_t k;
  // QLinearMatMul's: y = saturate(sum · a_scale · b_scale / y_scale + y_zero)
  bool quantizes;
  Scales a_scales, b_scales, y_scales;
  ZeroPoints y_zeros;
  int32_t low, high;

  RK_INLINE Lines lines(int64_t matrix) const {
    return {first.a + matrix * step.a, first.b + matrix * step.b, first.y + matrix * step.y};
  }
  RK_INLINE int32_t a_zero(const Lines& lines, int64_t i) const { return a_zeros(static_cast<uint32_t>(lines.a + i)); }
  RK_INLINE int32_t b_zero(const Lines& lines, int64_t j) const { return b_zeros(static_cast<uint32_t>(lines.b + j)); }
  RK_INLINE void store(const Lines& lines, int64_t i, int64_t j, int32_t sum) const {
    const int64_t to = (lines.y + i) * n + j;
    if (!quantizes) {
      static_cast<int32_t*>(y)[to] = sum;
      return;
    }
    const auto row = static_cast<uint32_t>(lines.a + i), column = static_cast<uint32_t>(lines.b + j);
    const float factor = a_scales(row) * b_scales(column) / y_scales(row);
    static_cast<uint8_t*>(y)[to] = static_cast<uint8_t>(saturate(static_cast<float>(sum) * factor, y_zeros(row), low, high));
  }
};

}  // namespace rk
