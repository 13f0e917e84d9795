// The activation of an output value, on host and device alike.
#pragma once

#include <cmath>

#include "common/types.hpp"

namespace sbk {

SBK_HD inline float activate(const ActivationParams& a, float x) {
  switch (a.kind) {
    case Activation::relu: return x < 0.0f ? 0.0f : x;
    case Activation::leaky_relu: return x < 0.0f ? a.alpha * x : x;
    case Activation::silu: return x / (1.0f + expf(-x));
    case Activation::clip: return x < a.alpha ? a.alpha : (x > a.beta ? a.beta : x);
    case Activation::none: break;
  }
  return x;
}

}  // namespace sbk
