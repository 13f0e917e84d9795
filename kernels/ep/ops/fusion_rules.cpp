#include "ops/fused/matchers.hpp"

namespace rk {

const std::vector<FusionRule>& fusion_rules() {
  static const std::vector<FusionRule> rules = {
      {"Softmax", match_attention}, {"MatMul", match_linear}, {"Gemm", match_linear}, {"Conv", match_conv},
      {"LayerNormalization", match_add_norm}, {"GroupNormalization", match_group_norm}};
  return rules;
}

}  // namespace rk
