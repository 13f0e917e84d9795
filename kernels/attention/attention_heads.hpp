// Where the heads of a query, key or value lie in each form that an operator takes them in. Host code alone.
#pragma once

#include "attention/attention.hpp"

namespace sbk {

// One of q, k, v and y: extents, and strides in elements, of [batch, heads, sequence, size].
struct Heads {
  const void* data = nullptr;
  int64_t batch = 0, heads = 0, length = 0, size = 0;
  AttentionStrides strides;

  size_t elements() const { return static_cast<size_t>(batch * heads * length * size); }
};

// [batch, heads, length, size].
inline Heads heads_apart(const void* data, int64_t batch, int64_t heads, int64_t length, int64_t size) {
  return {data, batch, heads, length, size, {heads * length * size, length * size, size}};
}

// [batch, length, heads, parts, size], or its last axes as one: the first part that each head has there.
inline Heads heads_within(const void* data, int64_t batch, int64_t length, int64_t heads, int64_t size, int64_t parts = 1) {
  const int64_t row = heads * parts * size;
  return {data, batch, heads, length, size, {length * row, parts * size, row}};
}

// A later part of the same.
inline Heads part_of(Heads first, int64_t part, DataType type) {
  first.data = static_cast<const char*>(first.data) + static_cast<size_t>(part * first.size) * size_of(type);
  return first;
}

// Whether they are one attention's.
inline bool fit_together(const Heads& q, const Heads& k, const Heads& v) {
  return q.batch == k.batch && k.batch == v.batch && k.heads == v.heads && k.length == v.length && q.size == k.size;
}
inline bool key_heads_divide(const Heads& q, const Heads& k) { return k.heads > 0 ? q.heads % k.heads == 0 : q.heads == 0; }

inline void set_extents(AttentionParams& p, const Heads& q, const Heads& k, const Heads& v) {
  p.batch = q.batch;
  p.query_heads = q.heads;
  p.key_heads = k.heads;
  p.query_length = q.length;
  p.key_length = k.length;
  p.head_size = q.size;
  p.value_size = v.size;
}

inline void place_heads(AttentionParams& p, const Heads& q, const Heads& k, const Heads& v) {
  p.q = q.data;
  p.k = k.data;
  p.v = v.data;
  p.q_strides = q.strides;
  p.k_strides = k.strides;
  p.v_strides = v.strides;
}

// com.microsoft MultiHeadAttention's `unidirectional`, where keys of a past are counted in k's. One query sees all keys, as its
// last does of several. Of several that are fewer than the new keys ONNX Runtime's own kernel, the operator's only definition,
// lets the last see all and the others none beyond their number: right for nobody, and not repeated here.
inline Status set_unidirectional(AttentionParams& p, int64_t past) {
  if (p.query_length > 1 && p.query_length < p.key_length - past) {
    return unsupported_status("MultiHeadAttention's unidirectional takes no fewer queries than keys, but one");
  }
  p.causal = p.query_length > 1;
  p.causal_offset = past;
  return {};
}

}  // namespace sbk
