// MatMul's shapes (NumPy's rules) and the products they come down to.
#pragma once

#include "core/memory/stream.hpp"
#include "core/tensor/tensor.hpp"

namespace rk {

struct MatmulPlan {
  Shape out;
  int64_t m = 0, n = 0, k = 0;  // of one product
  Shape a_batch, b_batch, batch;
};

MatmulPlan plan_matmul(const Shape& a, const Shape& b);
void run_matmul(Stream& stream, const MatmulPlan& plan, Type type, const void* a, const void* b, void* y);

}  // namespace rk
