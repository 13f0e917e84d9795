// Convolutions of 8-bit integers: ConvInteger, whose sums are the answer, and QLinearConv, which quantizes them.
#pragma once

#include "ops/bundled/window.hpp"
#include "ops/quantized/integers.hpp"

namespace rk {

// y = (x - x_zero) * (w - w_zeros), for each group of each image a product of its filters, m × k, by its windows, k × n. A window
// beyond the input's edge has x_zero there, whose product is 0.
struct IntegerConv {
  static constexpr int kAxes = 3;

  // The input values of one window: where its group's channels begin, and its corner, which may lie outside.
  struct Corner {
    const uint8_t* from;
    int32_t at[kAxes];
  };
  // A place along k: a channel, and a tap of the filter.
  struct Tap {
    int32_t channel, at[kAxes];
  };

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
  bool vectors;  // filters begin on multiples of 8 bytes
  // QLinearConv's: y = saturate((sum + bias) · x_scale · w_scale / y_scale + y_zero)
  bool quantizes;
  const int32_t* bias;  // one for each filter, or null
  Scales x_scale, w_scales, y_scale;
  ZeroPoints y_zero;
  int32_t low, high;

  RK_INLINE int64_t area() const { return static_cast<int64_t>(in[0]) * in[1] * in[2]; }
  // Of the filters of y: row i of matrix (image, group).
  RK_INLINE uint32_t filter(int64_t matrix, int64_t i) const {
    const auto index = static_cast<uint32_t>(matrix);
    return (index - by_groups.divide(index) * by_groups.value()) * static_cast<uint32_t>(m) + static_cast<uint32_t>(i);
  }
  RK_INLINE Corner corner(int64_t matrix, int64_t j) const {
    const auto window = static_cast<uint32_t>(j);
    const uint32_t deep = by_out_plane.divide(window), within = window - deep * by_out_plane.value(), line = by_out_line.divide(within);
    const uint32_t place[kAxes] = {deep, line, within - line * by_out_line.value()};
    Corner corner{x + matrix * channels * area(), {}};  // images and their groups of channels lie one behind the other
    for (int i = 0; i < kAxes; ++i) corner.at[i] = static_cast<int32_t>(static_cast<int64_t>(place[i]) * stride[i] - pad[i]);
    return corner;
  }
  RK_INLINE Tap tap(int32_t at) const {
    const auto place = static_cast<uint32_t>(at);
    const uint32_t channel = by_taps.divide(place), of_filter = place - channel * by_taps.value();
    const uint32_t deep = by_plane.divide(of_filter), within = of_filter - deep * by_plane.value(), line = by_line.divide(within);
    return {static_cast<int32_t>(channel), {static_cast<int32_t>(deep), static_cast<int32_t>(line), static_cast<int32_t>(within - line * by_line.value())}};
  }
  RK_INLINE void next(Tap& tap) const {
    if (++tap.at[2] < kernel[2]) return;
    tap.at[2] = 0;
    if (++tap.at[1] < kernel[1]) return;
    tap.at[1] = 0;
    if (++tap.at[0] < kernel[0]) return;
    tap.at[0] = 0;
    ++tap.channel;
  }
  // Whether the input has what a tap of a window asks for, and where from the window's `from` on.
  RK_INLINE bool find(const Corner& corner, const Tap& tap, int64_t* offset) const {
    bool inside = true;
    int64_t place = tap.channel;
    for (int i = 0; i < kAxes; ++i) {
      const int32_t at = corner.at[i] + tap.at[i] * dilation[i];
      inside = inside && at >= 0 && at < in[i];
      place = place * in[i] + at;
    }
    *offset = place;
    return inside;
  }
  RK_INLINE void store(int64_t matrix, int64_t i, int64_t j, int32_t sum) const {
    const int64_t to = (matrix * m + i) * n + j;
    if (!quantizes) {
      static_cast<int32_t*>(y)[to] = sum;
      return;
    }
    const uint32_t index = filter(matrix, i);
    if (bias != nullptr) sum = static_cast<int32_t>(static_cast<uint32_t>(sum) + static_cast<uint32_t>(bias[index]));
    const float factor = x_scale(0) * w_scales(index) / y_scale(0);
    static_cast<uint8_t*>(y)[to] = static_cast<uint8_t>(saturated(static_cast<float>(sum) * factor, y_zero(0), low, high));
  }
};

}  // namespace rk
