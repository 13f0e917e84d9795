// Attention as two batched products and a softmax between them, for shapes where the BLAS's matrix instructions gain more
// than writing the scores out costs.
#pragma once

#include "attention/attention.hpp"
#include "core/kernel/kernel.hpp"

namespace rk {

// Whether the form fits: float16, no causal order, softcap or key lengths, 16-byte rows, scores of bounded size.
bool fits_blas(const sbk::AttentionParams& params);
void attention_blas(Context& context, const sbk::AttentionParams& params);

}  // namespace rk
