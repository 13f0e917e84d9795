// What attention's host code shares over one query: which keys answer it (attention_bias.hpp), and the softmax of its scores.
#pragma once

#include <cmath>
#include <vector>

#include "common/host.hpp"

#include "attention/attention_bias.hpp"

namespace sbk::attention_detail {

// Of any key: those from p.key_length on have no mask and are excluded.
template <class T>
Bias bias_of(const AttentionParams& p, int64_t b, int64_t h, int64_t i, int64_t j) {
  return j < p.key_length ? bias_within<T>(p, b, h, i, j) : Bias{true};
}

inline float soft_capped(const AttentionParams& p, float score) {
  return p.softcap > 0.0f ? p.softcap * std::tanh(score / p.softcap) : score;
}

// Scores become weights that sum to one; where no key is open, `empty` each, whatever the scores are. A NaN among the
// scores makes all weights NaN.
inline void softmax(std::vector<float>& scores, bool any_open, float empty) {
  float top = kExclusion;
  for (const float s : scores) top = s > top ? s : top;
  const float base = top == kExclusion ? 0.0f : top;
  double sum = 0.0;
  for (float& s : scores) sum += s = std::exp(s - base);
  const auto inverse = static_cast<float>(1.0 / sum);
  for (float& s : scores) s = any_open && sum != 0.0 ? s * inverse : empty;
}

}  // namespace sbk::attention_detail
