// Convolution by its definition: one thread per output value, any number of axes, groups and dilations. The path for
// shapes that no faster algorithm takes.
#pragma once

#include "common/device.hpp"
#include "common/overlap.hpp"
#include "conv/conv.hpp"

namespace sbk::conv_detail {

constexpr int kDirectThreads = 256;

// Element strides of a tensor [N, C, spatial 3] in one layout.
struct Strides {
  int64_t n, c, s[3];
};

inline Strides strides_of(Layout layout, int64_t channels, const int64_t (&extent)[3]) {
  const int64_t area = extent[0] * extent[1] * extent[2];
  if (layout == Layout::channels_first) {
    return {channels * area, area, {extent[1] * extent[2], extent[2], 1}};
  }
  return {channels * area, 1, {extent[1] * extent[2] * channels, extent[2] * channels, channels}};
}

struct DirectPlan {
  ConvParams p;  // three spatial axes; absent ones have extent 1
  Strides x, w, y;
  int64_t outputs;
  const int32_t* only_if;  // nothing is done where it holds 0; or null
};

template <class T>
__global__ void __launch_bounds__(kDirectThreads) conv_direct(DirectPlan d) {
  wait_for_previous();
  if (d.only_if != nullptr && *d.only_if == 0) return;
  const ConvParams& p = d.p;
  const T* w = static_cast<const T*>(p.w);
  const int64_t step = static_cast<int64_t>(gridDim.x) * kDirectThreads;
  const bool last = p.layout == Layout::channels_last;
  const int64_t in_per_group = p.in_channels / p.groups;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kDirectThreads + threadIdx.x; i < d.outputs; i += step) {
    int64_t rest = i, k = 0;
    if (last) {  // neighbours in a wave are neighbours in memory
      k = rest % p.out_channels;
      rest /= p.out_channels;
    }
    const int64_t o2 = rest % p.out[2];
    rest /= p.out[2];
    const int64_t o1 = rest % p.out[1];
    rest /= p.out[1];
    const int64_t o0 = rest % p.out[0];
    rest /= p.out[0];
    if (!last) {
      k = rest % p.out_channels;
      rest /= p.out_channels;
    }
    const int64_t n = rest;
    const int64_t group = k / (p.out_channels / p.groups);
    const T* x = static_cast<const T*>(p.x) + n * d.x.n + group * in_per_group * d.x.c;
    float sum = 0.0f;
    for (int64_t a = 0; a < p.kernel[0]; ++a) {
      const int64_t i0 = o0 * p.stride[0] - p.pad_begin[0] + a * p.dilation[0];
      if (i0 < 0 || i0 >= p.in[0]) continue;
      for (int64_t b = 0; b < p.kernel[1]; ++b) {
        const int64_t i1 = o1 * p.stride[1] - p.pad_begin[1] + b * p.dilation[1];
        if (i1 < 0 || i1 >= p.in[1]) continue;
        for (int64_t c = 0; c < p.kernel[2]; ++c) {
          const int64_t i2 = o2 * p.stride[2] - p.pad_begin[2] + c * p.dilation[2];
          if (i2 < 0 || i2 >= p.in[2]) continue;
          const T* xs = x + i0 * d.x.s[0] + i1 * d.x.s[1] + i2 * d.x.s[2];
          const T* ws = w + k * d.w.n + a * d.w.s[0] + b * d.w.s[1] + c * d.w.s[2];
          for (int64_t ch = 0; ch < in_per_group; ++ch) sum += to_float(xs[ch * d.x.c]) * to_float(ws[ch * d.w.c]);
        }
      }
    }
    const int64_t at = n * d.y.n + k * d.y.c + o0 * d.y.s[0] + o1 * d.y.s[1] + o2 * d.y.s[2];
    if (p.bias != nullptr) sum += to_float(static_cast<const T*>(p.bias)[k]);
    if (p.residual != nullptr) sum += to_float(static_cast<const T*>(p.residual)[at]);
    static_cast<T*>(p.y)[at] = from_float<T>(activate(p.activation, sum));
  }
}

}  // namespace sbk::conv_detail
