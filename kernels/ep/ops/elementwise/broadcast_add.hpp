#pragma once

#include "core/memory/stream.hpp"
#include "core/tensor/tensor.hpp"

namespace rk {

// y = a + b, of the shape that the two broadcast to.
void broadcast_add(Stream& stream, const Tensor& a, const Tensor& b, const Tensor& y);

}  // namespace rk
