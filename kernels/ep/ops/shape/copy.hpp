// Strided copies: every operator that only moves data is one or more of these.
#pragma once

#include "core/memory/stream.hpp"
#include "core/tensor/strides.hpp"

namespace rk {

// For every index of `shape`: to[index · to_strides] = from[index · from_strides]; strides and offsets in elements.
struct StridedCopy {
  Shape shape;
  const void* from = nullptr;
  void* to = nullptr;
  Strides from_strides{};
  Strides to_strides{};
  int64_t from_offset = 0;
  int64_t to_offset = 0;
  int64_t element_bytes = 0;
};

void strided_copy(Stream& stream, const StridedCopy& copy);

}  // namespace rk
