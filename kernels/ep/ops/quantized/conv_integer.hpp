// Convolutions of 8-bit integers: ConvInteger, whose sums are the answer, and QLinearConv, which quantizes them.
#pragma once

#include "ops/bundled/window.hpp"
#include "ops/quantized/integers.hpp"

namespace rk {

// y = (x - x_zero) * (w - w_zeros), for each group of each image a product of its filters, m × k, by its windows, k × n. A window
// beyond the input's edge has x_zero there, whose product is 0.
struct IntegerConv {
  static constexpr int kAxes = 3;

  const uint8_t* x;
  const uint8_t* w;
  void* y;
  ByteReader x_reader, w_reader;
  ZeroPoints x_zero, w_zeros;  // one number; one, or one for each filter
  int64_t m, n, batch;         // filters of a group, windows of an image, images times groups
  int32_t k, groups, channels; // channels of a group
  int32_t in[kAxes], out[kAxes], kernel[kAxes], stride[kAxes], dilation[kAxes], pad[kAxes];
  Divisor by_taps, by_plane, by_line, by_out_plane, by_out_line;  // a filter's taps, its last two axes and its last; the output's likewise
  Divisor by_groups;
  // QLinearConv's: y = saturate((sum + bias) · x_scale · w_scale / y_scale + y_zero)
  bool quantizes;
  const int32_t* bias;  // one for each filter, or null
  Scales x_scale, w_scales, y_scale;
  ZeroPoints y_zero;
  int32_t low, high;

  RK_HD int64_t area() const { return static_cast<int64_t>(in[0]) * in[1] * in[2]; }
  // Of the filters of y: row i of matrix (image, group).
  RK_INLINE uint32_t filter(int64_t matrix, int64_t i) const {
    const auto index = static_cast<uint32_t>(matrix);
    return (index - by_groups.divide(index) * by_groups.value()) * static_cast<uint32_t>(m) + static_cast<uint32_t>(i);
  }
  RK_INLINE float factor(uint32_t filter) const { return x_scale(0) * w_scales(filter) / y_scale(0); }
  RK_INLINE uint8_t quantized_value(int32_t sum, int32_t addend, float factor, int32_t zero) const {
    const auto biased_sum = static_cast<int32_t>(static_cast<uint32_t>(sum) + static_cast<uint32_t>(addend));
    return static_cast<uint8_t>(saturate(static_cast<float>(biased_sum) * factor, zero, low, high));
  }
};

}  // namespace rk
