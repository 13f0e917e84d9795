// What begins at a node and runs as one step: a matcher for each kind, and what matchers share.
#pragma once

#include "core/graph/fusion.hpp"

namespace rk {

std::optional<Match> match_attention(const NodeView& softmax, const Scope& scope);
std::optional<Match> match_linear(const NodeView& product, const Scope& scope);  // MatMul, Gemm
std::optional<Match> match_conv(const NodeView& conv, const Scope& scope);
std::optional<Match> match_add_norm(const NodeView& norm, const Scope& scope);
std::optional<Match> match_group_norm(const NodeView& norm, const Scope& scope);

// The nodes that make y · sigmoid(y) of y, and their result.
struct Silu {
  Group nodes;
  ValueView out;
};
std::optional<Silu> find_silu(const ValueView& y, const Scope& scope);

}  // namespace rk
