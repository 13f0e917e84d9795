// What attention's host code shares over one query: which keys answer it, and the softmax of its scores.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "attention/attention.hpp"
#include "common/host.hpp"

namespace sbk::attention_detail {

constexpr float kExcluded = -std::numeric_limits<float>::infinity();

// A key for one query: excluded, or with a number that is added to its score.
struct Bias {
  bool excluded = false;
  float added = 0.0f;

  float on(float score) const { return excluded ? kExcluded : score + added; }
  bool open() const { return !excluded && added != kExcluded; }
};

// Of key j for query i of head h. Keys from p.key_length on have no mask and are excluded.
template <class T>
Bias bias_of(const AttentionParams& p, int64_t b, int64_t h, int64_t i, int64_t j) {
  const int64_t offset = p.causal_from_lengths ? p.key_lengths[b] - p.query_length : p.causal_offset;
  if (j >= p.key_length || (p.causal && j > i + offset)) return {true};
  if (p.key_lengths != nullptr && j >= p.key_lengths[b]) return {true};
  const int64_t at = b * p.mask_batch_stride + h * p.mask_head_stride + i * p.mask_query_stride + j;
  switch (p.mask_kind) {
    case MaskKind::boolean: return {static_cast<const uint8_t*>(p.mask)[at] == 0};
    case MaskKind::int32: return {false, static_cast<float>(static_cast<const int32_t*>(p.mask)[at])};
    case MaskKind::additive: return {false, to_float(static_cast<const T*>(p.mask)[at])};
    case MaskKind::none: break;
  }
  return {};
}

inline float soft_capped(const AttentionParams& p, float score) {
  return p.softcap > 0.0f ? p.softcap * std::tanh(score / p.softcap) : score;
}

// Scores become weights that sum to one; where no key is open, `empty` each, whatever the scores are. A NaN among the
// scores makes all weights NaN.
inline void softmax(std::vector<float>& scores, bool any_open, float empty) {
  float top = kExcluded;
  for (const float s : scores) top = s > top ? s : top;
  const float base = top == kExcluded ? 0.0f : top;
  double sum = 0.0;
  for (float& s : scores) sum += s = std::exp(s - base);
  const auto inverse = static_cast<float>(1.0 / sum);
  for (float& s : scores) s = any_open && sum != 0.0 ? s * inverse : empty;
}

}  // namespace sbk::attention_detail
