// Linear layers x w + bias as graphs have them: MatMul and Add, or a Gemm with a Reshape before and after it. ONNX Runtime
// makes the second of the first where every extent is known, and exporters write it.
#pragma once

#include <optional>

#include "core/graph/fusion.hpp"
#include "ops/shape/reshape.hpp"

namespace rk {

// A Reshape keeps the order of the elements: the product takes x as it is, and only shapes go through both of them.
struct LinearForm {
  bool transposed = false;  // w is [out, in]
  std::optional<Reshaping> before, after;

  Shape out(const Shape& x, const Shape& w) const;  // fails where the graph's nodes would
};

struct Linear {
  ValueView x, w, bias, y;  // w a constant of two axes, bias one of w's out elements
  LinearForm form;
  Group nodes;
};

std::optional<Linear> linear_of(const NodeView& product, const Scope& scope);  // MatMul, Gemm, with all that belongs to it
std::optional<Linear> linear_making(const ValueView& y, const Scope& scope);   // the same from its end

std::optional<Reshaping> constant_reshape(const NodeView& node);  // of a Reshape whose shape is a constant
bool constant_of_rank(const ValueView& value, size_t rank);

// y = x w, of the shape that form.out gives; no bias.
void run_linear(Stream& stream, const LinearForm& form, const Tensor& x, const Tensor& w, const Tensor& y);

}  // namespace rk
