// Which keys answer a query, and what is added to their scores: on host and device alike. to_float of the element types is the
// includer's, who has common/host.hpp or common/device.hpp first: a host's source may be compiled with HIP's macros too.
#pragma once

#include <cmath>
#include <limits>

#include "attention/attention.hpp"

namespace sbk::attention_detail {

constexpr float kExclusion = -std::numeric_limits<float>::infinity();

// Of the last key that query 0 of batch `b` sees.
SBK_HD inline int64_t causal_offset(const AttentionParams& p, int64_t b) {
  return p.causal_from_lengths ? p.key_lengths[b] - p.query_length : p.causal_offset;
}

// A key for one query: excluded, whatever its score, or with a number that is added to that.
struct Bias {
  bool excluded = false;
  float addend = 0.0f;

  SBK_HD float on(float score) const { return excluded ? kExclusion : score + addend; }
  SBK_HD bool open() const { return !excluded && addend != kExclusion; }
};

// Of key j < p.key_length for query i of head h.
template <class T>
SBK_HD inline Bias bias_within(const AttentionParams& p, int64_t b, int64_t h, int64_t i, int64_t j) {
  if (p.causal && j > i + causal_offset(p, b)) return {true};
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

}  // namespace sbk::attention_detail
