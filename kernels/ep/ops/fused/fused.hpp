// Kernels of the fused steps.
#pragma once

#include "common/types.hpp"
#include "core/memory/stream.hpp"
#include "core/tensor/tensor.hpp"

namespace rk {

enum class Curve { none, relu, gelu };  // gelu is the error-function form

// y = curve(y + bias), in place, for rows of n values.
void bias_curve(Stream& stream, Type type, void* y, const void* bias, int64_t rows, int64_t n, Curve curve);

// y = activation(y), in place: any of them.
void activate(Stream& stream, const Tensor& y, const sbk::ActivationParams& activation);

// y = LayerNorm(x + bias + residual) * scale + shift for rows of n values; bias, residual and shift may be null.
struct AddNorm {
  Type type = kFloat;
  const void* x = nullptr;
  const void* bias = nullptr;
  const void* residual = nullptr;
  const void* scale = nullptr;
  const void* shift = nullptr;
  void* y = nullptr;
  int64_t rows = 0;
  int64_t n = 0;
  float epsilon = 1e-5f;
};
void add_norm(Stream& stream, const AddNorm& work);

}  // namespace rk
