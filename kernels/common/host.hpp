// What the CPU implementations share.
#pragma once

#include <cmath>

#include "common/half.hpp"
#include "common/status.hpp"
#include "common/types.hpp"

namespace sbk::cpu {

inline float activate(const ActivationParams& a, float x) {
  switch (a.kind) {
    case Activation::relu: return x < 0.0f ? 0.0f : x;
    case Activation::leaky_relu: return x < 0.0f ? a.alpha * x : x;
    case Activation::silu: return x / (1.0f + std::exp(-x));
    case Activation::clip: return x < a.alpha ? a.alpha : (x > a.beta ? a.beta : x);
    case Activation::none: break;
  }
  return x;
}

// Reads element `i` of a small parameter tensor whose type is known only at run time.
inline float load_any(const void* data, DataType type, int64_t i) {
  return type == DataType::float32 ? static_cast<const float*>(data)[i] : to_float(static_cast<const Half*>(data)[i]);
}

// Calls `body` with a value of the element type that `type` names.
template <class Body>
Status by_type(DataType type, Body body) {
  if (type == DataType::float32) return body(float{});
  if (type == DataType::float16) return body(Half{});
  return unsupported("element type is neither float32 nor float16");
}

}  // namespace sbk::cpu
