// What host code asks about a convolution's shape. Shared by the CPU and the device launchers.
#pragma once

#include <cstdint>

#include "conv/conv.hpp"

namespace sbk::conv_detail {

// The same convolution with exactly three spatial axes: absent ones come first, with extent 1.
inline ConvParams with_three_axes(const ConvParams& p) {
  ConvParams q = p;
  const int missing = kConvMaxSpatial - p.spatial;
  for (int i = 0; i < kConvMaxSpatial; ++i) {
    const bool absent = i < missing;
    const int from = absent ? 0 : i - missing;
    q.in[i] = absent ? 1 : p.in[from];
    q.out[i] = absent ? 1 : p.out[from];
    q.kernel[i] = absent ? 1 : p.kernel[from];
    q.stride[i] = absent ? 1 : p.stride[from];
    q.dilation[i] = absent ? 1 : p.dilation[from];
    q.pad_begin[i] = absent ? 0 : p.pad_begin[from];
  }
  q.spatial = kConvMaxSpatial;
  return q;
}

inline Status validate(const ConvParams& p) {
  if (p.spatial < 1 || p.spatial > kConvMaxSpatial) return unsupported_status("conv: spatial axes must be 1 to 3");
  if (p.batch < 0 || p.in_channels < 0 || p.out_channels < 0) return invalid("conv: a size is negative");
  if (p.groups <= 0 || p.in_channels % p.groups != 0 || p.out_channels % p.groups != 0) {
    return invalid("conv: groups does not divide the channels");
  }
  for (int i = 0; i < p.spatial; ++i) {
    if (p.in[i] < 0 || p.out[i] < 0) return invalid("conv: a size is negative");
    if (p.kernel[i] <= 0 || p.stride[i] <= 0 || p.dilation[i] <= 0) {
      return invalid("conv: kernel, stride and dilation must be positive");
    }
    if (p.pad_begin[i] < 0) return unsupported_status("conv: negative padding");
    const int64_t reach = p.kernel[i] > 1 ? p.kernel[i] - 1 : 1;
    if (p.stride[i] > INT32_MAX || p.dilation[i] > INT32_MAX / reach || p.pad_begin[i] > INT32_MAX) {
      return unsupported_status("conv: a stride, dilated filter or padding beyond 2147483647");  // so that no offset leaves int64
    }
  }
  return {};
}

inline int64_t output_count(const ConvParams& p) {
  int64_t count = p.batch * p.out_channels;
  for (int i = 0; i < p.spatial; ++i) count *= p.out[i];
  return count;
}

// Every sum is over no products: the answer is the bias, and neither the input nor, without channels, the filter is read.
inline bool sums_nothing(const ConvParams& p) {
  bool nothing = p.in_channels == 0;
  for (int i = 0; i < p.spatial; ++i) nothing = nothing || p.in[i] == 0;
  return nothing;
}

}  // namespace sbk::conv_detail
