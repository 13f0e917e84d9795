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

// Of N values, with one switch for all: what it chooses is code for each value, not a branch for each.
template <int N>
SBK_HD inline void activate_all(const ActivationParams& a, float (&x)[N]) {
  switch (a.kind) {
    case Activation::none: return;
    case Activation::relu:
      for (int j = 0; j < N; ++j) x[j] = x[j] < 0.0f ? 0.0f : x[j];
      return;
    case Activation::leaky_relu:
      for (int j = 0; j < N; ++j) x[j] = x[j] < 0.0f ? a.alpha * x[j] : x[j];
      return;
    case Activation::silu:
      for (int j = 0; j < N; ++j) x[j] = x[j] / (1.0f + expf(-x[j]));
      return;
    case Activation::clip:
      for (int j = 0; j < N; ++j) x[j] = x[j] < a.alpha ? a.alpha : (x[j] > a.beta ? a.beta : x[j]);
      return;
  }
}

}  // namespace sbk
