// What host code asks about an attention's shape. Shared by the CPU and the device launchers.
#pragma once

#include "attention/attention.hpp"

namespace sbk::attention_detail {

inline Status validate(const AttentionParams& p) {
  if (p.batch < 0 || p.query_length < 0 || p.key_length < 0 || p.head_size < 0 || p.value_size < 0) {
    return invalid("attention: a size is negative");
  }
  if (p.query_heads < 0 || p.key_heads <= 0 || p.query_heads % p.key_heads != 0) {
    return invalid("attention: key_heads does not divide query_heads");
  }
  if (p.causal_from_lengths && p.key_lengths == nullptr) return invalid("attention: key_lengths is null");
  if ((p.mask_kind != MaskKind::none) != (p.mask != nullptr)) {
    return invalid("attention: mask and mask_kind disagree");
  }
  return {};
}

inline bool is_empty(const AttentionParams& p) {
  return p.batch == 0 || p.query_heads == 0 || p.query_length == 0 || p.value_size == 0;
}

// Whether each score needs more than a scale and the triangle of a causal mask.
inline bool is_general(const AttentionParams& p, float scale) {
  return p.mask_kind != MaskKind::none || p.softcap > 0.0f || p.key_lengths != nullptr || !(scale > 0.0f);
}

}  // namespace sbk::attention_detail
