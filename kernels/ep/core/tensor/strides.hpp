// Broadcasting (ONNX's, which is NumPy's) and strides.
#pragma once

#include <algorithm>
#include <array>

#include "core/tensor/tensor.hpp"

namespace rk {

inline Shape broadcast(const Shape& a, const Shape& b) {
  Shape result;
  const int rank = std::max(a.rank(), b.rank());
  for (int i = 0; i < rank; ++i) {
    const int64_t p = i < rank - a.rank() ? 1 : a[i - (rank - a.rank())];
    const int64_t q = i < rank - b.rank() ? 1 : b[i - (rank - b.rank())];
    require(p == q || p == 1 || q == 1, "two inputs' shapes do not broadcast");
    result.push(p == 1 ? q : p);
  }
  return result;
}

using Strides = std::array<int64_t, kMaxRank>;

// Strides in elements of a dense tensor.
inline Strides dense_strides(const Shape& shape) {
  Strides strides{};
  int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= shape[i];
  }
  return strides;
}

// Strides of a dense tensor `from` read as `to`, to which it broadcasts: 0 along the axes that repeat.
inline Strides broadcast_strides(const Shape& from, const Shape& to) {
  Strides strides{};
  const Strides dense = dense_strides(from);
  const int shift = to.rank() - from.rank();
  for (int i = 0; i < from.rank(); ++i) strides[i + shift] = from[i] == 1 ? 0 : dense[i];
  return strides;
}

}  // namespace rk
