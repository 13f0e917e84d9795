// What becomes of a convolution's sum in the kernels that store one value at a time.
#pragma once

#include "common/device.hpp"

namespace sbk::conv_detail {

// `sum` with bias, residual and activation, as a value of y. `p` has bias, residual and activation.
template <class T, class P>
__device__ __forceinline__ T conv_value(const P& p, int channel, int64_t at, float sum) {
  if (p.bias != nullptr) sum += to_float(static_cast<const T*>(p.bias)[channel]);
  if (p.residual != nullptr) sum += to_float(static_cast<const T*>(p.residual)[at]);
  return from_float<T>(activate(p.activation, sum));
}

// Whether a sum is stored as it is.
template <class P>
__device__ __forceinline__ bool stores_sums(const P& p) {
  return p.bias == nullptr && p.residual == nullptr && p.activation.kind == Activation::none;
}

}  // namespace sbk::conv_detail
