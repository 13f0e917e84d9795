// Attention's optional output: the scores, before or after the softmax.
#pragma once

#include "ops/bundled/bundled.hpp"

namespace rk {

enum class ScoreMode : int64_t { product = 0, capped = 1, masked = 2, softmax = 3 };  // qk_matmul_output_mode

// Writes scores [batch, query heads, queries, keys] of `type`; keys from p.key_length on take no part. Right, not fast: it is
// there for whoever looks into a model.
void attention_scores(Context& context, const sbk::AttentionParams& p, ScoreMode mode, const Tensor& scores);

// key_lengths (int32) from nonpad_kv_seqlen (int64), in scratch memory.
const int32_t* narrow_lengths(Context& context, const Tensor& lengths);

}  // namespace rk
