#pragma once

#include "core/memory/stream.hpp"
#include "core/tensor/tensor.hpp"

namespace rk {

void zero_fill(Stream& stream, const Tensor& tensor);

}  // namespace rk
