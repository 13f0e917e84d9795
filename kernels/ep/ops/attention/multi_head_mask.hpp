// What com.microsoft's MultiHeadAttention adds to its scores.
#pragma once

#include "attention/key_padding.hpp"
#include "ops/bundled/bundled.hpp"

namespace rk {

// For each score the padding's filter where its key does not count, and the number of `addend` (of the query's type, broadcast
// to batch, heads, queries, keys) where that is there: [batch, heads of `addend` or 1, queries or 1, keys], in scratch memory.
Tensor padding_numbers(Context& context, const sbk::AttentionParams& p, const sbk::PaddedKeys& padded_keys, const Tensor& addend, Type type);

}  // namespace rk
